#!/usr/bin/env python3
"""Kills a server at random moments while it answers, and looks for the records of what it answered.

    tests/soak/audit_kills.py            a thousand times
    tests/soak/audit_kills.py 50         fewer

Each run whose answer arrived must be in the audit trail, and the trail must verify.
"""

import argparse
import http.client
import json
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

# The server is that of the end-to-end tests.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from support_audit import recorded_runs, verify
from support_server import Server

CALLERS = 4
LONGEST = 0.25  # seconds from the first answer to the kill
REPORTED_EACH = 25


class Kills:
    """One data directory through many servers."""

    def __init__(self, place, seed):
        self.place, self.data = place, place / "data"
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.runs = set()
        self.answered = 0
        place.mkdir(exist_ok=True)

    def once(self):
        """Starts a server, keeps it busy, and kills it some time after its first answers."""
        server = Server(self.place / "server", data_directory=self.data)
        first = threading.Event()
        callers = [threading.Thread(target=self.keep_asking, args=(server, first))
                   for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        try:
            assert first.wait(60), "nothing was answered"
            time.sleep(self.random.random() * LONGEST)
        finally:
            server.stop(signal.SIGKILL)
            for caller in callers:
                caller.join()

    def keep_asking(self, server, first):
        """Until the server is gone."""
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        headers = {"Content-Type": "application/json", **server.headers()}
        try:
            while True:
                connection.request("POST", "/execute", '{"code": "6*7"}', headers)
                answer = connection.getresponse()
                body = answer.read()
                if answer.status == 200:
                    with self.lock:
                        self.runs.add(json.loads(body)["execution_id"])
                        self.answered += 1
                    first.set()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def missing(self):
        """Runs that were answered and are not in the trail."""
        return self.runs - recorded_runs(self.data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("count", nargs="?", type=int, default=1000, help="kills (default 1000)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix="audit-kills-"))
    place.chmod(0o755)
    kills = Kills(place, arguments.seed)
    try:
        for number in range(1, arguments.count + 1):
            kills.once()
            if number % REPORTED_EACH == 0 or number == arguments.count:
                report = verify(kills.data)
                missing = kills.missing()
                print(f"{number} kills, {kills.answered} runs answered, {len(missing)} missing, "
                      f"{report['records']} records, intact: {report['intact']}", flush=True)
                if missing or not report["intact"]:
                    print(report["fault"], sorted(missing)[:10])
                    return 1
    finally:
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
