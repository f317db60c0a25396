# class: HostDoS
# tries: leave a dead child to somebody outside who does not reap it, so that init cannot end
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
