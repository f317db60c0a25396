"""What the walls cost the program inside: the same loops in a jar and in bare Python.

Each program takes its own time and prints it, so that making a jar does not count.
"""

import wire
from candidates_server import answer_of, execute_request, right_record
from stats import Refused, Tally, rounded
from timekeepers import PYTHON, Timekeeper, checked

FRAME = """
import os, time
{prepare}
start = time.perf_counter()
for number in range({count}):
    {step}
print(time.perf_counter() - start)
"""
OWN = "import tempfile\nown = tempfile.NamedTemporaryFile()"
# label: (how often, what is done before, what is timed)
LOOPS = {
    "arithmetic": (3_000_000, "total = 0", "total += number * number % 7"),
    "getpid": (200_000, "", "os.getpid()"),
    "read": (100_000, "zeros = os.open('/dev/zero', os.O_RDONLY)", "os.read(zeros, 1)"),
    "stat of an own file": (50_000, OWN, "os.stat(own.name)"),
    "stat of the system's": (50_000, "", "os.stat('/usr/bin/python3')"),
    "open and close an own file": (20_000, OWN, "os.close(os.open(own.name, os.O_RDONLY))"),
    "open and close the system's": (20_000, "",
                                    "os.close(os.open('/usr/bin/python3', os.O_RDONLY))")}


def program(loop):
    count, prepare, step = LOOPS[loop]
    return FRAME.format(count=count, prepare=prepare, step=step)


def microseconds(loop, text):
    """Of one step, from what the program printed."""
    return float(text) * 1e6 / LOOPS[loop][0]


class Jar:
    def __init__(self, address):
        self.address, self.line = address, wire.Line(address)

    def run(self, loop):
        answer = self.line.ask(execute_request(self.address, program(loop)))
        return microseconds(loop, right_record(answer_of(*answer))["stdout"])

    def close(self):
        self.line.close()


class Bare:
    def __init__(self):
        self.launcher = Timekeeper("launcher.py")

    def run(self, loop):
        answer = self.launcher.ask({"command": [PYTHON, "-I", "-c", program(loop)]})
        return microseconds(loop, checked(answer, answer["output"])["output"])

    def close(self):
        self.launcher.close()


def measure(address, rounds, progress):
    """{loop: {"bare_us", "jar_us", "ratio"}}"""
    places = {"bare": Bare(), "jar": Jar(address)}
    tallies = {(loop, place): Tally() for loop in LOOPS for place in places}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for (loop, place), tally in tallies.items():
            try:
                tally.right(places[place].run(loop))
            except (Refused, OSError, ValueError) as problem:
                tally.refuse(problem)
    for place in places.values():
        place.close()
    return {loop: compared(tallies[loop, "bare"], tallies[loop, "jar"]) for loop in LOOPS}


def compared(bare, jar):
    """The best round of each: a loop is only ever slowed down by others, never sped up."""
    for tally in (bare, jar):
        if not tally.samples:
            return {"not_run": tally.reasons[0], "failed": tally.failed}
    found = {"bare_us": rounded(min(bare.samples)), "jar_us": rounded(min(jar.samples)),
             "failed": bare.failed + jar.failed}
    found["ratio"] = rounded(min(jar.samples) / min(bare.samples))
    return found
