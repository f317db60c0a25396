# class: Escape
# tries: leave by the working directory: ../ 64 times, openat from descriptors, a second chroot
# expects: the root of the jar is the end of the way up
import os

from attempt import Attempts, answer, given, lacks
from kernel import syscall

attempts = Attempts()
start = os.getcwd()
if not start.startswith("/"):
    attempts.note(f"works in {start}")


def same(left, right):
    return (left.st_dev, left.st_ino) == (right.st_dev, right.st_ino)


def flag_from(descriptor):
    for flag in given["flags"]:
        for path in (flag.lstrip("/"), "../" * 64 + flag.lstrip("/")):
            try:
                with open(os.open(path, os.O_RDONLY, dir_fd=descriptor), "rb") as file:
                    attempts.note(f"read {flag} from descriptor {descriptor}: {file.read(100)}")
            except OSError:
                pass


root = os.open("/", os.O_PATH | os.O_DIRECTORY)
here = os.open(".", os.O_PATH | os.O_DIRECTORY)
for number in range(256):
    flag_from(number)
try:
    for _ in range(64):
        os.chdir("..")
    if not same(os.stat("."), os.stat("/")):
        attempts.note("the way up does not end at the root")
    if not lacks("namespaces") and os.path.lexists("." + given["flags"][0]):
        attempts.note("the way up leads to the host")
except OSError:
    pass  # a directory above that may not be entered is an end too
os.fchdir(here)

# The classic: a second root below, and out of it through the descriptor of the first.
os.makedirs("inner", exist_ok=True)
attempts.call("chroot", syscall, "chroot", b"inner")
attempts.call("fchdir and chroot", lambda: (os.fchdir(root), os.chroot(".")))
os.chdir(start)
attempts.verdict() if attempts.through else answer(True, f"works in {start}, and / is the top")
