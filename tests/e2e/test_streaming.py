"""Output that reaches the caller while the program runs."""

import json
import socket
import subprocess

import pytest

from support_binary import BINARY, environment, sanitizer_options, service_environment, wait_until
from support_events import EventStream
from support_mcp import LEGACY, MODERN, StdioServer, call, initialize, modern, request
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
    ({"code": 1}, 400), ({}, 400), ({"code": "1", "language": "klingon"}, 422),
    ({"code": "1", "timeout": 0}, 400)])
def test_refusals_are_ordinary_answers(open_server, body, status):
    answer = open_server.request("POST", "/v1/runs", body, {"Accept": "text/event-stream"})
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json" and answer.json["error"]


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
    with EventStream(server, path="/mcp/events") as watcher, \
            EventStream(server, body, receive_buffer=4096) as slow:
        assert slow.next().name == "started"
        # Nobody reads; the program ends all the same, and others are served meanwhile.
        assert names_of([watcher.next(), watcher.next()]) == ["run_started", "run_finished"]
        assert server.execute("6*7")["result"] == 42
        if not sanitizer_options():  # they keep what was freed
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


# --- /mcp/events

def test_watcher_hears_of_runs(open_server):
    with EventStream(open_server, path="/mcp/events?output=1") as watcher:
        assert watcher.headers["Content-Type"] == "text/event-stream"
        record = open_server.execute("print('seen')\n6*7")
        started, output, finished = (watcher.next() for _ in range(3))
    run = record["execution_id"]
    assert (started.name, started.data) == ("run_started", {"execution_id": run,
                                                            "language": "python"})
    assert (output.name, output.data) == ("run_output", {"execution_id": run, "stream": "stdout",
                                                         "text": "seen\n"})
    assert (finished.name, finished.data["execution_id"]) == ("run_finished", run)
    assert (finished.data["status"], finished.data["exit_code"]) == ("ok", 0)


def test_watcher_that_was_away_continues(open_server):
    with EventStream(open_server, path="/mcp/events") as watcher:
        open_server.execute("1")
        first = watcher.next()
    assert first.name == "run_started"
    run = open_server.execute("2")["execution_id"]
    with EventStream(open_server, path="/mcp/events",
                     headers={"Last-Event-ID": first.id}) as watcher:
        events = [watcher.next() for _ in range(3)]
    assert names_of(events) == ["run_finished", "run_started", "run_finished"]
    assert events[-1].data["execution_id"] == run
    with EventStream(open_server, path="/mcp/events",
                     headers={"Last-Event-ID": "deadbeef-1"}) as watcher:
        assert watcher.next().name == "gap"


def test_watcher_hears_nothing_of_others(own_server):
    tokens = "ann:secret-of-ann-0123456789,ben:secret-of-ben-0123456789"
    server = own_server(env=environment(BELLJAR_AUTH_TOKENS=tokens))
    headers = {name: {"Authorization": f"Bearer secret-of-{name}-0123456789"}
               for name in ("ann", "ben")}
    with EventStream(server, path="/mcp/events?output=1", headers=headers["ben"]) as ben:
        for caller in (headers["ann"], {}):
            answer = server.request("POST", "/execute", {"code": "print('secret')"}, caller)
            assert answer.status == 200
        own = server.request("POST", "/execute", {"code": "print('own')"}, headers["ben"]).json
        events = [ben.next() for _ in range(3)]
    assert {event.data["execution_id"] for event in events} == {own["execution_id"]}
    answer = server.request("GET", "/mcp/events", headers={"Authorization": "Bearer wrong"})
    assert answer.status == 401


def test_number_of_watchers_is_bounded(own_server):
    server = own_server("--auth", "none")
    watchers = [EventStream(server, path="/mcp/events") for _ in range(16)]
    answer = server.request("GET", "/mcp/events")
    assert answer.status == 429 and answer.json["error"]
    for watcher in watchers:
        watcher.__exit__()

    def is_free():
        with EventStream(server, path="/mcp/events") as another:
            return another.status == 200

    wait_until(is_free, "the places of those who left are free")
    assert server.execute("6*7")["result"] == 42


def test_watcher_that_reads_nothing_delays_nobody(own_server):
    server = own_server("--auth", "none")
    with EventStream(server, path="/mcp/events?output=1", receive_buffer=4096) as watcher:
        record = server.execute(FLOOD)
        assert (record["status"], record["result"]) == ("ok", "done")
        server.execute("1")
        names = []
        while "dropped" not in names:
            names.append(watcher.next().name)


# --- MCP

TICKS = "import time\nfor number in range(4):\n    print(number)\n    time.sleep(0.2)\n"


def with_meta(message, **meta):
    params = message["params"]
    return {**message, "params": {**params, "_meta": {**params.get("_meta", {}), **meta}}}


def modern_headers(tool):
    return {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool,
            "Accept": "application/json, text/event-stream"}


def post_mcp(server, message, headers):
    with EventStream(server, message, path="/mcp", headers=headers) as stream:
        if stream.headers["Content-Type"] == "application/json":
            return [json.loads(stream.response.read())]
        return [event.data for event in stream.rest()]


def check_progress(messages, token):
    values = [message["params"]["progress"] for message in messages]
    assert all(message["method"] == "notifications/progress" for message in messages)
    assert all(message["params"]["progressToken"] == token for message in messages)
    assert values == sorted(set(values)) and len(values) >= 2
    text = "".join(message["params"].get("message", "") for message in messages)
    assert text == "0\n1\n2\n3\n"


@pytest.mark.parametrize("token", [7, "token"])
def test_progress_over_http(open_server, token):
    message = with_meta(modern(call(1, TICKS)), progressToken=token)
    *progress, answer = post_mcp(open_server, message, modern_headers("execute_code"))
    check_progress(progress, token)
    assert answer["result"]["structuredContent"]["stdout"] == "0\n1\n2\n3\n"


def test_progress_of_older_revisions_over_http(open_server):
    headers = {"MCP-Protocol-Version": "2025-06-18",
               "Accept": "application/json, text/event-stream"}
    *progress, answer = post_mcp(open_server, with_meta(call(1, TICKS), progressToken=1), headers)
    check_progress(progress, 1)
    assert answer["id"] == 1 and "result" in answer


def test_log_messages_over_http(open_server):
    code = TICKS + "import sys; print('bad', file=sys.stderr)"
    message = with_meta(modern(call(1, code)), **{"io.modelcontextprotocol/logLevel": "info"})
    *logs, answer = post_mcp(open_server, message, modern_headers("execute_code"))
    assert {log["method"] for log in logs} == {"notifications/message"}
    assert {log["params"]["level"] for log in logs} == {"info", "warning"}
    text = {"info": "", "warning": ""}
    for log in logs:
        text[log["params"]["level"]] += log["params"]["data"]["text"]
    assert text == {"info": "0\n1\n2\n3\n", "warning": "bad\n"}
    assert answer["result"]["isError"] is False


@pytest.mark.parametrize("message", [
    modern(call(1, TICKS)), with_meta(modern(call(1, "print(1)")), progressToken=1)])
def test_plain_answer_where_nothing_was_told(open_server, message):
    (answer,) = post_mcp(open_server, message, modern_headers("execute_code"))
    assert "result" in answer


def test_client_without_events_gets_plain_json(open_server):
    message = with_meta(modern(call(1, TICKS)), progressToken=1)
    headers = {**modern_headers("execute_code"), "Accept": "application/json"}
    (answer,) = post_mcp(open_server, message, headers)
    assert answer["result"]["structuredContent"]["stdout"] == "0\n1\n2\n3\n"


def test_client_that_leaves_its_stream_ends_the_program(open_server):
    code = "import time\nwhile True:\n    print('tick')\n    time.sleep(0.05)"
    message = with_meta(modern(call(1, code)), progressToken=1)
    with EventStream(open_server, message, path="/mcp",
                     headers=modern_headers("execute_code")) as stream:
        assert stream.next().data["method"] == "notifications/progress"
    wait_until(lambda: not guests_of(open_server.pid), "the program is gone", 10)


def until_answer(server, number):
    messages = []
    while not messages or messages[-1].get("id") != number:
        messages.append(server.receive())
    return messages


@pytest.mark.parametrize("revision", LEGACY)
def test_progress_and_log_over_stdio(revision):
    server = StdioServer()
    hello = server.ask(initialize(revision=revision))
    assert hello["result"]["capabilities"]["logging"] == {}
    server.send(with_meta(call(2, TICKS), progressToken="p"))
    *progress, _ = until_answer(server, 2)
    assert {one["method"] for one in progress} == {"notifications/progress"}
    if revision != "2024-11-05":
        check_progress(progress, "p")
    assert server.ask(request(3, "logging/setLevel", level="info"))["result"] == {}
    server.send(call(4, TICKS))
    *logs, _ = until_answer(server, 4)
    assert "".join(log["params"]["data"]["text"] for log in logs) == "0\n1\n2\n3\n"
    assert server.ask(request(5, "logging/setLevel", level="loud"))["error"]["code"] == -32602
    assert server.finish()[0] == 0


def test_flood_makes_few_notifications():
    server = StdioServer()
    server.ask(initialize())
    code = ("import sys, time\nend = time.monotonic() + 1\n"
            "while time.monotonic() < end: print('x' * 1000)\n")
    server.send(with_meta(call(2, code), progressToken=1))
    *progress, answer = until_answer(server, 2)
    seconds = answer["result"]["structuredContent"]["usage"]["wall_seconds"]
    assert 2 <= len(progress) <= 25 * seconds + 5
    assert all(len(one["params"]["message"]) < 17 * 1024 for one in progress)
    assert server.finish()[0] == 0
