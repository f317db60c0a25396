"""What a cell of a session costs, by how much its state holds; and a thousand jars at once."""

import json
import time

import wire
from candidates_server import READY_JARS, answer_of, right_record
from stats import Refused, rounded, summary
from support_binary import environment
from support_processes import guests_of
from support_server import Server

STATES = {"nothing": "x = 0", "10 MB": "x = bytearray(10 ** 7); x[::4096] = x[::4096]",
          "1 GB": "x = bytearray(10 ** 9); x[::4096] = x[::4096]"}
CELL = "y = 1\ny"
CROWD = 1000
CROWD_SECONDS = 60
CROWD_PACE = 0.012  # all at once, the last would not be set up within its ten seconds
FORKED = "import os\nos.getppid()"


def ask(line, address, **arguments):
    """The record of a run that went well, and its time."""
    request = wire.post(address, "/execute", json.dumps(arguments).encode())
    start = time.perf_counter()
    answer = line.ask(request)
    elapsed = (time.perf_counter() - start) * 1000
    return right_record(answer_of(*answer)), elapsed


def measure(server, cells, progress):
    """{state: summary} of small cells after one that made the state."""
    found = {}
    line = wire.Line(server.address)
    for state, code in STATES.items():
        progress(state)
        first, _ = ask(line, server.address, code=code, session=True, memory_limit="3g")
        session = {"session_id": first["session_id"], "memory_limit": "3g"}
        times = []
        for _ in range(cells):
            record, elapsed = ask(line, server.address, code=CELL, **session)
            if record["result"] != 1:
                raise Refused(f"a cell gave {record['result']}")
            times.append(elapsed)
        found[state] = summary(times)
        line.ask(wire.delete(server.address, f"/v1/sessions/{first['session_id']}"))
    line.close()
    return found


def available_kib():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))


def crowd(place):
    """{"jars", "seconds", "kib_each", "right"} of that many programs that sleep at once."""
    server = Server(place / "crowd", "--auth", "none", env=environment(
        LOG_LEVEL="error", BELLJAR_POOL_READY=str(READY_JARS),
        BELLJAR_LIMITS_CONCURRENT_RUNS=str(CROWD),
        BELLJAR_LIMITS_CONNECTIONS=str(CROWD + 100), BELLJAR_LIMITS_QUEUED_RUNS=str(CROWD),
        BELLJAR_LIMITS_QUEUE_TIME="2m"))
    try:
        first = wire.Line(server.address)
        while ask(first, server.address, code=FORKED)[0]["result"] != 0:
            time.sleep(0.1)  # until there is a warm interpreter to fork from
        first.close()
        body = {"code": f"import time; time.sleep({CROWD_SECONDS}); print(6 * 7)", "timeout": 240}
        request = wire.post(server.address, "/execute", json.dumps(body).encode())
        before, start = available_kib(), time.monotonic()
        lines = [wire.Line(server.address) for _ in range(CROWD)]
        for line in lines:
            line.send(request)
            time.sleep(CROWD_PACE)
        most = 0
        while most < CROWD and time.monotonic() - start < CROWD_SECONDS - 5:
            most = max(most, len(guests_of(server.pid)))
            time.sleep(0.5)
        found = {"jars": most, "seconds": rounded(time.monotonic() - start),
                 "kib_each": round((before - available_kib()) / max(1, most)), "right": 0}
        for line in lines:
            while (answer := line.receive_some()) is None:
                pass
            found["right"] += right_record(answer_of(*answer))["stdout"] == "42\n"
            line.close()
        return found
    finally:
        server.stop()
