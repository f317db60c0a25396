"""What the attacks share: what they are told, and how they say what they found."""

import errno
import json
import os
import sys

# Names, paths and ports of the host, so that nothing has to be guessed; and this jar's limits.
given = json.loads(sys.argv[1])
first = given["role"] == "first"  # of two jars that play one attack together

# What a kernel says that does not let something happen. Others, such as EFAULT or EINVAL, mean that
# the call was reached.
REFUSALS = frozenset({
    errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ESRCH,
    errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EOPNOTSUPP,
    errno.ENODEV, errno.ENXIO, errno.ELOOP})


# Names that a jar may have as well as its host tell nothing.
host_name = given["host_name"] if given["host_name"] not in ("jar", "localhost") else ""


def lacks(layer):
    """Whether this installation says itself that it has no such layer."""
    return layer in given["missing"]


def name_of(number):
    return errno.errorcode.get(number, f"errno {number}")


class Attempts:
    """Counts refusals and keeps what got through."""

    def __init__(self):
        self.through = []
        self.refusals = {}

    def call(self, what, action, *arguments, also=()):
        """Tries one thing. Returns its value if it was let through, else None."""
        try:
            value = action(*arguments)
        except OSError as error:
            if error.errno in REFUSALS or error.errno in also:
                name = name_of(error.errno)
                self.refusals[name] = self.refusals.get(name, 0) + 1
            else:
                self.through.append(f"{what}: {name_of(error.errno)}")
            return None
        self.through.append(what)
        return value

    def open(self, what, flags=os.O_RDONLY, also=()):
        """Tries to open a path, and closes it."""
        descriptor = self.call(f"open {what}" if flags == os.O_RDONLY else f"write {what}",
                               os.open, what, flags | os.O_NONBLOCK | os.O_NOCTTY, also=also)
        if descriptor is not None:
            os.close(descriptor)

    def note(self, problem):
        self.through.append(problem)

    def verdict(self, **more):
        if self.through:
            seen = f"{len(self.through)} got through: " + "; ".join(self.through[:8])
        else:
            seen = ", ".join(f"{count} {name}" for name, count in sorted(self.refusals.items()))
        return {"held": not self.through, "seen": seen or "nothing found", **more}


def answer(held, seen, **more):
    return {"held": bool(held), "seen": seen, **more}


def wait_for_other():
    """Until the other side is ready too. False if it never will be."""
    print("ready", flush=True)
    return sys.stdin.readline() == "go\n"
