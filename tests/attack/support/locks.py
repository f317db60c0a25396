"""Two jars that try to signal each other by locks on files, and by watching them."""

import errno
import fcntl
import os
import select
import struct
import time

from attempt import Attempts, answer, first, wait_for_other
from kernel import libc

OFD_GETLK, OFD_SETLK = 36, 37
LOCK = "hhqqi4x"  # type, whence, start, length, pid
SECONDS = 0.7  # for which the first listens once the second may act
attempts = Attempts()
opened = {}


def record_lock(descriptor, command, kind):
    """The type of the lock that is found, or set."""
    asked = struct.pack(LOCK, kind, 0, 0, 1, 0)
    return struct.unpack(LOCK, fcntl.fcntl(descriptor, command, asked))[0]


def quietly(action, *arguments):
    try:
        return action(*arguments)
    except OSError:
        return None


def watch():
    """A descriptor that tells when anybody opens or reads one of the files."""
    watcher = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for path in opened:
        libc.inotify_add_watch(watcher, path.encode(), 0x21)  # IN_OPEN, IN_ACCESS
    return watcher


def play_first():
    for descriptor in opened.values():
        quietly(fcntl.flock, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        quietly(record_lock, descriptor, OFD_SETLK, fcntl.F_RDLCK)
        quietly(fcntl.fcntl, descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    watcher = watch()
    met = wait_for_other()
    quietly(os.read, watcher, 65536)  # what the first itself and the start of the second caused
    time.sleep(SECONDS)  # holding every lock
    if watcher >= 0 and select.select([watcher], [], [], 0)[0]:
        attempts.note("sees when others read a file")
    return met


def play_second():
    met = wait_for_other()
    time.sleep(SECONDS / 2)
    for path, descriptor in opened.items():
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                attempts.note(f"sees the other's flock on {path}")
        if quietly(record_lock, descriptor, OFD_GETLK, fcntl.F_WRLCK) == fcntl.F_RDLCK:
            attempts.note(f"sees the other's lock on {path}")
        again = quietly(os.open, path, os.O_RDONLY | os.O_NONBLOCK)
        if again is not None:
            quietly(os.read, again, 16)
    return met


def play(paths):
    """The verdict on files that both jars can open."""
    for path in paths:
        descriptor = quietly(os.open, path, os.O_RDONLY | os.O_NONBLOCK)
        if descriptor is not None:
            opened[path] = descriptor
    if not (play_first() if first else play_second()):
        attempts.note("the other jar never came")
    if attempts.through:
        return attempts.verdict()
    return answer(True, f"no signal through {len(opened)} files")
