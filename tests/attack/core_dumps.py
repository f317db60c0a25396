# class: HostDoS
# tries: crash again and again with every core limit it can set, to run the host's crash handler
# expects: no core is written, no handler is started
import ctypes
import os
import resource
import signal

from attempt import Attempts, answer

attempts = Attempts()
before = set(os.listdir("."))


def crash(limit, deadly):
    child = os.fork()
    if child == 0:
        if limit is not None:
            try:
                resource.setrlimit(resource.RLIMIT_CORE, limit)
            except (OSError, ValueError):
                os._exit(0)  # this limit cannot be had
        if deadly == signal.SIGSEGV:
            ctypes.string_at(0)
        os.kill(os.getpid(), deadly)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WCOREDUMP(status):
        attempts.note(f"signal {deadly} with limit {limit} dumped core")


limits = [None, (0, 0), (0, 1), (1, 1), (4096, 4096), (1 << 30, 1 << 30),
          (resource.RLIM_INFINITY, resource.RLIM_INFINITY)]
for limit in limits:
    for deadly in (signal.SIGSEGV, signal.SIGQUIT, signal.SIGABRT, signal.SIGSYS, signal.SIGXCPU):
        crash(limit, deadly)
for name in set(os.listdir(".")) - before:
    attempts.note(f"left {name}")
attempts.verdict() if attempts.through else answer(True, f"{len(limits) * 5} crashes, no core")
