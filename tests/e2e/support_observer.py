"""Runs one command and sees what it leaves behind and what it reaches.

The tests import `observe`. Inside of a container or as another user this same file is the program
that does it there: it reads an order from standard input and writes what it saw, both as JSON.
"""

import base64
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"
PR_SET_CHILD_SUBREAPER = 36
SECONDS_TO_CLEAN_UP = 5
SECONDS = 60


@dataclasses.dataclass
class Seen:
    """Of one command: its end, the processes it left, and who connected to our sockets."""

    returncode: int
    stdout: bytes
    stderr: bytes
    processes: list
    connections: int
    flag: str  # the secret in the files that nobody inside may read

    @property
    def json(self):
        return json.loads(self.stdout)


def observe(run, command, stdin=b"", seconds=SECONDS):
    """Runs `command` by way of `run`, which starts a program in the surroundings under test.

    In the arguments {port} is the port of a listener on the loopback address there, {socket} the
    name of an abstract socket and {flags} a JSON list of files with a secret.
    """
    order = {"command": [str(part) for part in command], "seconds": seconds,
             "stdin": base64.b64encode(stdin).decode()}
    program = pathlib.Path(__file__).read_text()
    ended = run([PYTHON, "-I", "-B", "-c", program], stdin=json.dumps(order).encode(),
                timeout=seconds + 4 * SECONDS_TO_CLEAN_UP)
    assert ended.returncode == 0, f"{ended.returncode}: {ended.stderr.decode()}"
    seen = json.loads(ended.stdout)
    for stream in ("stdout", "stderr"):
        seen[stream] = base64.b64decode(seen[stream])
    return Seen(**seen)


def adopt_orphans():
    """A daemon that outlives the command becomes our child, if pid 1 is another's."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_CHILD_SUBREAPER")


def processes_below():
    """Every process that came from us and has not ended, as "name[pid]"."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{entry}/stat").read_text(errors="replace")
                end = text.rindex(")")
                state, parent = text[end + 2:].split()[:2]
                if state not in "ZX":
                    parents[int(entry)] = int(parent)
                    names[int(entry)] = text[text.index("(") + 1:end]
    found, before = {os.getpid()}, set()
    while found != before:
        before = set(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return sorted(f"{names[pid]}[{pid}]" for pid in found - {os.getpid()})


def wait_for_the_end_of_processes():
    """What is still there after a while."""
    deadline = time.monotonic() + SECONDS_TO_CLEAN_UP
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = processes_below()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


class Bait:
    """Sockets to connect to and files to read, of the same user that the command runs as."""

    def __init__(self):
        self.secret = f"flag-{secrets.token_hex(16)}"
        self.name = f"belljar-bait-{secrets.token_hex(8)}"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.name)
        self.abstract.listen()
        self.files = []
        for folder in ("/tmp", "/var/tmp", "/dev/shm", os.environ["HOME"]):
            with contextlib.suppress(OSError):
                file, path = tempfile.mkstemp(prefix="flag-", dir=folder)
                os.fchmod(file, 0o644)
                os.write(file, self.secret.encode())
                os.close(file)
                self.files.append(path)

    def fill_in(self, text):
        for name, value in (("{port}", str(self.listener.getsockname()[1])),
                            ("{socket}", self.name), ("{flags}", json.dumps(self.files))):
            text = text.replace(name, value)
        return text

    def connections(self):
        """How often somebody connected."""
        count = 0
        for listener in (self.listener, self.abstract):
            listener.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    count += 1
        return count

    def remove(self):
        for path in self.files:
            os.unlink(path)


def main():
    order = json.load(sys.stdin)
    adopt_orphans()
    bait = Bait()
    try:
        command = [bait.fill_in(part) for part in order["command"]]
        ended = subprocess.run(command, input=base64.b64decode(order["stdin"]), capture_output=True,
                               timeout=order["seconds"], check=False)
        left = wait_for_the_end_of_processes()
    finally:
        bait.remove()
    json.dump({"returncode": ended.returncode, "processes": left,
               "stdout": base64.b64encode(ended.stdout).decode(),
               "stderr": base64.b64encode(ended.stderr).decode(),
               "connections": bait.connections(), "flag": bait.secret}, sys.stdout)


if __name__ == "__main__":
    main()
