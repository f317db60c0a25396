# class: Escape
# tries: futexes that inherit priorities, a source of kernel bugs
# expects: refused
# needs: seccomp
import ctypes

from attempt import Attempts
from kernel import syscall

LOCK_PI, UNLOCK_PI, TRYLOCK_PI, WAIT_REQUEUE_PI, CMP_REQUEUE_PI, LOCK_PI2 = 6, 7, 8, 11, 12, 13
PRIVATE = 128
attempts = Attempts()
word = ctypes.c_uint32(0)
other = ctypes.c_uint32(0)
soon = (ctypes.c_int64 * 2)(0, 1)
for flag in (0, PRIVATE):
    for name, operation in (("TRYLOCK", TRYLOCK_PI), ("LOCK", LOCK_PI), ("LOCK2", LOCK_PI2)):
        word.value = 0
        attempts.call(name, syscall, "futex", ctypes.byref(word), operation | flag, 0, soon, 0, 0)
    word.value = other.value = 0
    attempts.call("WAIT_REQUEUE", syscall, "futex", ctypes.byref(word), WAIT_REQUEUE_PI | flag,
                  0, soon, ctypes.byref(other), 0)
    attempts.call("CMP_REQUEUE", syscall, "futex", ctypes.byref(word), CMP_REQUEUE_PI | flag, 1, 1,
                  ctypes.byref(other), 0)
attempts.verdict()
