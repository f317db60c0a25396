"""What a profile that scans and the audit trail add to a warm hello: three servers take turns."""

import contextlib

import latency
from candidates_server import Asked, Execute, start_server

WARM_UP = 3
REQUESTS = 150
PAUSE_SECONDS = 0.1
SERVERS = {
    "with": ("POST /execute, profile basic, audit trail",
             {"BELLJAR_POLICY_PROFILE": "basic", "BELLJAR_AUDIT_ENABLED": "true"}),
    "audit": ("POST /execute, audit trail",
              {"BELLJAR_POLICY_PROFILE": "standard", "BELLJAR_AUDIT_ENABLED": "true"}),
    "without": ("POST /execute, neither",
                {"BELLJAR_POLICY_PROFILE": "standard", "BELLJAR_AUDIT_ENABLED": "false"})}


def measure(place, turns, often, progress):
    """Two rows for each, by the names above: with a jar that waits for each request, and (`_tight`)
    in turns of some requests without a pause, after those of another have got their next jars."""
    with contextlib.ExitStack() as stack:
        waiting, tight = [], []
        for key, (label, settings) in SERVERS.items():
            server = start_server(place, f"governance-{key}", **settings)
            stack.callback(server.stop)
            server.settle()
            for candidates, suffix, how in ((waiting, "", PAUSE_SECONDS), (tight, "_tight", 0)):
                words = f"{label}, {'one per 100 ms' if how else 'without a pause'}"
                candidates.append(Asked({key + suffix: words}, Execute(server.address)))
                stack.callback(candidates[-1].close)
        taken = latency.Turns(tight, often)
        taken.warm_up(WARM_UP)
        taken.take(turns, progress)
        paced = latency.paced(waiting, REQUESTS, PAUSE_SECONDS, progress)
        return {**paced, **taken.results()}
