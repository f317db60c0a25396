# class: Escape
# tries: find a thread or a child without a system call filter, or take the filter off
# expects: mode 2 everywhere, and no way back
# needs: seccomp
import ctypes
import subprocess
import threading

from attempt import Attempts, answer
from kernel import libc, syscall

PR_GET_SECCOMP, PR_SET_SECCOMP = 21, 22
ALLOW = 0x7FFF0000
NEW_LISTENER = 8
attempts = Attempts()


def mode():
    try:
        with open("/proc/thread-self/status", encoding="utf-8") as file:
            return next(line.split()[1] for line in file if line.startswith("Seccomp:"))
    except OSError:
        return str(libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0))


def check(where):
    found = mode()
    if found != "2":
        attempts.note(f"{where} has mode {found}")


check("the program")
thread = threading.Thread(target=check, args=("a thread",))
thread.start()
thread.join()
said = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
if said and "Seccomp:\t2" not in said:
    attempts.note("a child has no filter")

# A filter of our own that allows everything comes on top and opens nothing; with a listener it
# would answer in place of the kernel.
allow = (ctypes.c_uint64 * 1)(ALLOW << 32 | 0x06)
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(allow))
attempts.call("a filter with a listener", syscall, "seccomp", 1, NEW_LISTENER, program,
              also=(16, 22))
libc.prctl(PR_SET_SECCOMP, 0, 0, 0, 0)
check("after the attempt to take it off")

attempts.verdict() if attempts.through else answer(True, "mode 2 in every thread and child")
