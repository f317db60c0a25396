# class: Lateral
# tries: two jars at once: meet by System V objects, POSIX queues, shared memory, abstract sockets
# expects: neither finds what the other made
import errno
import os
import socket

from attempt import Attempts, answer, first, given, wait_for_other
from kernel import syscall

CREATE, EXCLUSIVE, RW = 0o1000, 0o2000, 0o600
PRIVATE_NOTHING = (errno.ECONNREFUSED, errno.EMFILE)
seed = int(given["token"], 16) & 0x3FFFFFFF
own_key, other_key = (seed, seed + 1) if first else (seed + 1, seed)
own, other = (f"peer-{key}" for key in (own_key, other_key))
attempts = Attempts()
sockets = []


def make(action, *arguments):
    try:
        return action(*arguments)
    except OSError:
        return None


make(syscall, "shmget", own_key, 4096, CREATE | EXCLUSIVE | RW)
make(syscall, "msgget", own_key, CREATE | EXCLUSIVE | RW)
make(syscall, "semget", own_key, 1, CREATE | EXCLUSIVE | RW)
make(syscall, "mq_open", own.encode(), os.O_CREAT | os.O_RDWR, RW, 0)
make(lambda: open(f"/dev/shm/{own}", "w").close())


def listen():
    one = socket.socket(socket.AF_UNIX)
    sockets.append(one)
    one.bind("\0" + own)
    one.listen()


make(listen)
met = wait_for_other()
attempts.call("System V memory", syscall, "shmget", other_key, 0, 0)
attempts.call("System V messages", syscall, "msgget", other_key, 0)
attempts.call("System V semaphores", syscall, "semget", other_key, 0, 0)
attempts.call("POSIX queue", syscall, "mq_open", other.encode(), os.O_RDWR, 0, 0,
              also=PRIVATE_NOTHING)
attempts.call("shared memory", os.open, f"/dev/shm/{other}", os.O_RDWR)


def dial():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + other)


attempts.call("abstract socket", dial, also=PRIVATE_NOTHING)
for name in ("shm", "msg", "sem"):
    try:
        with open(f"/proc/sysvipc/{name}", encoding="utf-8") as file:
            if str(other_key) in file.read().split():
                attempts.note(f"/proc/sysvipc/{name} shows it")
    except OSError:
        pass
if not met:
    attempts.note("the other jar never came")
attempts.verdict() if attempts.through else answer(True, "no way to meet was found")
