# class: Escape
# tries: use every open descriptor from 0 to 65535
# expects: standard streams and the result pipe, nothing else
import fcntl
import os
import stat

from attempt import Attempts, answer

attempts = Attempts()
pipes = []


def is_null(status):
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == os.makedev(1, 3)


for number in range(65536):
    try:
        status = os.fstat(number)
    except OSError:
        continue
    mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
    if stat.S_ISFIFO(status.st_mode) and (number <= 2 or mode == os.O_WRONLY):
        pipes.append(number)
    elif number > 2 or not is_null(status):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            target = oct(status.st_mode)
        attempts.note(f"descriptor {number} is {target}")
extra = [number for number in pipes if number > 2]
if len(extra) > 1:
    attempts.note(f"{len(extra)} pipes besides the standard streams")
attempts.verdict() if attempts.through else answer(True, f"pipes {pipes}, nothing else")
