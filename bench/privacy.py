"""What masking costs: lines of a log that a program prints, and one hello, with and without it.

    python3 -B bench/privacy.py      alone, as root

Both servers take turns; the program and its lines are the same.
"""

import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from stats import WrongAnswer, median
from support_binary import environment
from support_server import Server

MEGABYTES = 32
HELLOS = 50
# About one address and one other value in each line, as access logs have them.
PRINT = f"""
import sys
line = ('2026-05-01T12:00:07.123Z INFO [worker-3] id=550e8400-e29b-41d4-a716-446655440000 '
        'GET /api/v1/items/17?page=2 200 12ms ip=10.0.3.7 user=ann@example.com '
        'agent="Mozilla/5.0 Chrome/120.0.0.0"\\n')
block = line * (1_000_000 // len(line))
for _ in range({MEGABYTES}): sys.stdout.write(block)
"""


def seconds_of(server, code):
    record = server.execute(code)
    if record["status"] != "ok":
        raise WrongAnswer(str(record)[:300])
    return record["usage"]["wall_seconds"]


def hello_of(server):
    begun = time.monotonic()
    seconds_of(server, "print('hello')")
    return time.monotonic() - begun


def start(place, name, **settings):
    server = Server(place / name, "--auth", "none",
                    env=environment(LOG_LEVEL="error", BELLJAR_POOL_READY="2", **settings))
    server.settle()
    return server


def measure(place, rounds, progress):
    """Megabytes per second that come out of a jar, and the median of a hello."""
    servers = {"without": start(place, "unmasked"),
               "masked": start(place, "masked", BELLJAR_PRIVACY_MASK="all")}
    try:
        printed = {name: [] for name in servers}
        hellos = {name: [] for name in servers}
        for turn in range(rounds):
            progress(f"{turn + 1} of {rounds}")
            for name, server in servers.items():
                printed[name].append(seconds_of(server, PRINT))
                hellos[name] += [hello_of(server) for _ in range(HELLOS)]
        return {name: {"mb_per_second": round(MEGABYTES / median(printed[name]), 1),
                       "hello_ms": round(median(hellos[name]) * 1000, 3)} for name in servers}
    finally:
        for server in servers.values():
            server.stop()


def main():
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        for name, row in measure(pathlib.Path(place), 3, lambda text: None).items():
            print(f"{name:8} {row['mb_per_second']:8.1f} MB/s   hello {row['hello_ms']:.2f} ms")


if __name__ == "__main__":
    main()
