"""Ends at once and leaves a daemon, a child that holds the output open, and one that ignores
every signal it can."""

import os
import signal
import time


def leave(prepare):
    if os.fork() == 0:
        prepare()
        time.sleep(1000)
        os._exit(0)


def become_daemon():
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    for number in (0, 1, 2):
        os.close(number)


def ignore_signals():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)


leave(become_daemon)
leave(lambda: None)
leave(ignore_signals)
print("left", flush=True)
