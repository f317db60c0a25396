# class: HostDoS
# tries: stop itself, so that it neither runs nor ends
# expects: ended when the time is up
import os
import signal

while True:
    os.kill(os.getpid(), signal.SIGSTOP)
