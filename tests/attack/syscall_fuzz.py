# class: HostDoS
# tries: random system calls with random arguments for two seconds
# expects: the host, the server and the next runs are as before
import ctypes
import os
import random
import signal
import time

from attempt import given, lacks
from kernel import libc

seed = int(given["token"], 16)
dice = random.Random(seed)
print("seed", seed)
# Where other processes can be named, they shall not be the target of dice: signals, priorities,
# schedulers, limits.
SPARED = {62, 129, 141, 142, 144, 200, 203, 234, 251, 297, 302, 314, 424}
memory = ctypes.create_string_buffer(4096)
INTERESTING = [0, 1, -1, 2, 3, 4096, 0x7FFFFFFF, 0x80000000, 1 << 47, -4095,
               ctypes.addressof(memory), ctypes.addressof(memory) + 4095, 0x400000]


def play():
    for _ in range(200):
        number = dice.randrange(0, 470)
        if number in SPARED and lacks("namespaces"):
            continue
        arguments = [ctypes.c_long(dice.choice(INTERESTING) if dice.random() < 0.7
                                   else dice.getrandbits(63)) for _ in range(6)]
        libc.syscall(ctypes.c_long(number), *arguments)


def wait_or_kill(child):
    """Some calls wait for ever; a child gets no more than a tenth of a second."""
    deadline = time.monotonic() + 0.1
    while os.waitpid(child, os.WNOHANG)[0] != child:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.001)


end = time.monotonic() + 2
children = 0
while time.monotonic() < end:
    dice.seed(seed + children)
    child = os.fork()
    if child == 0:
        for number in (0, 1, 2):
            os.close(number)
        play()
        os._exit(0)
    children += 1
    wait_or_kill(child)
print(children, "children")
