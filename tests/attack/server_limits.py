# class: HostDoS
# tries: change limits, priority, scheduling and processors of the server and the warden
# expects: no such process, or refused
# needs: unique_user
import os
import resource

from attempt import Attempts, answer, given, lacks

# Each is set to what it is already: where it succeeds, this harms nobody.
attempts = Attempts()


def try_process(pid):
    attempts.call(f"limits of {pid}",
                  lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE,
                                           resource.prlimit(pid, resource.RLIMIT_NOFILE)))
    attempts.call(f"priority of {pid}",
                  lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(0, pid)))
    attempts.call(f"processors of {pid}",
                  lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)))
    attempts.call(f"scheduling of {pid}",
                  lambda: os.sched_setscheduler(pid, os.sched_getscheduler(pid),
                                                os.sched_getparam(pid)))


if lacks("namespaces"):  # else the numbers mean processes of this jar, if any
    for process in [given["server_pid"], *given["warden_pids"]]:
        try_process(process)
    verdict = attempts.verdict()
else:
    verdict = answer(True, "in a pid namespace of its own, nobody outside has a number")
verdict
