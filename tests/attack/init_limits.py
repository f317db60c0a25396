# class: SelfDoS
# tries: take its own init down with it: lower init's limits, stop it, kill it, take its processor
# expects: the run ends as it would have ended anyway
import os
import resource
import signal
import subprocess
import time

from attempt import answer, lacks

init = os.getppid()
changed = 0


def quietly(action, *arguments):
    global changed
    try:
        action(*arguments)
        changed += 1
    except (OSError, ValueError):
        pass


for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC,
             resource.RLIMIT_STACK, resource.RLIMIT_DATA):
    quietly(resource.prlimit, init, kind, (0, 0))
quietly(resource.prlimit, init, resource.RLIMIT_CPU, (1, 1))
quietly(os.setpriority, os.PRIO_PROCESS, init, 19)
quietly(os.sched_setaffinity, init, {0})
if not lacks("namespaces"):  # where init is not protected by being first, this is a plain suicide
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
        quietly(os.kill, init, number)
# Now it has something to do: a child to reap, and a refused call to answer for.
subprocess.run(["true"], check=False)
quietly(os.chroot, "/")
time.sleep(0.1)
answer(True, f"{changed} of the attempts went through; init did its work")
