"""A thousand connections at once, a hundred of them with a program that runs and tells of it."""

import asyncio
import json
import pathlib

from support_binary import environment, sanitizer_options
from support_mcp import call, request
from support_wire import enveloped, event_data, modern_headers

CONNECTIONS = 1000
RUNNING = 100
LINES = 20
PINGS = 5
ROUNDS = 2
SECONDS = 120
GROWTH_MIB = 16

COUNTS = f"""
import time
for number in range({LINES}):
    print(number, flush=True)
    time.sleep(0.2)
"""
PRINTED = "".join(f"{number}\n" for number in range(LINES))


class Client:
    """One connection that stays; its requests go one after the other."""

    def __init__(self, server):
        self.server = server
        self.reader = self.writer = None

    async def connect(self):
        self.reader, self.writer = await asyncio.open_connection(self.server.host,
                                                                 self.server.port)

    async def post(self, message, headers):
        """The messages of the answer, in the order in which they came."""
        body = json.dumps(message).encode()
        lines = ["POST /mcp HTTP/1.1", f"Host: {self.server.address}",
                 "Content-Type: application/json", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 200"), head
        if "transfer-encoding: chunked" in head:
            text = (await self.read_chunks()).decode()
        else:
            length = int(head.split("content-length:")[1].split()[0])
            text = (await self.reader.readexactly(length)).decode()
        if "text/event-stream" in head:
            return [json.loads(data) for data in event_data(text)]
        return [json.loads(text)]

    async def read_chunks(self):
        found = b""
        while True:
            size = int(await self.reader.readline(), 16)
            found += (await self.reader.readexactly(size + 2))[:-2]
            if size == 0:
                return found

    async def close(self):
        self.writer.close()
        await self.writer.wait_closed()


async def run_program(client, number):
    message = call(number, COUNTS, timeout=100)
    *notices, answer = await client.post(enveloped(message, progressToken=f"token {number}"),
                                         modern_headers(message))
    assert answer["id"] == number and answer["result"]["structuredContent"]["stdout"] == PRINTED
    params = [one["params"] for one in notices]
    assert {one["progressToken"] for one in params} == {f"token {number}"}
    progress = [one["progress"] for one in params]
    assert progress == sorted(set(progress)), f"not increasing: {progress}"
    assert "".join(one["message"] for one in params) == PRINTED
    return len(params)


async def ping(client, number):
    message = request(number, "tools/list")
    for _ in range(PINGS):
        answer, = await client.post(enveloped(message), modern_headers(message))
        assert answer["id"] == number and answer["result"]["tools"]


def memory_mib(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


async def crowd(server):
    clients = [Client(server) for _ in range(CONNECTIONS)]
    for client in clients:
        await client.connect()
    memory = []
    for _ in range(ROUNDS):
        told = await asyncio.gather(
            *(run_program(client, number) for number, client in enumerate(clients[:RUNNING])),
            *(ping(client, number) for number, client in enumerate(clients[RUNNING:])))
        assert sum(told[:RUNNING]) > RUNNING, "told of more than the end"
        memory.append(memory_mib(server))
    for client in clients:
        await client.close()
    return memory


async def within_time(server):
    async with asyncio.timeout(SECONDS):
        return await crowd(server)


def test_crowd(own_server):
    settings = environment(BELLJAR_LIMITS_CONCURRENT_RUNS=str(RUNNING),
                           BELLJAR_LIMITS_CONCURRENT_RUNS_PER_PRINCIPAL=str(RUNNING))
    server = own_server("--auth", "none", env=settings)
    memory = asyncio.run(within_time(server))
    print(f"memory after each round: {memory} MiB")
    if not sanitizer_options():  # they keep what was freed
        assert memory[-1] - memory[0] < GROWTH_MIB, memory
    assert server.execute("6*7")["result"] == 42
    for line in server.errors.splitlines():
        assert json.loads(line)["level"] in ("debug", "info"), line
