"""What the walls cost the program inside: the same loops in a jar and in bare Python.

Each program takes its own time and prints it, so that making a jar does not count. The loops are
functions, as programs have them: names of a module are found faster or slower by the luck of the
interpreter's hash seed, by up to a tenth. They take a while: at the beginning of a run the next jar
is made, which slows down whatever shares a core with it. A third place is bare Python behind a
seccomp filter that allows everything, which is what the kernel takes for asking any filter at all.

Where an interpreter's memory lies makes a loop slower or faster by up to a tenth. A bare one lies
elsewhere each time, a guest where its zygote does: each round has a server of its own.
"""

import contextlib

import wire
from candidates_server import answer_of, execute_request, right_record, start_server
from stats import Refused, Tally, rounded
from timekeepers import PYTHON, Timekeeper, checked

FRAME = """
import os, time
{prepare}
def loop(total=0):
    for number in range({count}):
        {step}
start = time.perf_counter()
loop()
print(time.perf_counter() - start)
"""
# One instruction: return SECCOMP_RET_ALLOW.
FILTER = """
import ctypes, struct
instruction = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000))
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(instruction))
PR_SET_SECCOMP, FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
control = ctypes.CDLL(None, use_errno=True).prctl
if control(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or control(PR_SET_SECCOMP, FILTER, program):
    raise OSError(ctypes.get_errno(), "no filter")
"""
OWN = "import tempfile\nown = tempfile.NamedTemporaryFile()"
# label: (how often, what is done before, what is timed)
LOOPS = {
    "arithmetic": (40_000_000, "", "total += number * number % 7"),
    "getpid": (4_000_000, "", "os.getpid()"),
    "read": (3_000_000, "zeros = os.open('/dev/zero', os.O_RDONLY)", "os.read(zeros, 1)"),
    "stat of an own file": (400_000, OWN, "os.stat(own.name)"),
    "stat of the system's": (100_000, "", "os.stat('/usr/bin/python3')"),
    "open and close an own file": (100_000, OWN, "os.close(os.open(own.name, os.O_RDONLY))"),
    "open and close the system's": (50_000, "",
                                    "os.close(os.open('/usr/bin/python3', os.O_RDONLY))")}


def program(loop):
    count, prepare, step = LOOPS[loop]
    return FRAME.format(count=count, prepare=prepare, step=step)


def microseconds(loop, text):
    """Of one step, from what the program printed."""
    return float(text) * 1e6 / LOOPS[loop][0]


class Jar:
    def __init__(self, place, number):
        self.server = start_server(place, f"loops-{number}")
        self.server.settle()
        self.line = wire.Line(self.server.address)

    def run(self, loop):
        answer = self.line.ask(execute_request(self.server.address, program(loop)))
        return microseconds(loop, right_record(answer_of(*answer))["stdout"])

    def close(self):
        self.line.close()
        self.server.stop()


class Bare:
    def __init__(self, before=""):
        self.launcher, self.before = Timekeeper("launcher.py"), before

    def run(self, loop):
        answer = self.launcher.ask({"command": [PYTHON, "-I", "-c", self.before + program(loop)]})
        return microseconds(loop, checked(answer, answer["output"])["output"])

    def close(self):
        self.launcher.close()


def measure(place, rounds, progress):
    """{loop: {"bare_us", "filter_us", "jar_us", "ratio", "filter_ratio"}}"""
    bare = {"bare": Bare(), "filter": Bare(FILTER)}
    tallies = {(loop, name): Tally() for loop in LOOPS for name in (*bare, "jar")}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        with contextlib.closing(Jar(place, number)) as jar:
            take_round({**bare, "jar": jar}, tallies)
    for one in bare.values():
        one.close()
    return {loop: compared({name: tallies[loop, name] for name in (*bare, "jar")})
            for loop in LOOPS}


def take_round(places, tallies):
    for (loop, name), tally in tallies.items():
        try:
            tally.right(places[name].run(loop))
        except (Refused, OSError, ValueError) as problem:
            tally.refuse(problem)


def compared(tallies):
    """The best round of each: a loop is only ever slowed down by others, never sped up."""
    for tally in tallies.values():
        if not tally.samples:
            return {"not_run": tally.reasons[0], "failed": tally.failed}
    best = {place: min(tally.samples) for place, tally in tallies.items()}
    return {**{f"{place}_us": rounded(time) for place, time in best.items()},
            "failed": sum(tally.failed for tally in tallies.values()),
            "ratio": rounded(best["jar"] / best["bare"]),
            "filter_ratio": rounded(best["filter"] / best["bare"])}
