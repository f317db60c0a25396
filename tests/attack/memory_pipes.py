# class: HostDoS
# tries: keep four times the allowed memory in the buffers of pipes and sockets
# expects: ended for its memory, or no more buffers
# needs: memory_limit
import fcntl
import os
import socket

from attempt import answer, given

limit = given["limits"]["memory_bytes"]
kept = []
held = 0


def fill(descriptor):
    global held
    try:
        while held < 4 * limit:
            held += os.write(descriptor, bytes(65536))
    except OSError:
        pass


def pipe():
    ends = os.pipe()
    kept.extend(ends)
    try:
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
    os.set_blocking(ends[1], False)
    return ends[1]


def pair():
    left, right = socket.socketpair()
    kept.extend((left, right))
    left.setblocking(False)
    return left.fileno()


for make in (pipe, pair):
    try:
        for _ in range(1500):
            fill(make())
    except OSError:
        pass  # no more descriptors
answer(held < 2 * limit, f"{held >> 20} MiB in buffers, {limit >> 20} MiB are allowed")
