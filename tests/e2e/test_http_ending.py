"""Runs and servers that are ended from outside."""

import signal

import pytest

from support_binary import environment, wait_until
from support_processes import descendants, guests_of
from support_server import read_answer

SLEEP = "import time; print('started', flush=True); time.sleep(1000)"
BUSY = "import os\nos.fork()\nos.fork()\nwhile True: pass"


@pytest.mark.parametrize("code", [SLEEP, BUSY])
def test_client_that_leaves_ends_its_run(open_server, code):
    connection = open_server.start_run(code)
    wait_until(lambda: guests_of(open_server.pid), "the program runs")
    connection.close()
    wait_until(lambda: not guests_of(open_server.pid), "the program is gone", 10)


def test_client_that_leaves_takes_nobody_with_it(open_server):
    leaver = open_server.start_run(SLEEP)
    stayer = open_server.start_run("import time\ntime.sleep(2)\n'stayed'")
    wait_until(lambda: len(guests_of(open_server.pid)) == 2, "both programs run")
    leaver.close()
    with stayer:
        assert read_answer(stayer).json["result"] == "stayed"


def test_client_that_leaves_frees_its_place(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_CONCURRENT_RUNS="1"))
    with server.start_run(SLEEP):
        wait_until(lambda: guests_of(server.pid), "the program runs")
        waiting = server.start_run("'later'")
    with waiting:
        assert read_answer(waiting).json["result"] == "later"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_cancels_what_runs(own_server, number):
    server = own_server()
    runs = [server.start_run(SLEEP) for _ in range(3)]
    wait_until(lambda: len(guests_of(server.pid)) == 3, "the programs run")
    assert server.stop(number) == 0
    assert not guests_of()
    for run in runs:
        with run:
            record = read_answer(run).json
            assert (record["status"], record["success"]) == ("cancelled", False)


def test_stop_ends_waiting_runs_and_idle_connections(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_CONCURRENT_RUNS="1"))
    idle = server.connect()
    half = server.connect()
    half.sendall(b"POST /execute HTTP/1.1\r\n")
    runs = [server.start_run(SLEEP) for _ in range(3)]
    wait_until(lambda: guests_of(server.pid), "the first program runs")
    assert server.stop() == 0
    for connection in (idle, half, *runs):
        connection.close()


def test_idle_server_stops_at_once(own_server):
    server = own_server()
    assert server.stop() == 0
    assert not [one for one in descendants() if one.pid == server.pid]


def test_stopped_server_takes_no_more(own_server):
    server = own_server()
    assert server.stop() == 0
    with pytest.raises(ConnectionRefusedError):
        server.request("GET", "/health")


def test_port_and_data_are_free_after_the_stop(own_server):
    first = own_server()
    first.execute("1")
    assert first.stop() == 0
    second = own_server(listen=first.address, data_directory=first.data_directory)
    assert second.address == first.address
    assert second.execute("6*7")["result"] == 42
