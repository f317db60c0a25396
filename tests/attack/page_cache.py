# class: Lateral
# tries: change shared files without opening them for writing: /proc/self/mem, splice, AF_ALG
# expects: their bytes stay the same on the host and in the next jar
import ctypes
import hashlib
import mmap
import os
import socket
import threading
import time

from attempt import answer, first, given
from kernel import libc, syscall

PAGE = 4096
DONT_NEED = 4
libc.mmap.restype = ctypes.c_size_t
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_size_t]
refused = []


def readable(path):
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


# Where a write comes through, it shall hit text that nobody depends on.
HARMLESS = ["/usr/lib/os-release", os.path.join(os.path.dirname(os.__file__), "this.py")]
targets = [path for path in HARMLESS if readable(path)]
files = [path for path in given["shared_files"] if readable(path)] + targets


def digest():
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in files}


def write_through_mem(path):
    """A private page is written by force while another thread throws it away."""
    with open(path, "rb") as file:
        address = libc.mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno(), 0)
    end = time.monotonic() + 0.3

    def discard():
        while time.monotonic() < end:
            libc.madvise(ctypes.c_void_p(address), PAGE, DONT_NEED)

    thread = threading.Thread(target=discard)
    thread.start()
    try:
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            while time.monotonic() < end:
                memory.seek(address + 64)
                memory.write(b"belljar")
    except OSError as error:
        refused.append(f"mem {error.errno}")
    thread.join()
    libc.munmap(ctypes.c_void_p(address), PAGE)


def write_through_pipe(path):
    """A pipe whose buffers were marked as fit for merging gets a page of the file, and more."""
    read_end, write_end = os.pipe()
    try:
        for _ in range(16):
            os.write(write_end, bytes(PAGE))
        for _ in range(16):
            os.read(read_end, PAGE)
        with open(path, "rb") as file:
            offset = ctypes.c_int64(64)
            syscall("splice", file.fileno(), ctypes.byref(offset), write_end, 0, 1, 0)
        os.write(write_end, b"belljar")
    except OSError as error:
        refused.append(f"splice {error.errno}")
    finally:
        os.close(read_end)
        os.close(write_end)


def write_through_crypto():
    for kind in ("hash", "skcipher", "aead"):
        try:
            with socket.socket(38, socket.SOCK_SEQPACKET) as one:
                one.bind((kind, "x"))
        except OSError as error:
            refused.append(f"AF_ALG {error.errno}")


before = digest()
if first:
    for path in targets:
        write_through_mem(path)
        write_through_pipe(path)
    write_through_crypto()
after = digest()
seen = f"{len(files)} files unchanged; refused: {', '.join(sorted(set(refused))) or 'nothing'}"
answer(before == after, seen if before == after else "the bytes of a file changed", sha256=after)
