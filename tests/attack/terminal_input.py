# class: Escape
# tries: push input into a terminal: TIOCSTI, TIOCLINUX, TIOCSETD, also with bits above the 32nd
# expects: refused, or no terminal
import errno
import os

from attempt import Attempts
from kernel import raw, X86

IOCTL = 16 if X86 else 29
TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY = 0x5412, 0x541C, 0x5423, 0x541D, 0x540E
attempts = Attempts()
descriptors = [0, 1, 2]
for path in ("/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/0", "/dev/pts/ptmx", "/dev/tty0"):
    try:
        descriptors.append(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
        attempts.note(f"opened {path}")
    except OSError:
        pass
for descriptor in descriptors:
    for command in (TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY):
        for bits in (0, 1 << 32, 0x7FFFFFFF << 32):
            attempts.call(f"ioctl {command | bits:#x} on {descriptor}", raw, IOCTL, descriptor,
                          command | bits, b"x", also=(errno.ENOTTY, errno.EINVAL, errno.EBADF))
attempts.verdict()
