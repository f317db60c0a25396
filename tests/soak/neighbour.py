"""How much slower a small quiet program gets beside a bomb."""

import math
import statistics
import threading
import time

from behaviours import BOMBS, Job
from load import Client

QUIET = Job("quiet", "print(6*7)", "ok", stdout="42\n")
HIGHEST_RATIO = 3.0
# A machine that others use too is slow at times. It is the bomb's fault only if it is so each time.
ATTEMPTS = 3


class Beside:
    """Runs a bomb again and again while it is entered."""

    def __init__(self, server, bomb):
        self.server, self.bomb = server, bomb
        self.stopping = threading.Event()
        self.wrong = []
        self.runs = 0
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        time.sleep(0.5)  # so that the first of them has reached its worst
        return self

    def work(self):
        client = Client(self.server)
        while not self.stopping.is_set():
            record = client.send(self.bomb)
            wrong = record if isinstance(record, str) else self.bomb.wrong(record)
            self.runs += 1
            if wrong:
                self.wrong.append(wrong)
        client.close()

    def __exit__(self, *failure):
        self.stopping.set()
        self.thread.join()


def percentile(samples, percent):
    """The nearest rank: a time that was really measured."""
    return sorted(samples)[max(0, math.ceil(len(samples) * percent / 100) - 1)]


def latencies(server, count):
    """Milliseconds of that many quiet runs, one after the other."""
    client, found = Client(server), []
    for _ in range(count):
        start = time.perf_counter()
        record = client.send(QUIET)
        found.append((time.perf_counter() - start) * 1000)
        if isinstance(record, str) or QUIET.wrong(record):
            raise RuntimeError(f"the quiet program: {record}")
    client.close()
    return statistics.median(found), percentile(found, 99)


def measure(server, bomb, samples):
    """((p50, p99) alone, (p50, p99) beside the bomb, what was wrong with the bomb)."""
    alone = latencies(server, samples)
    with Beside(server, bomb) as beside:
        together = latencies(server, samples)
    return alone, together, beside.wrong


def ratio_of(alone, together):
    return max(beside / before for before, beside in zip(alone, together, strict=True))


def check_neighbour(server, samples):
    """Prints a line per bomb; gives whether each stayed within the ratio."""
    print(f"{'quiet program beside':22}{'alone p50/p99 ms':>19}{'beside p50/p99 ms':>20}"
          f"{'ratio':>8}   ({samples} runs, at most {HIGHEST_RATIO:g})")
    good = True
    for name, bomb in BOMBS.items():
        measured = []
        for _ in range(ATTEMPTS):
            measured.append(measure(server, bomb, samples))
            if ratio_of(*measured[-1][:2]) <= HIGHEST_RATIO:
                break
        alone, together, wrong = min(measured, key=lambda found: ratio_of(*found[:2]))
        ratio = ratio_of(alone, together)
        verdict = "" if ratio <= HIGHEST_RATIO else "  TOO SLOW"
        print(f"{name:22}{alone[0]:10.1f} /{alone[1]:7.1f}{together[0]:11.1f} /{together[1]:7.1f}"
              f"{ratio:8.2f}{verdict}", flush=True)
        for text in wrong[:3]:
            print(f"  WRONG {text}")
        good = good and ratio <= HIGHEST_RATIO and not wrong
    return good
