# class: HostDoS
# tries: make 200,000 empty files where they live in memory
# expects: no space, or ended for its memory
# needs: memory_limit
import os
import tempfile
import time

from attempt import answer

MOST = 200_000
made = {}
end = time.monotonic() + 8
for place in sorted({tempfile.gettempdir(), "/dev/shm"}):
    made[place] = 0
    try:
        while made[place] < MOST and time.monotonic() < end:
            os.close(os.open(f"{place}/n{made[place]}", os.O_CREAT | os.O_WRONLY))
            made[place] += 1
    except OSError:
        pass
answer(max(made.values()) < MOST, ", ".join(f"{count} in {place}" for place, count in made.items()))
