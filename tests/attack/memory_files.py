# class: HostDoS
# tries: fill /tmp and /dev/shm with four times the memory that is allowed
# expects: no space, or ended for its memory
# needs: memory_limit, disk_quota
import os
import tempfile

from attempt import answer, given

limit = given["limits"]["memory_bytes"]
step = 1 << 20
written = {}
for place in sorted({tempfile.gettempdir(), "/dev/shm"}):
    try:
        with open(f"{place}/fill", "wb", buffering=0) as file:
            while written.get(place, 0) < 4 * limit:
                written[place] = written.get(place, 0) + file.write(b"x" * step)
    except OSError:
        pass
total = sum(written.values())
for place in written:
    os.unlink(f"{place}/fill")
answer(total < 4 * limit, f"{total >> 20} MiB were written to {', '.join(written)}")
