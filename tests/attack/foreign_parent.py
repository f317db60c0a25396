# class: HostDoS
# tries: leave a dead child to whoever is outside of the jar, where nobody would reap it and let init end
# expects: the kernel is not asked for it
import errno
import os
import signal

from attempt import Attempts
from kernel import syscall

CLONE_PARENT = 0x8000
attempts = Attempts()


def leave_child():
    if syscall("clone", CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


attempts.call("clone with CLONE_PARENT", leave_child, also=(errno.EINVAL,))
attempts.verdict()
