"""The processes that the tests started, as the kernel shows them."""

import contextlib
import ctypes
import os
import pathlib

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Whatever outlives its parent becomes our child instead of pid 1's, so none can hide."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


class Process:
    """One line of /proc/PID/stat. Pid and start time together never come again."""

    def __init__(self, pid, text):
        self.pid = pid
        end = text.rindex(")")
        self.name = text[text.index("(") + 1:end]
        fields = text[end + 2:].split()
        self.state, self.parent, self.start = fields[0], int(fields[1]), int(fields[19])

    @property
    def identity(self):
        return self.pid, self.start

    @property
    def ended(self):
        return self.state in "ZX"

    def __repr__(self):
        return f"{self.name}[{self.pid}] {self.state} of {self.parent}"


def all_processes():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{entry}/stat").read_text(errors="replace")
                found[int(entry)] = Process(int(entry), text)
    return found


def descendants(ancestor=None):
    """Those that live below `ancestor`, which is the tests themselves if not said."""
    processes = all_processes()
    children = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    found, waiting = [], [ancestor or os.getpid()]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child.pid)
    return [process for process in found if not process.ended]


def reap_adopted(own_children):
    """Ended orphans are for us to reap, as pid 1 does for others; never a child of subprocess."""
    for process in all_processes().values():
        adopted = process.parent == os.getpid() and process.pid not in own_children
        if adopted and process.ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def status_of(pid):
    """The fields of /proc/PID/status."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def user_of(pid):
    return int(status_of(pid)["Uid"].split()[0])


NURSERY_USER = 2_000_000_000  # isolation.uid_base; also that of zygotes
FIRST_JAR_USER = NURSERY_USER + 1


def guests_of(ancestor=None):
    """The processes in jars below `ancestor` that belong to programs, not to the jars' init."""
    found = []
    for process in descendants(ancestor):
        with contextlib.suppress(OSError):
            if user_of(process.pid) >= FIRST_JAR_USER and process.name.startswith("python"):
                found.append(process)
    return found


def is_zygote(process):
    """Of a warden that lives: replaced now and then, it is no trace of a run."""
    with contextlib.suppress(OSError):
        warden = pathlib.Path(f"/proc/{process.parent}/comm").read_text().strip()
        return warden == "belljar-warden" and user_of(process.pid) == NURSERY_USER \
            and process.name.startswith("python")
    return False


def network_namespaces(processes):
    found = set()
    for process in processes:
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{process.pid}/ns/net"))
    return found


def descriptors(pid):
    """What the open descriptors of a process are, as {number: target}."""
    found = {}
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found[int(number)] = os.readlink(f"/proc/{pid}/fd/{number}")
    return found
