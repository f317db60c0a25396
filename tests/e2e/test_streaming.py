"""Output that reaches the caller while the program runs."""

import json
import socket

import pytest

from support_binary import wait_until
from support_events import EventStream
from support_processes import guests_of

UNTIL_KILLED = "import time\nprint('begun')\nwhile True: time.sleep(0.01)"
# More than any socket buffer holds, and less than ends a run.
FLOOD = "import sys\nfor _ in range(600): sys.stdout.write('x' * 99999 + '\\n')\n'done'"


def names_of(events):
    return [event.name for event in events]


def test_output_comes_before_the_program_ends(open_server):
    with EventStream(open_server, {"code": UNTIL_KILLED}) as stream:
        assert stream.status == 200
        assert stream.headers["Content-Type"] == "text/event-stream"
        assert stream.headers["Transfer-Encoding"] == "chunked"
        started = stream.next()
        assert (started.name, started.data["language"]) == ("started", "python")
        output = stream.next()
        assert (output.name, output.data) == ("stdout", {"text": "begun\n"})
        assert guests_of(open_server.pid), "it must still run"
    wait_until(lambda: not guests_of(open_server.pid), "the program is gone", 10)


def test_events_end_with_the_record(open_server):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6*7"
    with EventStream(open_server, {"code": code}) as stream:
        events = stream.rest()
    assert names_of(events)[0] == "started" and names_of(events)[-1] == "result"
    record = events[-1].data
    assert record["execution_id"] == events[0].data["execution_id"]
    assert (record["result"], record["stdout"], record["stderr"]) == (42, "out\n", "err\n")
    assert [event.data["text"] for event in events if event.name == "stdout"] == ["out\n"]
    assert [event.data["text"] for event in events if event.name == "stderr"] == ["err\n"]
    assert [event.id for event in events] == [str(index + 1) for index in range(len(events))]


def test_characters_stay_whole(open_server):
    code = ("import os, time\n"
            "for byte in '\\u20ac\\U0001f600'.encode() + b'\\xff\\xe2\\x82':\n"
            "    os.write(1, bytes([byte])); time.sleep(0.02)\n")
    with EventStream(open_server, {"code": code}) as stream:
        events = stream.rest()
    text = "".join(event.data["text"] for event in events if event.name == "stdout")
    assert text == events[-1].data["stdout"] == "\u20ac\U0001f600\ufffd\ufffd\ufffd"


def test_connection_serves_the_next_request(open_server):
    with open_server.connect() as connection:
        for number in (1, 2):
            stream = EventStream(open_server, {"code": str(number)}, connection=connection)
            assert stream.rest()[-1].data["result"] == number


def test_http_1_0_gets_no_chunks(open_server):
    with EventStream(open_server, {"code": "print(1)"}, version="HTTP/1.0") as stream:
        assert "Transfer-Encoding" not in stream.headers
        assert stream.headers["Connection"] == "close"
        assert names_of(stream.rest()) == ["started", "stdout", "result"]


@pytest.mark.parametrize("body, status", [
    ({"code": 1}, 400), ({}, 400), ({"code": "1", "language": "klingon"}, 400),
    ({"code": "1", "timeout": 0}, 400)])
def test_refusals_are_ordinary_answers(open_server, body, status):
    answer = open_server.request("POST", "/v1/runs", body, {"Accept": "text/event-stream"})
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/json" and answer.json["error"]


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream;q=0"])
def test_without_the_wish_the_answer_is_the_record(open_server, accept):
    headers = {"Accept": accept} if accept else {}
    answer = open_server.request("POST", "/v1/runs", {"code": "6*7"}, headers)
    assert (answer.status, answer.json["result"]) == (200, 42)
    assert answer.headers["Content-Type"] == "application/json"


def resident_kilobytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def test_slow_reader_delays_nobody(own_server):
    server = own_server("--auth", "none")
    server.execute("1")
    before = resident_kilobytes(server.pid)
    body = {"code": FLOOD}
    with EventStream(server, body, receive_buffer=4096) as slow:
        assert slow.next().name == "started"
        # Nobody reads; the program ends all the same, and others are served meanwhile.
        wait_until(lambda: not guests_of(server.pid), "the program has ended", 30)
        assert server.execute("6*7")["result"] == 42
        assert resident_kilobytes(server.pid) - before < 32 * 1024
        events = slow.rest()
    record = events[-1].data
    written = record["stdout_bytes"]
    assert (record["status"], record["result"], written) == ("ok", "done", 60000000)
    shown = sum(len(event.data["text"]) for event in events if event.name == "stdout")
    dropped = sum(event.data["stdout_bytes"] for event in events if event.name == "dropped")
    assert shown + dropped == written
    assert 0 < shown < 16 * 1024 * 1024


def test_stop_tells_watchers_that_the_run_was_cancelled(own_server):
    server = own_server("--auth", "none")
    with EventStream(server, {"code": UNTIL_KILLED}) as stream:
        assert names_of([stream.next(), stream.next()]) == ["started", "stdout"]
        assert server.stop() == 0
        last = stream.rest()[-1]
        assert (last.name, last.data["status"]) == ("result", "cancelled")


def test_reset_connection_ends_the_run(open_server):
    with EventStream(open_server, {"code": UNTIL_KILLED}) as stream:
        assert stream.next().name == "started"
        wait_until(lambda: guests_of(open_server.pid), "the program runs")
        stream.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                     b"\x01\x00\x00\x00\x00\x00\x00\x00")
    wait_until(lambda: not guests_of(open_server.pid), "the program is gone", 10)


def test_terminal_shows_output_as_it_comes(place):
    from support_binary import BINARY, service_environment
    import subprocess
    program = place / "program.py"
    program.write_text("print('first')\nassert input() == 'go'\nprint('second')\n")
    with subprocess.Popen([str(BINARY), "run", str(program)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=service_environment(None)) as process:
        assert process.stdout.readline() == b"first\n"
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stdout.readline() == b"second\n"
        assert process.wait(30) == 0


def test_unparsed_data_is_one_line_of_json(open_server):
    with EventStream(open_server, {"code": r"print('a\nb\r\nc')"}) as stream:
        raw = stream.rest_raw()
    for line in raw.split("\n"):
        assert line == "" or line.split(": ")[0] in ("id", "event", "data")
        if line.startswith("data: "):
            json.loads(line[6:])
