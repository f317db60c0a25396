"""`belljar mcp`: raw lines over standard input and output."""

import json
import signal

import pytest

from support_binary import wait_until
from support_mcp import (LEGACY, MODERN, StdioServer, call, initialize, modern, request)
from support_processes import guests_of

SLEEP = "import time; time.sleep(1000)"


@pytest.fixture
def stdio():
    server = StdioServer()
    yield server
    if server.process.poll() is None:
        server.finish()


@pytest.fixture
def ready(stdio):
    """A client of the newest revision that begins with a handshake."""
    assert stdio.ask(initialize())["result"]["protocolVersion"] == LEGACY[-1]
    stdio.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return stdio


@pytest.mark.parametrize("revision", LEGACY)
def test_handshake(stdio, revision):
    answer = stdio.ask(initialize(7, revision))
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    result = answer["result"]
    assert result["protocolVersion"] == revision
    assert result["serverInfo"]["name"] == "belljar" and result["serverInfo"]["version"]
    assert "tools" in result["capabilities"]


def test_unknown_revision_is_offered_a_known_one(stdio):
    answer = stdio.ask(initialize(1, "1999-01-01"))
    assert answer["result"]["protocolVersion"] in LEGACY


def test_tools_are_listed(ready):
    tools = {tool["name"]: tool for tool in ready.ask(request(2, "tools/list"))["result"]["tools"]}
    assert {"execute_code", "get_sandbox_info"} <= set(tools)
    for tool in tools.values():
        assert tool["title"] and len(tool["description"]) > 40 and tool["annotations"]
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
    assert tools["execute_code"]["inputSchema"]["required"] == ["code"]


def test_code_is_executed(ready):
    result = ready.ask(call(2, "print(6*7)\n'value'"))["result"]
    record = result["structuredContent"]
    assert result.get("isError", False) is False
    assert (record["stdout"], record["result"], record["status"]) == ("42\n", "value", "ok")
    assert "42" in result["content"][0]["text"]


def test_sandbox_is_described(ready):
    result = ready.ask(request(2, "tools/call", name="get_sandbox_info", arguments={}))["result"]
    assert result["structuredContent"]
    assert "python" in json.dumps(result["structuredContent"])


def test_failure_of_the_code_is_a_result(ready):
    result = ready.ask(call(2, "1/0"))["result"]
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["type"] == "ZeroDivisionError"


@pytest.mark.parametrize("arguments", [
    {}, {"code": 5}, {"code": "1", "tiemout": 3}, {"code": "1", "timeout": -1},
    {"code": "1", "language": "cobol"}, {"code": "1\0"}])
def test_bad_arguments_are_told_to_the_model(ready, arguments):
    answer = ready.ask(request(2, "tools/call", name="execute_code", arguments=arguments))
    assert answer["result"]["isError"] is True
    assert len(answer["result"]["content"][0]["text"]) > 20


def test_unknown_tool_is_an_error(ready):
    answer = ready.ask(request(2, "tools/call", name="nonsense", arguments={}))
    assert answer["error"]["code"] == -32602 and "nonsense" in answer["error"]["message"]


def test_unknown_method_is_an_error(ready):
    assert ready.ask(request(2, "nonsense"))["error"]["code"] == -32601


def test_requests_run_side_by_side(ready):
    ready.send(call(2, SLEEP, timeout=60))
    assert ready.ask(call("three", "6*7"))["id"] == "three"
    ready.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})


@pytest.mark.parametrize("line", [
    b"nonsense\n", b"{\n", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"\n', b"\xff\xfe\n",
    b"[" * 10_000 + b"\n", b'{"id": "\x00"}\n', b'{"id": 1, "id": 2}\n'])
def test_malformed_line_is_a_parse_error(ready, line):
    answer = ready.ask(line)
    assert answer["error"]["code"] == -32700
    assert answer["id"] is None
    assert ready.ask(request(2, "ping"))["result"] == {}


@pytest.mark.parametrize("message", [
    {}, {"id": 1}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}, 5, "text", None,
    {"jsonrpc": "2.0", "id": 1, "method": 5}, {"jsonrpc": "2.0", "id": {}, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}])
def test_line_that_is_no_request_is_an_error(ready, message):
    assert ready.ask(message)["error"]["code"] in (-32600, -32602)
    assert ready.ask(request(2, "ping"))["result"] == {}


def test_oversize_line_is_survived(ready):
    for _ in range(17):
        ready.send(b"x" * (1 << 20))
    ready.send(b"\n")
    answer = ready.ask(request(2, "ping"))
    if "error" in answer:  # told, before the next is answered
        answer = ready.receive()
    assert (answer["id"], answer["result"]) == (2, {})


def test_blank_lines_and_notifications_get_no_answer(ready):
    ready.send(b"\n  \r\n")
    ready.send({"jsonrpc": "2.0", "method": "notifications/nonsense"})
    assert ready.ask(request(2, "ping"))["id"] == 2


def test_cancelled_program_is_stopped(ready):
    ready.send(call(2, SLEEP, timeout=300))
    wait_until(lambda: guests_of(ready.process.pid), "the program runs")
    ready.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": 2, "reason": "enough"}})
    wait_until(lambda: not guests_of(ready.process.pid), "the program is gone", 10)
    assert ready.ask(request(3, "ping"))["id"] == 3  # and no answer to 2 before it


def test_end_of_input_ends_the_process(ready):
    assert ready.finish() == (0, [])


def test_end_of_input_without_a_word(stdio):
    assert stdio.finish() == (0, [])


def test_end_of_input_still_answers_what_was_asked(ready):
    ready.send(call(2, "6*7"))
    code, rest = ready.finish()
    assert code == 0
    assert rest[0]["result"]["structuredContent"]["result"] == 42


def test_end_of_input_ends_what_runs(ready):
    ready.send(call(2, SLEEP, timeout=300))
    wait_until(lambda: guests_of(ready.process.pid), "the program runs")
    code, _ = ready.finish()
    assert code == 0 and not guests_of()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_what_runs(ready, number):
    ready.send(call(2, SLEEP, timeout=300))
    wait_until(lambda: guests_of(ready.process.pid), "the program runs")
    ready.process.send_signal(number)
    assert ready.process.wait(timeout=40) == 0
    ready.finish()
    assert not guests_of()


def test_log_goes_to_standard_error_as_json(ready):
    ready.ask(call(2, "1"))
    ready.finish()
    while not ready.log.empty():
        assert json.loads(ready.log.get())["level"]


def test_newest_revision_needs_no_handshake(stdio):
    discovery = stdio.ask(modern(request(1, "server/discover")))["result"]
    assert MODERN in discovery["supportedVersions"]
    answer = stdio.ask(modern(call(2, "6*7")))
    assert answer["result"]["structuredContent"]["result"] == 42
