# class: Integrity
# tries: raise SIGSYS and SIGXCPU by its own hand
# expects: reported as ended by a signal, never as memory or timeout
import os
import signal

from attempt import first

number = signal.SIGSYS if first else signal.SIGXCPU
signal.signal(number, signal.SIG_DFL)
os.kill(os.getpid(), number)
