# class: HostDoS
# tries: touch four times the memory that is allowed, and lock it
# expects: ended for its memory, or no more
# needs: memory_limit
import ctypes
import mmap

from attempt import answer, given
from kernel import libc

limit = given["limits"]["memory_bytes"]
step = 1 << 20
pieces = []
try:
    while len(pieces) * step < 4 * limit:
        piece = mmap.mmap(-1, step)
        libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(piece))), step)
        piece.write(b"x" * step)
        pieces.append(piece)
except (OSError, MemoryError):
    pass
answer(len(pieces) * step <= limit, f"touched {len(pieces)} MiB, {limit >> 20} are allowed")
