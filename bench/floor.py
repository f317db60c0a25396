"""What the kernel alone takes for the parts of a fresh jar, beside the other loads.

bare_jar.cpp makes what every run gets anew around a process that does nothing, one part more in
each row; a warm interpreter forks again and again and isolates nothing.
"""

import contextlib
import os
import pathlib
import subprocess

from load import StartedLoad, busy_seconds
from stats import NotHere, median, rounded
from support_traces import own_cgroups
from timekeepers import hello

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build" / "release" / "bench" / "bare_jar"
LAYERS = ("cgroups", "and namespaces", "and mounts", "and a network")
# One of these has every hierarchy that jars use; the other ones stay as they are.
LIMITS = ("memory.limit_in_bytes", "pids.max", "cpu.shares", "cgroup.max.descendants")
AT_A_TIME = 2 * len(os.sched_getaffinity(0))  # more are no faster
PATIENCE_SECONDS = 60
TRIAL_SECONDS = 0.1


class Cgroups:
    """An empty one of ours in each hierarchy; theirs are made below."""

    def __init__(self):
        self.made = []
        for own in own_cgroups():
            place = own / f"belljar-bench-{os.getpid()}"
            with contextlib.suppress(OSError):
                place.mkdir()
                if any((place / name).exists() for name in LIMITS):
                    self.made.append(place)
                else:
                    place.rmdir()

    def close(self):
        for place in self.made:
            for left in (entry for entry in place.iterdir() if entry.is_dir()):
                left.rmdir()  # of a maker that failed
            place.rmdir()


class BareJars:
    """Several processes at a time make bare jars of so many layers."""

    def __init__(self, layers, cgroups):
        self.layers, self.cgroups = layers, cgroups
        self.rates, self.made, self.busy = [], 0, 0.0

    def round(self, seconds):
        busy = busy_seconds()
        made = self.make(seconds)
        self.busy += busy_seconds() - busy
        self.rates.append(made / seconds)
        self.made += made

    def make(self, seconds):
        """How many in that time."""
        command = [PROGRAM, str(seconds), str(self.layers), *self.cgroups.made]
        makers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True) for _ in range(AT_A_TIME)]
        try:
            answers = [maker.communicate(timeout=PATIENCE_SECONDS) for maker in makers]
        finally:
            for maker in makers:
                maker.kill()
                maker.wait()
        for maker, (_, complaint) in zip(makers, answers, strict=True):
            if maker.returncode != 0:
                raise NotHere(complaint.strip())
        return sum(int(count) for count, _ in answers)

    def result(self):
        return {"per_second": rounded(median(self.rates)),
                "cpu_ms_per_run": rounded(self.busy * 1000 / max(1, self.made)), "runs": self.made}


class Floor:
    """Its loads are measured in turns with all others."""

    def __init__(self):
        if not PROGRAM.exists():
            raise NotHere(f"{PROGRAM.name} is not built: ./dev bench does that")
        self.cgroups = Cgroups()
        self.jars = {label: BareJars(layers, self.cgroups)
                     for layers, label in enumerate(LAYERS, start=1)}
        self.fork = StartedLoad("warm_fork.py", AT_A_TIME, {"token": "0"}, hello("0"))
        try:
            self.jars[LAYERS[-1]].make(TRIAL_SECONDS)
        except NotHere:
            self.close()
            raise

    def loads(self):
        return [*self.jars.values(), self.fork]

    def result(self):
        rows = {label: one.result() for label, one in self.jars.items()}
        rows["a bare warm fork"] = fork = self.fork.result()
        jar = rows[LAYERS[-1]]
        rows["both together"] = {
            "per_second": rounded(1 / (1 / jar["per_second"] + 1 / fork["per_second"])),
            "cpu_ms_per_run": rounded(jar["cpu_ms_per_run"] + fork["cpu_ms_per_run"])}
        return rows

    def close(self):
        self.cgroups.close()
