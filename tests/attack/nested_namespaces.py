# class: Escape
# tries: make namespaces: unshare, clone and clone3 with each CLONE_NEW flag, setns
# expects: refused; clone3 does not exist
import ctypes
import errno
import os
import signal

from attempt import Attempts
from kernel import syscall

KINDS = {"NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000, "NEWIPC": 0x8000000,
         "NEWUSER": 0x10000000, "NEWPID": 0x20000000, "NEWNET": 0x40000000, "NEWTIME": 0x80}
LIMIT = (errno.ENOSPC, errno.EUSERS)  # a limit of 0 on namespaces
attempts = Attempts()


def in_child(action):
    """Whatever it does to the process happens to a child of its own."""
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number != 0:
        raise OSError(number, "refused")


def clone(flags):
    child = syscall("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def clone3(flags):
    arguments = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, signal.SIGCHLD)
    child = syscall("clone3", arguments, 88)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


for name, flag in KINDS.items():
    attempts.call(f"unshare {name}", in_child, lambda: syscall("unshare", flag), also=LIMIT)
    if name != "NEWTIME":  # for clone its bit is part of the signal number
        attempts.call(f"clone {name}", in_child, lambda: clone(flag), also=LIMIT)
        both = flag | KINDS["NEWUSER"]
        attempts.call(f"unshare {name} and NEWUSER", in_child, lambda: syscall("unshare", both),
                      also=LIMIT)
    attempts.call(f"clone3 {name}", in_child, lambda: clone3(flag), also=LIMIT)

for name in ("mnt", "net", "ipc", "uts", "user", "cgroup", "pid"):
    for pid in ("self", "1", str(os.getppid())):
        try:
            descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        except OSError:
            continue
        # EINVAL: the kernel's answer to whoever asks for the user namespace it is in.
        attempts.call(f"setns {pid} {name}", in_child, lambda: syscall("setns", descriptor, 0),
                      also=(errno.EINVAL,))
        os.close(descriptor)

attempts.verdict()
