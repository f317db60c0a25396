"""What a profile that scans and the audit trail add to a warm hello: three servers take turns.

Two servers of the same kind differ by a few percent, since each has its own places in memory and
caches. So several of each kind are asked, in turns, and their times are put together.
"""

import contextlib
import itertools
import random
import time

import latency
from candidates_server import Asked, Execute, start_server
from stats import Tally

WARM_UP = 3
ROUNDS = 8  # each with servers of its own
REQUESTS = 25  # of each server in a round, with a pause before each
TURNS = 12  # in a round, of requests without a pause
IN_A_ROW = 7  # in a turn, after the first; half of the jars are still ready then
PAUSE_SECONDS = 0.1
SERVERS = {
    "with": ("POST /execute, profile basic, audit trail",
             {"BELLJAR_POLICY_PROFILE": "basic", "BELLJAR_AUDIT_ENABLED": "true"}),
    "audit": ("POST /execute, audit trail",
              {"BELLJAR_POLICY_PROFILE": "standard", "BELLJAR_AUDIT_ENABLED": "true"}),
    "without": ("POST /execute, neither",
                {"BELLJAR_POLICY_PROFILE": "standard", "BELLJAR_AUDIT_ENABLED": "false"})}
WAYS = {"": "one per 100 ms", "_tight": "without a pause"}


def measure(place, progress):
    """Two rows for each, by the names above: with a jar that waits for each request, and (`_tight`)
    in turns of some requests without a pause, after those of another have got their next jars."""
    rows = {key + suffix: {"label": f"{label}, {way}"}
            for suffix, way in WAYS.items() for key, (label, _) in SERVERS.items()}
    tallies = {key: Tally() for key in rows}
    for number in range(ROUNDS):
        with contextlib.ExitStack() as stack:
            waiting, tight = start_candidates(stack, place, number)
            in_turns = latency.Turns(tight, IN_A_ROW)
            in_turns.warm_up(WARM_UP)
            in_turns.take(TURNS, progress)
            at_rest = ask_at_rest(waiting, progress)
            for row in (*in_turns.rows, *at_rest):
                for key, tally in row.tallies.items():
                    tallies[key].add(tally)
    return {key: {**row, **tallies[key].result()} for key, row in rows.items()}


def start_candidates(stack, place, number):
    """(for requests with a pause, for those without), of servers that end with `stack`."""
    candidates = {suffix: [] for suffix in WAYS}
    first = number % len(SERVERS)  # who starts first is slower by a percent or two
    for key in (*list(SERVERS)[first:], *list(SERVERS)[:first]):
        _, settings = SERVERS[key]
        server = start_server(place, f"governance-{key}-{number}", **settings)
        stack.callback(server.stop)
        server.settle()
        for suffix in WAYS:
            candidates[suffix].append(Asked({key + suffix: ""}, Execute(server.address)))
            stack.callback(candidates[suffix][-1].close)
    return candidates.values()


def ask_at_rest(candidates, progress):
    rows, tokens = [latency.Row(one) for one in candidates], map(str, itertools.count(1))
    for number in range(REQUESTS):
        progress(f"{number} of {REQUESTS}")
        for row in random.Random(number).sample(rows, len(rows)):
            time.sleep(PAUSE_SECONDS)
            row.run(next(tokens), kept=True)
    return rows
