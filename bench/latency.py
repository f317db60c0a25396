"""How long one hello takes: the candidates take turns, so that a busy moment meets all of them."""

import itertools
import random
import time

from candidates_commands import OFTEN
from load import busy_seconds
from stats import Tally

LOOK_SECONDS, LONGEST_REST_SECONDS = 0.06, 2.0
IDLE_SECONDS = 0.01  # of the processors' time during a look
# A candidate that fails as often as this and never succeeds does not work here.
HOPELESS = 3


def rest():
    """Until the machine does nothing else: what ended before still cleans up after its answer, and
    servers make their next jars."""
    give_up = time.monotonic() + LONGEST_REST_SECONDS
    while time.monotonic() < give_up:
        before = busy_seconds()
        time.sleep(LOOK_SECONDS)
        if busy_seconds() - before <= IDLE_SECONDS:
            return


class Row:
    """One candidate while it is being measured."""

    def __init__(self, candidate):
        self.candidate = candidate
        self.tallies = {key: Tally() for key in candidate.rows}

    @property
    def is_hopeless(self):
        tally = next(iter(self.tallies.values()))
        return not tally.samples and tally.failed + tally.wrong >= HOPELESS

    def run(self, token, kept):
        """One hello; its time counts only if it is `kept`, its failure always."""
        try:
            times = self.candidate.once(token)
        except Exception as problem:  # whatever it is, the other candidates go on
            for tally in self.tallies.values():
                tally.refuse(problem)
            return
        if kept:
            for tally, milliseconds in zip(self.tallies.values(), times, strict=True):
                tally.right(milliseconds)


class Turns:
    """Measures candidates one after the other, again and again."""

    def __init__(self, candidates, often):
        self.rows = [Row(candidate) for candidate in candidates]
        self.often = often
        self.tokens = map(str, itertools.count(1))

    def warm_up(self, runs):
        for row in self.rows:
            for _ in range(runs):
                row.run(next(self.tokens), kept=False)

    def take(self, turns, progress):
        for turn in range(turns):
            progress(f"turn {turn + 1} of {turns}")
            # Another order each time, so that nobody always follows the same neighbour.
            for row in random.Random(turn).sample(self.rows, len(self.rows)):
                if not row.is_hopeless:
                    self.turn_of(row)

    def turn_of(self, row):
        rest()
        row.run(next(self.tokens), kept=False)
        for _ in range(self.often if row.candidate.frequency == OFTEN else 1):
            row.run(next(self.tokens), kept=True)

    def results(self):
        return results_of(self.rows)


def paced(candidates, requests, seconds, progress):
    """One hello per `seconds` and nothing else: the machine has gone to rest before each."""
    block = 10
    rows, tokens = [Row(candidate) for candidate in candidates], map(str, itertools.count(1))
    for start in range(0, requests, block):
        progress(f"{start} of {requests}")
        for row in rows:
            for _ in range(min(block, requests - start)):
                time.sleep(seconds)
                row.run(next(tokens), kept=True)
    return results_of(rows)


def results_of(rows):
    return {key: {"label": row.candidate.rows[key], **tally.result()}
            for row in rows for key, tally in row.tallies.items()}
