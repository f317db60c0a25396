# class: HostDoS
# tries: write twice what the workspace may hold
# expects: no space
# needs: disk_quota
import os

from attempt import answer, given

limit = given["limits"]["workspace_bytes"]
step = min(64 << 20, limit)
taken = 0
names = []
reason = "nothing"
try:
    while taken < 2 * limit:
        names.append(f"fill-{len(names)}")
        descriptor = os.open(names[-1], os.O_CREAT | os.O_WRONLY)
        try:
            os.posix_fallocate(descriptor, 0, step)
        finally:
            os.close(descriptor)
        taken += step
except OSError as error:
    reason = os.strerror(error.errno)
for name in names:
    os.unlink(name)
answer(taken <= limit, f"{taken >> 20} MiB of {limit >> 20}, then: {reason}")
