"""How many `tools/list` a server answers: the protocol alone, without any jar.

The client does next to nothing: it sends the same bytes and compares what comes back with the
first answer. So that its own share does not count, the server's processor time is taken too:
requests per second of that are what one core can do.
"""

import json
import os
import pathlib
import selectors
import time

import wire
from candidates_server import MCP_HEADERS
from stats import NotHere, WrongAnswer, rounded
from support_mcp import modern, request

CONNECTIONS = 8
# Requests on their way at once on each connection.
DEPTHS = {"one at a time": 1, "pipelined": 16}


def question(address):
    body = json.dumps(modern(request(1, "tools/list"))).encode()
    return wire.post(address, "/mcp", body, (*MCP_HEADERS, ("Mcp-Method", "tools/list")))


def first_answer(address):
    """All bytes of it, checked."""
    with wire.connect(address) as connection:
        connection.sendall(question(address))
        received = bytearray()
        while (answer := wire.take_answer(received)) is None:
            part = connection.recv(65536)
            if not part:
                raise NotHere("the server closed the connection")
            received += part
    status, body, _ = answer
    if status != 200 or b'"execute_code"' not in body:
        raise NotHere(f"status {status}: {body[:200].decode(errors='replace')}")
    return bytes(received)


def processor_seconds(pid):
    """User and system time of all threads of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stream:
    """One connection that always has the same number of requests on its way."""

    def __init__(self, address, depth, expected):
        self.connection = wire.connect(address)
        self.request, self.expected = question(address), expected
        self.received = bytearray()
        self.connection.sendall(self.request * depth)

    def take(self):
        """How many answers have come since; as many requests follow."""
        self.received += self.connection.recv(1 << 20)
        count, _ = divmod(len(self.received), len(self.expected))
        if count:
            used = count * len(self.expected)
            if self.received[:used] != self.expected * count:
                raise WrongAnswer("an answer to tools/list is not like the first one")
            del self.received[:used]
            self.connection.sendall(self.request * count)
        return count


def measure(server, seconds):
    """{name: {"per_second", "per_core_second", ...}}"""
    found = {}
    for name, depth in DEPTHS.items():
        expected = first_answer(server.address)
        streams = [Stream(server.address, depth, expected) for _ in range(CONNECTIONS)]
        before, start = processor_seconds(server.pid), time.perf_counter()
        answers = count_answers(streams, seconds)
        elapsed, spent = time.perf_counter() - start, processor_seconds(server.pid) - before
        for stream in streams:
            stream.connection.close()
        found[name] = {"connections": CONNECTIONS, "depth": depth, "answers": answers,
                       "answer_bytes": len(expected), "per_second": rounded(answers / elapsed),
                       "per_core_second": rounded(answers / max(spent, 0.01)),
                       "server_cores": rounded(spent / elapsed)}
    return found


def count_answers(streams, seconds):
    answers, end = 0, time.perf_counter() + seconds
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.connection, selectors.EVENT_READ, stream)
        while time.perf_counter() < end:
            for key, _ in selector.select(1):
                answers += key.data.take()
    return answers
