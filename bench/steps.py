"""Where the time of one hello goes, as the server itself tells: medians of each step."""

import json

import wire
from candidates_server import answer_of, program, right_record
from stats import median, rounded

STEPS = ("admission", "jar", "guest_start", "run", "collect", "record")
PAUSE_SECONDS = 0.03


def measure(servers, runs, sleep):
    """{name of the server: {step: milliseconds}}"""
    return {name: medians(server.address, runs, sleep) for name, server in servers.items()}


def medians(address, runs, sleep):
    line = wire.Line(address)
    body = json.dumps({"code": program("python", "1"), "debug": True}).encode()
    request, found = wire.post(address, "/execute", body), []
    for _ in range(runs):
        sleep(PAUSE_SECONDS)
        found.append(right_record(answer_of(*line.ask(request)))["debug"])
    line.close()
    return {step: rounded(median([one[f"{step}_milliseconds"] for one in found]))
            for step in STEPS}
