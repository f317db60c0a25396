# class: HostDoS
# tries: end at once and leave children behind that hold its output open
# expects: the run ends, and all of them with it
import os
import signal
import time

from attempt import answer

for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(1000)
        time.sleep(1000)
answer(True, "ended; nothing was left")
