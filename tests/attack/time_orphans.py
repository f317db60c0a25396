# class: HostDoS
# tries: leave children in sessions of their own that ignore every signal, and wait
# expects: ended when the time is up, with all of them
import os
import signal
import time

for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True:
            time.sleep(1000)
time.sleep(1000)
