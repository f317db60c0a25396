"""Numbers out of samples. Every figure is a time that was really measured, never a mix of two."""

import math

SHOWN = (50, 95, 99)


def percentile(ordered, percent):
    """The nearest rank in samples that are already in order."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def median(samples):
    return percentile(sorted(samples), 50)


def rounded(number):
    """Four digits are more than any clock here is good for."""
    if number == 0 or not math.isfinite(number):
        return number
    digits = 3 - math.floor(math.log10(abs(number)))
    return round(number, max(0, digits))


def summary(samples):
    """Of times in milliseconds; `quantiles_ms` are the 101 percentiles a plot is drawn from."""
    ordered = sorted(samples)
    found = {"runs": len(ordered), "best_ms": rounded(ordered[0])}
    for percent in SHOWN:
        found[f"p{percent}_ms"] = rounded(percentile(ordered, percent))
    found["max_ms"] = rounded(ordered[-1])
    found["quantiles_ms"] = [rounded(percentile(ordered, percent)) for percent in range(101)]
    return found


class Tally:
    """The times of one row and what went wrong in it.

    Failed means that there was no result, wrong that there was one and it was not the right one.
    """

    REASONS_KEPT = 3

    def __init__(self):
        self.samples, self.failed, self.wrong, self.reasons = [], 0, 0, []

    def right(self, milliseconds):
        self.samples.append(milliseconds)

    def refuse(self, problem):
        """Counts an exception: a `WrongAnswer`, or anything else that kept a result away."""
        if isinstance(problem, WrongAnswer):
            self.wrong += 1
        else:
            self.failed += 1
        words = f"{type(problem).__name__}: {problem}"[:300]
        if words not in self.reasons and len(self.reasons) < self.REASONS_KEPT:
            self.reasons.append(words)

    def add(self, other):
        self.samples += other.samples
        self.failed += other.failed
        self.wrong += other.wrong
        self.reasons = (self.reasons + other.reasons)[:self.REASONS_KEPT]

    def result(self):
        found = summary(self.samples) if self.samples else {"runs": 0}
        found.update(failed=self.failed, wrong=self.wrong)
        if self.reasons:
            found["reasons"] = self.reasons
        if not self.samples:
            found["not_run"] = self.reasons[0] if self.reasons else "it was not tried"
        return found


class WrongAnswer(Exception):
    """An answer came, and it is not the right one."""


class Refused(Exception):
    """There was no result: an error, another status, a connection that ended."""


class NotHere(Exception):
    """A candidate that this machine or this server does not have; the words go into its row."""
