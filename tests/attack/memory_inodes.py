# class: HostDoS
# tries: make 100,000 empty files where they live in memory
# expects: no space, or ended for its memory
# needs: memory_limit, disk_quota
import os
import tempfile
import time

from attempt import answer

MOST = 100_000
made = {}
end = time.monotonic() + 5
for place in sorted({tempfile.gettempdir(), "/dev/shm"}):
    made[place] = 0
    try:
        while made[place] < MOST and time.monotonic() < end:
            os.close(os.open(f"{place}/n{made[place]}", os.O_CREAT | os.O_WRONLY))
            made[place] += 1
    except OSError:
        pass
limited = max(made.values()) < MOST and time.monotonic() < end
answer(limited, ", ".join(f"{count} in {place}" for place, count in made.items()))
