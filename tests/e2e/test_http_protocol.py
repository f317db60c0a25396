"""HTTP itself: connections that stay, requests in a row, slow and many clients."""

import concurrent.futures
import http.client
import json

import pytest

from support_binary import COMMAND_SECONDS, environment
from support_server import read_answer, status_of_bytes


@pytest.mark.parametrize(("path", "status"), [("/health", "healthy"), ("/ready", "ready")])
def test_health(open_server, path, status):
    answer = open_server.request("GET", path)
    assert (answer.status, answer.json) == (200, {"status": status})
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_query_is_no_part_of_the_path(open_server):
    assert open_server.request("GET", "/health?verbose=1&path=/x").status == 200


def test_connection_stays_open(open_server):
    connection = http.client.HTTPConnection(open_server.host, open_server.port,
                                            timeout=COMMAND_SECONDS)
    ports = set()
    for number in range(5):
        connection.request("POST", "/execute", json.dumps({"code": f"{number}*2"}),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert json.loads(answer.read())["result"] == number * 2
        ports.add(connection.sock.getsockname()[1])
    connection.close()
    assert len(ports) == 1


def test_connection_stays_open_after_a_refusal(open_server):
    with open_server.connect() as connection:
        for path, status in (("/nothing", 404), ("/execute", 405), ("/health", 200)):
            head = f"GET {path} HTTP/1.1\r\nHost: {open_server.address}\r\n\r\n"
            connection.sendall(head.encode())
            assert read_answer(connection).status == status


def test_connection_closes_when_asked(open_server):
    head = f"GET /health HTTP/1.1\r\nHost: {open_server.address}\r\nConnection: close\r\n\r\n"
    assert status_of_bytes(open_server.raw(head.encode())) == 200  # read to the end


def test_http_1_0_is_answered_and_closed(open_server):
    head = f"GET /health HTTP/1.0\r\nHost: {open_server.address}\r\n\r\n"
    assert b'{"status":"healthy"}' in open_server.raw(head.encode())


def answers_in(received):
    """The answers in a stream of bytes, cut by their Content-Length."""
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields[b"content-length"])
        found.append(json.loads(rest[:length]))
        received = rest[length:]
    return found


def test_requests_sent_together_are_answered_in_order(open_server):
    requests = [open_server.execute_bytes(f"import time; time.sleep({0.3 - n / 10}); {n}")
                for n in range(3)]
    last = f"GET /health HTTP/1.1\r\nHost: {open_server.address}\r\nConnection: close\r\n\r\n"
    answers = answers_in(open_server.raw(b"".join(requests) + last.encode()))
    assert [one.get("result") for one in answers] == [0, 1, 2, None]
    assert answers[3] == {"status": "healthy"}


def test_request_that_comes_byte_by_byte(open_server):
    with open_server.connect() as connection:
        for byte in open_server.execute_bytes("6*7"):
            connection.sendall(bytes([byte]))
        assert read_answer(connection).json["result"] == 42


def test_chunked_body(open_server):
    body = json.dumps({"code": "6*7"}).encode()
    chunks = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
    head = (f"POST /execute HTTP/1.1\r\nHost: {open_server.address}\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
    assert answers_in(open_server.raw(head + chunks))[0]["result"] == 42


def test_body_is_asked_for(open_server):
    request = open_server.execute_bytes("6*7", "Expect: 100-continue")
    head, _, body = request.partition(b"\r\n\r\n")
    with open_server.connect() as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert read_answer(connection).json["result"] == 42


@pytest.mark.parametrize("path", ["/health", "/ready", "/nothing", "/execute"])
def test_head_is_get_without_the_body(open_server, path):
    with open_server.connect() as connection:
        head = f"HEAD {path} HTTP/1.1\r\nHost: {open_server.address}\r\n\r\n"
        connection.sendall(head.encode())
        response = http.client.HTTPResponse(connection, method="HEAD")
        response.begin()
        assert response.read() == b""
        get = open_server.request("GET", path)
        assert response.status == get.status
        assert response.headers["Content-Length"] == get.headers["Content-Length"]
        connection.sendall(head.replace("HEAD", "GET").encode())
        assert read_answer(connection).body == get.body  # nothing stood between the two


def test_slow_clients_do_not_hold_up_others(open_server):
    slow = [open_server.connect() for _ in range(20)]
    request = open_server.execute_bytes("6*7")
    for connection in slow:
        connection.sendall(request[:40])
    assert open_server.execute("'quick'")["result"] == "quick"
    for connection in slow:
        connection.sendall(request[40:])
    for connection in slow:
        assert read_answer(connection).json["result"] == 42
        connection.close()


def test_client_that_does_not_read_does_not_hold_up_others(open_server):
    code = "import sys; sys.stdout.write('x' * 1_000_000)"
    lazy = [open_server.start_run(code) for _ in range(4)]
    for _ in range(3):
        assert open_server.execute("'quick'")["result"] == "quick"
    for connection in lazy:
        assert read_answer(connection).json["stdout_bytes"] == 1_000_000
        connection.close()


def test_long_run_does_not_hold_up_others(open_server):
    with open_server.start_run("import time; time.sleep(1000)"):
        for number in range(3):
            assert open_server.execute(str(number))["result"] == number


def test_forty_runs_at_once_are_all_right(open_server):
    code = """
import os, time
name = str({number}) * 1000
open("/workspace/mine", "w").write(name)
time.sleep(0.05)
print(open("/workspace/mine").read() == name, len(os.listdir("/workspace")))
{number} * 3
"""
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        records = list(pool.map(
            lambda number: open_server.execute(code.format(number=number)), range(40)))
    assert [record["result"] for record in records] == [number * 3 for number in range(40)]
    assert {record["stdout"] for record in records} == {"True 1\n"}
    assert len({record["execution_id"] for record in records}) == 40


def test_more_than_can_wait_is_refused(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_LIMITS_CONCURRENT_RUNS="1",
                                                          BELLJAR_LIMITS_QUEUED_RUNS="2"))
    held = [server.start_run("import time; time.sleep(1000)") for _ in range(2)]
    answers = []
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(server.request, "POST", "/execute", {"code": "1"})
                   for _ in range(6)]
        done, _ = concurrent.futures.wait(waiting, COMMAND_SECONDS,
                                          concurrent.futures.FIRST_COMPLETED)
        answers += [one.result() for one in done]
        for connection in held:
            connection.close()
        answers += [one.result() for one in waiting if one not in done]
    assert {answer.status for answer in answers} == {200, 503}
    refused = next(answer for answer in answers if answer.status == 503)
    assert int(refused.headers["Retry-After"]) > 0
    assert len(refused.json["error"]) > 20
