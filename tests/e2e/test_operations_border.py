"""What an HTTP server must not take: requests in two readings, slow ones, large ones, many."""

import re
import socket
import threading
import time

import pytest

from support_binary import environment, wait_until
from support_server import Server, read_answer, read_to_end, status_of_bytes

KIBIBYTES_EACH = 20
IDLE = 2000


@pytest.fixture(scope="module")
def border(session_place):
    """A server whose patience is short."""
    server = Server(session_place / "border", "--auth", "none", env=environment(
        BELLJAR_LIMITS_HEAD_TIME="1s", BELLJAR_LIMITS_BODY_TIME="1s",
        BELLJAR_LIMITS_BODY_RATE="1k", BELLJAR_LIMITS_CONNECTIONS=str(IDLE + 100),
        BELLJAR_LIMITS_IDLE_TIME="10m"))
    server.settle()
    yield server
    assert server.stop() == 0


HOST = b"Host: localhost\r\n"
SECOND = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def post(headers, body=b""):
    return b"POST /execute HTTP/1.1\r\n" + HOST + headers + b"\r\n" + body


def get(target):
    return b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n"


SMUGGLED = {
    "length and chunks": post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                              b"0\r\n\r\n"),
    "chunks and length": post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                              b"0\r\n\r\n"),
    "two lengths": post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello"),
    "the same length twice": post(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
    "a list of lengths": post(b"Content-Length: 5, 5\r\n", b"hello"),
    "length with a sign": post(b"Content-Length: +5\r\n", b"hello"),
    "length in hexadecimal": post(b"Content-Length: 0x5\r\n", b"hello"),
    "chunked twice": post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                          b"0\r\n\r\n"),
    "chunked twice in one line": post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"),
    "unknown encoding": post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    "encoding with a tab": post(b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n"),
    "identity": post(b"Transfer-Encoding: identity\r\n"),
    "chunks in HTTP/1.0": (b"POST /execute HTTP/1.0\r\n" + HOST +
                           b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "folded line": post(b"X-A: b\r\n Content-Length: 5\r\n", b"hello"),
    "folded with a tab": post(b"X-A: b\r\n\tc\r\n"),
    "space before the colon": post(b"Content-Length : 5\r\n", b"hello"),
    "space before a name": b"GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "bare line feeds": b"GET /health HTTP/1.1\nHost: localhost\n\n",
    "one bare line feed": post(b"X-A: b\nContent-Length: 5\r\n", b"hello"),
    "bare carriage return": post(b"X-A: b\rContent-Length: 5\r\n", b"hello"),
    "NUL in a header": post(b"X-A: b\0c\r\n"),
    "NUL in a name": post(b"X\0A: b\r\n"),
    "absolute target": get(b"http://localhost/health"),
    "authority as target": b"CONNECT localhost:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "no slash": get(b"health"),
    "encoded line break": get(b"/health%0d%0aX-A:%20b"),
    "encoded line feed": get(b"/health%0A"),
    "encoded NUL": get(b"/health%00"),
    "encoded line break in the query": get(b"/health?a=%0D%0Ab"),
    "two spaces": b"GET  /health HTTP/1.1\r\n" + HOST + b"\r\n",
    "two hosts": b"GET /health HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "chunk size is a word": post(b"Transfer-Encoding: chunked\r\n", b"zz\r\n0\r\n\r\n"),
    "chunk size is negative": post(b"Transfer-Encoding: chunked\r\n", b"-1\r\nx\r\n0\r\n\r\n"),
    "chunk size with 0x": post(b"Transfer-Encoding: chunked\r\n", b"0x1\r\nx\r\n0\r\n\r\n"),
    "chunk size too large": post(b"Transfer-Encoding: chunked\r\n", b"F" * 17 + b"\r\nx"),
    "chunk without its end": post(b"Transfer-Encoding: chunked\r\n", b"1\r\nxGET / HTTP/1.1\r\n"),
    "chunk with a bare line feed": post(b"Transfer-Encoding: chunked\r\n", b"1\nx\n0\n\n"),
}


def answers(received):
    return len(re.findall(rb"HTTP/1\.1 \d\d\d ", received))


@pytest.mark.parametrize("name", SMUGGLED)
def test_request_with_two_readings_is_the_last(border, name):
    received = border.raw(SMUGGLED[name] + SECOND)
    assert status_of_bytes(received) in ({400, 413} if "large" in name else {400}), received[:300]
    assert b"Connection: close" in received
    assert answers(received) == 1, "what follows is nobody's request"


def test_headers_of_a_megabyte_are_431(border):
    received = border.raw(b"GET /health HTTP/1.1\r\nX-A: " + b"x" * (1 << 20) + b"\r\n\r\n")
    assert status_of_bytes(received) == 431
    assert answers(received) == 1


def test_many_headers_and_long_targets_are_refused(border):
    many = b"".join(b"X-%d: y\r\n" % number for number in range(200))
    assert status_of_bytes(border.raw(get(b"/health")[:-2] + many + b"\r\n")) == 431
    assert status_of_bytes(border.raw(get(b"/" + b"x" * 20_000))) == 414


def test_pipelined_requests_are_answered_in_order(border):
    one = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    received = border.raw(one * 500 + SECOND)
    assert received.count(b"HTTP/1.1 200 OK") == 501


def trickle(server, head, rest, seconds):
    """Sends the rest byte by byte; how long the server takes it."""
    start = time.monotonic()
    with server.connect() as connection:
        connection.sendall(head)
        closed = threading.Event()
        reader = threading.Thread(target=lambda: (read_to_end(connection), closed.set()))
        reader.start()
        for byte in rest:
            if closed.wait(0.05) or time.monotonic() - start > seconds:
                break
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                break
        closed.wait(seconds)
        connection.shutdown(socket.SHUT_RDWR) if not closed.is_set() else None
        reader.join()
    return time.monotonic() - start


def test_slow_clients_run_out_of_time(border):
    started = [
        ("head", b"GET /health HTTP/1.1\r\nX-A: ", b"x" * 1000),
        ("body", post(b"Content-Length: 100000\r\n"), b" " * 1000),
    ]
    took = {}
    threads = [threading.Thread(target=lambda name=name, head=head, rest=rest: took.update(
        {name: trickle(border, head, rest, 15)})) for name, head, rest in started]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seconds < 10 for seconds in took.values()), took
    assert border.request("GET", "/health").status == 200


def memory(server):
    with open(f"/proc/{server.pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Rss:"))


def test_idle_connections_cost_little(border):
    server = border
    server.execute("1")
    question = f"GET /health HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode()
    before = memory(server)
    held = [server.connect() for _ in range(IDLE)]
    for connection in held:
        connection.sendall(question)
    for connection in held:
        assert read_answer(connection).status == 200
    each = (memory(server) - before) / IDLE
    for connection in held:
        connection.sendall(question)
        assert read_answer(connection).status == 200, "all are still served"
    for connection in held:
        connection.close()
    wait_until(lambda: len(server.descriptor_counts()) and
               server.descriptor_counts()[server.pid] < IDLE, "the connections are gone")
    assert each < KIBIBYTES_EACH, f"{each:.1f} KiB for each"
