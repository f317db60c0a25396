# class: HostDoS
# tries: signal processes outside: every number up to 65536 by kill, tgkill and pidfd
# expects: only the jar's own; server and warden live on
import os
import signal

from attempt import Attempts, answer, given, lacks
from kernel import syscall

# Signal 0 asks whether a signal would be delivered, and harms nobody if it would.
attempts = Attempts()
own = {os.getpid(), os.getppid(), 1 if not lacks("namespaces") else os.getpid()}
reached = []


def by_descriptor(pid):
    descriptor = syscall("pidfd_open", pid, 0)
    try:
        syscall("pidfd_send_signal", descriptor, 0, 0, 0)
    finally:
        os.close(descriptor)


for pid in range(2, 65536):
    if pid in own:
        continue
    try:
        os.kill(pid, 0)
        reached.append(pid)
    except OSError:
        pass
for pid in reached:
    attempts.note(f"signal {pid}")
if lacks("namespaces"):
    for pid in [given["server_pid"], *given["warden_pids"]]:
        attempts.call(f"pidfd {pid}", by_descriptor, pid)
        attempts.call(f"process group {pid}", os.killpg, pid, 0)
else:
    # In a pid namespace of its own this reaches nobody but the jar, and init ignores it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        try:
            os.kill(1, number)
        except OSError:
            pass
    try:
        os.kill(-1, signal.SIGTERM)
    except OSError:
        pass
attempts.verdict() if attempts.through else answer(True, "nobody outside was reached")
