"""A server that is asked to end: what runs may finish, and everybody is told."""

import signal

import pytest

from support_binary import COMMAND_SECONDS, environment, wait_until
from support_processes import guests_of
from support_server import read_answer, read_to_end

SLEEP = "import time; time.sleep(1000)"
WAIT_FOR_A_SECOND = "import time\ntime.sleep(2)\n'finished'"


def get(server, path):
    return f"GET {path} HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode()


def is_refused(server):
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_what_runs_may_finish(own_server):
    server = own_server(env=environment(BELLJAR_SERVER_SHUTDOWN_TIME="30s"))
    run = server.start_run(WAIT_FOR_A_SECOND)
    wait_until(lambda: guests_of(server.pid), "the program runs")
    kept = [server.connect() for _ in range(2)]
    for connection in kept:
        connection.sendall(get(server, "/health"))
        assert read_answer(connection).status == 200
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_refused(server), "nobody new is let in")
    kept[0].sendall(get(server, "/ready"))
    kept[1].sendall(server.execute_bytes("1"))
    for connection in kept:
        answer = read_answer(connection)
        assert (answer.status, answer.headers["Connection"]) == (503, "close")
        assert connection.recv(1) == b""
        connection.close()
    with run:
        answer = read_answer(run)
        assert answer.json["result"] == "finished"
        assert answer.headers["Connection"] == "close"
    assert server.process.wait(timeout=COMMAND_SECONDS) == 0


def test_time_is_bounded_and_streams_are_told(own_server):
    server = own_server(env=environment(BELLJAR_SERVER_SHUTDOWN_TIME="500ms"))
    token = f"Authorization: Bearer {server.token}\r\n"
    watcher = server.connect()
    watcher.sendall(f"GET /mcp/events HTTP/1.1\r\nHost: {server.address}\r\n{token}"
                    "Accept: text/event-stream\r\n\r\n".encode())
    assert b"200 OK" in watcher.recv(65536)
    run = server.start_run(SLEEP)
    wait_until(lambda: guests_of(server.pid), "the program runs")
    assert server.stop() == 0
    with run, watcher:
        answer = read_answer(run)
        assert (answer.json["status"], answer.headers["Connection"]) == ("cancelled", "close")
        told = read_to_end(watcher)
        assert b": the server is stopping\n\n" in told
        assert told.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_ends_at_once(own_server, second):
    server = own_server(env=environment(BELLJAR_SERVER_SHUTDOWN_TIME="1h"))
    run = server.start_run(SLEEP)
    wait_until(lambda: guests_of(server.pid), "the program runs")
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_refused(server), "it is stopping")
    assert server.stop(second) == 1
    run.close()
    wait_until(lambda: not guests_of(), "the program is gone", 10)


def test_listeners_do_not_delay_the_end(own_server):
    server = own_server(env=environment(BELLJAR_SERVER_SHUTDOWN_TIME="1h"))
    watcher = server.connect()
    watcher.sendall(f"GET /mcp/events HTTP/1.1\r\nHost: {server.address}\r\n"
                    f"Authorization: Bearer {server.token}\r\n\r\n".encode())
    assert b"200 OK" in watcher.recv(65536)
    assert server.stop() == 0
    with watcher:
        assert b"the server is stopping" in read_to_end(watcher)
