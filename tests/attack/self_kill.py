# class: Integrity
# tries: kill itself with SIGKILL, as the kernel does when memory is short
# expects: reported as killed, not as memory or timeout
import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
