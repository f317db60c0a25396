"""Starts a program that hides behind daemons, then kills a process of Belljar with no warning.

Arguments: the path of Belljar and the name of the process. Prints how many processes the program
had and how many were killed.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

SECONDS = 20
PROGRAM = b"""
import os, time
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
os.wait(), os.wait()
time.sleep(1000)
"""
PROGRAM_PROCESSES = 3


def described(pid):
    """(name, parent) of a process."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, int(rest.split()[1])


def is_below_us(pid):
    while pid > 1 and pid != os.getpid():
        pid = described(pid)[1]
    return pid == os.getpid()


def find(name):
    """The processes below us whose name begins so."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            if described(entry)[0].startswith(name) and is_below_us(int(entry)):
                found.append(int(entry))
        except OSError:
            continue  # ended in the meantime
    return found


belljar = subprocess.Popen([sys.argv[1], "run", "-"], stdin=subprocess.PIPE)
belljar.stdin.write(PROGRAM)
belljar.stdin.close()
deadline = time.monotonic() + SECONDS
counts = [0, 0]
while counts[-2:] != [PROGRAM_PROCESSES] * 2 and time.monotonic() < deadline:
    time.sleep(0.05)  # those who fork and end are gone the next time
    counts.append(len(find("python")))
victims = [belljar.pid] if sys.argv[2] == "belljar" else find(sys.argv[2])
print(counts[-1], len(victims), flush=True)
for victim in victims:
    os.kill(victim, signal.SIGKILL)
belljar.wait(SECONDS)
