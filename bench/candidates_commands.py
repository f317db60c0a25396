"""Programs that are started for each hello: bare ones, bubblewrap and `belljar run`."""

import shutil

from stats import NotHere
from timekeepers import PYTHON, Timekeeper, checked, hello

# Of one candidate in one turn. The cheap ones run more often, because their tails are of interest.
OFTEN = "often"
ONCE = "once"


class Candidate:
    """One or more rows of the table that are measured together.

    `once(token)` makes one hello and gives its milliseconds, one number per row. It raises
    WrongAnswer for another output and anything else if there was none.
    """

    frequency = ONCE

    def __init__(self, rows):
        self.rows = rows  # {key: label}

    def once(self, token):
        raise NotImplementedError

    def close(self):
        pass


class Command(Candidate):
    """`make(token)` is the command line of one hello."""

    def __init__(self, rows, make, surroundings=()):
        super().__init__(rows)
        self.make = make
        self.launcher = Timekeeper("launcher.py", surroundings)

    def once(self, token):
        answer = self.launcher.ask({"command": self.make(token)})
        return (checked(answer, hello(token))["ms"],)

    def close(self):
        self.launcher.close()


class WarmFork(Candidate):
    frequency = OFTEN

    def __init__(self):
        super().__init__({"fork_first_byte": "bare warm fork, to the first byte",
                          "fork": "bare warm fork, to reaped"})
        self.parent = Timekeeper("warm_fork.py")

    def once(self, token):
        answer = checked(self.parent.ask({"token": token}), hello(token))
        return answer["first_byte_ms"], answer["ms"]

    def close(self):
        self.parent.close()


def python_program(token):
    return f"print('hello {token}')"


def bubblewrap_command(token):
    """All namespaces, the host's /usr to read, own /proc, /dev and /tmp: as little as works."""
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise NotHere("bubblewrap is not installed")
    links = [part for name in ("lib", "lib64", "bin")
             for part in ("--symlink", f"usr/{name}", f"/{name}")]
    return [bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", *links,
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", PYTHON, "-I", "-c",
            python_program(token)]


def bare_python():
    return Command({"python": "bare python3 -I -S"},
                   lambda token: [PYTHON, "-I", "-S", "-c", python_program(token)])


def bubblewrap():
    bubblewrap_command("")
    return Command({"bubblewrap": "bubblewrap, all namespaces, python3"}, bubblewrap_command)


def bare_node():
    node = shutil.which("node")
    if not node:
        raise NotHere("node is not installed")
    return Command({"node": "bare node"},
                   lambda token: [node, "-e", f"console.log('hello {token}')"])


def belljar_run(binary, place):
    """The whole program for one run: start, prepare the host, make a jar, clean up, end."""
    script = place / "hello.py"
    script.write_text("import sys\nprint('hello', sys.argv[1])\n")
    return Command({"run": "belljar run"},
                   lambda token: [str(binary), "run", str(script), token])
