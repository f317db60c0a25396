"""Cost against load: many callers at once, a burst, and bubblewrap beside it."""

import itertools
import os
import pathlib
import selectors
import time

import wire
from candidates_commands import bubblewrap_command
from stats import Refused, Tally, WrongAnswer, median, rounded
from timekeepers import Timekeeper, hello

PAUSE_SECONDS = 0.3


def busy_seconds():
    """Processor time that the whole machine has spent since it started, without waiting."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, interrupt, soft_interrupt = map(int, fields[:7])
    return (user + nice + system + interrupt + soft_interrupt) / os.sysconf("SC_CLK_TCK")


class Callers:
    """Many callers in one thread; each sends its next question when it has its answer."""

    def __init__(self, dialect, count):
        self.dialect = dialect
        self.tokens = map(str, itertools.count(1))
        self.lines = [wire.Line(dialect.address) for _ in range(count)]
        self.waiting = {}  # line -> (token, when it was sent)
        self.tally = Tally()
        self.selector = selectors.DefaultSelector()

    def __enter__(self):
        for line in self.lines:
            self.open(line)
        return self

    def __exit__(self, *failure):
        self.selector.close()
        for line in self.lines:
            line.close()

    def open(self, line):
        line.open()
        self.selector.register(line.connection, selectors.EVENT_READ, line)

    def send(self, line):
        token = next(self.tokens)
        request = self.dialect.question(token)
        self.waiting[line] = token, time.perf_counter()
        try:
            line.send(request)
        except OSError as problem:
            self.tally.refuse(problem)
            self.start_again(line)

    def burst(self):
        """Everybody asks once at the same time; gives the milliseconds until the last answer."""
        start = time.perf_counter()
        for line in self.lines:
            self.send(line)
        while self.waiting:
            self.collect()
        return (time.perf_counter() - start) * 1000

    def keep_asking(self, seconds):
        """Gives the right answers per second while everybody kept asking."""
        end = time.perf_counter() + seconds
        for line in self.lines:
            self.send(line)
        in_time = 0
        while self.waiting:
            done = self.collect()
            if time.perf_counter() < end:
                in_time = len(self.tally.samples)
                for line in done:
                    self.send(line)
        return in_time / seconds

    def collect(self):
        """Waits for bytes; gives the lines that are free now."""
        ready = [key.data for key, _ in self.selector.select(wire.PATIENCE_SECONDS)]
        if not ready:
            raise Refused(f"{len(self.waiting)} callers wait for an answer that does not come")
        return [line for line in ready if self.is_answered(line)]

    def is_answered(self, line):
        try:
            answer = line.receive_some()
            if answer is None:
                return False
            token, sent = self.waiting.pop(line)
            elapsed = (time.perf_counter() - sent) * 1000
            self.dialect.judge(*answer, token)
        except (OSError, Refused, WrongAnswer, KeyError, ValueError) as problem:
            self.tally.refuse(problem)
            self.start_again(line)
        else:
            self.tally.right(elapsed)
        return True

    def give_up(self, problem):
        """Whoever still waits has got nothing."""
        for _ in self.waiting or [None]:
            self.tally.refuse(problem)

    def start_again(self, line):
        """After a failure nothing is known about the connection."""
        self.waiting.pop(line, None)
        self.selector.unregister(line.connection)
        line.close()
        self.open(line)


def ask_together(dialect, count, work):
    """What `work` gives, or 0 if the server stopped answering; and the tally."""
    callers, found = Callers(dialect, count), 0.0
    try:
        with callers:
            found = work(callers)
    except (OSError, Refused) as problem:
        callers.give_up(problem)
    return found, callers.tally


class ServerLoad:
    """One number of callers, measured in several rounds."""

    def __init__(self, dialect, callers):
        self.dialect, self.callers = dialect, callers
        self.rates, self.tally, self.busy = [], Tally(), 0.0

    def round(self, seconds):
        busy = busy_seconds()
        rate, tally = ask_together(self.dialect, self.callers,
                                   lambda callers: callers.keep_asking(seconds))
        self.busy += busy_seconds() - busy
        self.rates.append(rate)
        self.tally.add(tally)

    def result(self):
        answers = max(1, len(self.tally.samples))
        return {"language": self.dialect.language, "callers": self.callers,
                "per_second": rounded(median(self.rates)),
                "cpu_ms_per_run": rounded(self.busy * 1000 / answers), **self.tally.result()}


class StartedLoad:
    """The same number of programs at a time, each started by a process of its own."""

    def __init__(self, starter, parallel, order, expect):
        self.starter, self.parallel = starter, parallel
        self.order = {**order, "expect": expect}
        self.rates, self.right, self.other, self.busy = [], 0, 0, 0.0

    def round(self, seconds):
        starters = [Timekeeper(self.starter) for _ in range(self.parallel)]
        busy = busy_seconds()
        for starter in starters:
            starter.send({**self.order, "seconds": seconds})
        answers = [starter.receive() for starter in starters]
        self.busy += busy_seconds() - busy
        for starter in starters:
            starter.close()
        self.rates.append(sum(one["right"] / one["seconds"] for one in answers))
        self.right += sum(one["right"] for one in answers)
        self.other += sum(one["other"] for one in answers)

    def result(self):
        return {"parallel": self.parallel, "per_second": rounded(median(self.rates)),
                "cpu_ms_per_run": rounded(self.busy * 1000 / max(1, self.right)),
                "runs": self.right, "failed": self.other}


def bubblewrap_load(parallel):
    token = str(parallel)
    return StartedLoad("launcher.py", parallel, {"command": bubblewrap_command(token)},
                       hello(token))


def measure(loads, rounds, seconds, progress):
    """Each load once per round."""
    for number in range(rounds):
        for load in loads:
            progress(f"round {number + 1} of {rounds}")
            time.sleep(PAUSE_SECONDS)
            load.round(seconds)


def bursts(dialect, callers, rounds, progress):
    """That many callers who all ask at the same moment and then never again."""
    tally, last = Tally(), []
    for number in range(rounds):
        progress(f"burst {number + 1} of {rounds}")
        time.sleep(PAUSE_SECONDS)
        answered, found = ask_together(dialect, callers, Callers.burst)
        last.append(answered)
        tally.add(found)
    return {"language": dialect.language, "callers": callers,
            "all_answered_ms": rounded(median(last)), **tally.result()}
