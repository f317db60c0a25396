# class: HostLeak
# tries: search environment, files, processes and its own memory for a secret of the server
# expects: found nowhere
import ctypes
import os
import re

from attempt import Attempts, answer
from kernel import libc

# Put together here, so that the program does not find itself.
PATTERN = re.compile(b"-".join([b"belljar", b"secret", b"[0-9a-f]{32}"]))
LARGEST = 64 << 20
PAGE, AROUND = 4096, 16 << 20
attempts = Attempts()
searched = 0


def search(where, data):
    global searched
    searched += len(data)
    found = PATTERN.search(data)
    if found:
        attempts.note(f"{where}: {found.group().decode()}")


def search_file(path):
    try:
        with open(path, "rb", buffering=0) as file:
            search(path, file.read(1 << 20))
    except OSError:
        pass


def own_memory():
    with open("/proc/self/maps", encoding="utf-8") as maps, \
            open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            area, rights = line.split()[:2]
            begin, end = (int(one, 16) for one in area.split("-"))
            if rights.startswith("r") and end - begin <= LARGEST and begin < 1 << 63:
                try:
                    memory.seek(begin)
                    search(f"memory at {area}", memory.read(end - begin))
                except OSError:
                    pass


def memory_around(address):
    """The same without /proc: a pipe refuses to take what cannot be read."""
    read_end, write_end = os.pipe()
    begin = address & ~(PAGE - 1)
    for page in range(begin - AROUND, begin + AROUND, PAGE):
        if page > 0 and libc.write(write_end, ctypes.c_void_p(page), PAGE) == PAGE:
            search(f"memory at {page:x}", os.read(read_end, PAGE))
    os.close(read_end)
    os.close(write_end)


search("environment", repr(dict(os.environ)).encode())
try:
    own_memory()
except OSError:
    for one in (id(attempts), id(os.environ), ctypes.addressof(ctypes.create_string_buffer(8)),
                ctypes.cast(libc.write, ctypes.c_void_p).value):
        memory_around(one)
try:
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
except OSError:
    processes = []
for pid in processes:
    for name in ("environ", "cmdline", "stack", "auxv", "comm"):
        search_file(f"/proc/{pid}/{name}")
for top in ("/etc", "/tmp", "/dev/shm", "/run", "/var/lib/belljar", "/root", "/home", "/opt",
            os.getcwd()):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.path.getsize(path) < LARGEST:
                search_file(path)
attempts.verdict() if attempts.through else answer(
    True, f"not in {searched >> 20} MiB of memory and files")
