"""What a profile that scans and the audit trail add to a warm hello: three servers take turns."""

import contextlib

import latency
from candidates_server import Asked, Execute, start_server

WARM_UP = 3
SERVERS = {
    "with": ("POST /execute, profile basic, audit trail",
             {"BELLJAR_POLICY_PROFILE": "basic", "BELLJAR_AUDIT_ENABLED": "true"}),
    "audit": ("POST /execute, audit trail",
              {"BELLJAR_POLICY_PROFILE": "standard", "BELLJAR_AUDIT_ENABLED": "true"}),
    "without": ("POST /execute, neither",
                {"BELLJAR_POLICY_PROFILE": "standard", "BELLJAR_AUDIT_ENABLED": "false"})}


def measure(place, turns, often, progress):
    """A row for each, by the names above."""
    with contextlib.ExitStack() as stack:
        candidates = []
        for key, (label, settings) in SERVERS.items():
            server = start_server(place, f"governance-{key}", **settings)
            stack.callback(server.stop)
            server.settle()
            candidate = Asked({key: label}, Execute(server.address))
            stack.callback(candidate.close)
            candidates.append(candidate)
        taken = latency.Turns(candidates, often)
        taken.warm_up(WARM_UP)
        taken.take(turns, progress)
        return taken.results()
