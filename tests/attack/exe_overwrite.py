# class: Escape
# tries: open running programs for writing through /proc/PID/exe, while they are executed
# expects: refused; the host's programs keep their bytes
import os
import subprocess
import time

from attempt import Attempts, given

attempts = Attempts()
paths = {"/proc/self/exe", "/proc/1/exe", f"/proc/{os.getppid()}/exe",
         f"/proc/{given['server_pid']}/exe", *(f"/proc/{pid}/exe" for pid in given["warden_pids"])}


def reopen_for_writing(path):
    """By way of a descriptor that asks for nothing, which is opened again with more."""
    handle = os.open(path, os.O_PATH)
    try:
        return os.open(f"/proc/self/fd/{handle}", os.O_WRONLY)
    finally:
        os.close(handle)


for path in sorted(paths):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        if flags & os.O_TRUNC and os.access(path, os.W_OK):
            attempts.note(f"{path} could be truncated")
        else:
            attempts.open(path, flags)
    attempts.call(f"{path} by descriptor", reopen_for_writing, path)

# A script whose interpreter is the interpreter of scripts, as runtimes of containers were attacked.
with open("again", "w", encoding="utf-8") as file:
    file.write("#!/proc/self/exe\n")
os.chmod("again", 0o755)
end = time.monotonic() + 0.5
while time.monotonic() < end and not attempts.through:
    try:
        child = subprocess.Popen(["./again"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
    except OSError:
        break
    attempts.call("exe of a child", reopen_for_writing, f"/proc/{child.pid}/exe")
    child.wait()
attempts.verdict()
