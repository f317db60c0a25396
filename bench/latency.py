"""How long one hello takes: the candidates take turns, so that a busy moment meets all of them."""

import itertools
import random
import time

from candidates_commands import OFTEN
from stats import Tally

# What ended before still cleans up: namespaces and cgroups go after the answer has been given.
PAUSE_SECONDS = 0.03
# A candidate that fails as often as this and never succeeds does not work here.
HOPELESS = 3


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

    def __init__(self, candidates, often, pause=PAUSE_SECONDS):
        self.rows = [Row(candidate) for candidate in candidates]
        self.often = often
        self.pause = pause
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
        time.sleep(self.pause)
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
