# class: HostDoS
# tries: take the host's reserved huge pages, which no memory limit counts
# expects: refused, or none there
import ctypes

from attempt import answer
from kernel import libc

READ_WRITE, PRIVATE_ANONYMOUS, HUGE, SIZE = 3, 0x22, 0x40000, 2 << 20
libc.mmap.restype = ctypes.c_size_t
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_size_t]
NOTHING = ctypes.c_size_t(-1).value

taken = 0
for _ in range(32):
    address = libc.mmap(None, SIZE, READ_WRITE, PRIVATE_ANONYMOUS | HUGE, -1, 0)
    if address == NOTHING:
        break
    ctypes.memset(address, 1, SIZE)
    taken += 1
answer(taken == 0, f"{taken} huge pages taken")
