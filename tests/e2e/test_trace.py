"""W3C Trace Context: taken from callers that send one, and passed on."""

import json
import re

import pytest

from support_mcp import call, modern
from test_mcp_http import headers_for

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SENT = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=value"}
SHOW = "import os\nos.environ.get('TRACEPARENT')"


def lines(server, message):
    return [line for line in map(json.loads, server.errors.splitlines())
            if line["message"] == message]


def execute(server, code, headers=None, **arguments):
    answer = server.request("POST", "/v1/runs", {"code": code, **arguments}, headers)
    assert answer.status == 200, answer
    return answer


def test_a_trace_is_passed_on(server):
    answer = execute(server, SHOW, SENT, debug=True)
    returned = answer.headers["traceresponse"]
    version, trace, span, flags = returned.split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    assert re.fullmatch("[0-9a-f]{16}", span) and span != PARENT
    assert answer.json["result"] == returned, "the program goes on from our span"
    assert answer.json["debug"]["trace_id"] == TRACE
    [request] = [line for line in lines(server, "request") if line["span_id"] == span]
    assert request["trace_id"] == TRACE and request["operation"] == "createRun"
    [run] = [line for line in lines(server, "run")
             if line["execution_id"] == answer.json["execution_id"]]
    assert run["trace_id"] == TRACE


def test_each_request_is_a_span_of_its_own(server):
    spans = {server.request("GET", "/v1/runners", headers=SENT).headers["traceresponse"]
             for _ in range(3)}
    assert len(spans) == 3


def test_without_a_trace_there_is_none(server):
    answer = execute(server, SHOW, debug=True)
    assert "traceresponse" not in answer.headers
    assert answer.json["result"] is None
    assert "trace_id" not in answer.json["debug"]


@pytest.mark.parametrize("given", [
    "", "00", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{'0' * 16}-01",
    f"ff-{TRACE}-{PARENT}-01", f"00-{TRACE.upper()}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01-x",
    f"00-{TRACE}-{PARENT}", "x" * 2000])
def test_what_is_no_trace_is_ignored(server, given):
    answer = server.request("GET", "/v1/runners", headers={"traceparent": given})
    assert answer.status == 200 and "traceresponse" not in answer.headers


def test_the_callers_own_variable_stays(server):
    answer = execute(server, SHOW, SENT, env={"TRACEPARENT": "mine"})
    assert answer.json["result"] == "mine"


def test_mcp_calls_have_their_trace_in_meta(server):
    message = modern(call(1, SHOW, debug=True))
    message["params"]["_meta"]["traceparent"] = SENT["traceparent"]
    answer = server.request("POST", "/mcp", message, headers_for(message))
    result = answer.json["result"]["structuredContent"]
    assert result["result"].startswith(f"00-{TRACE}-")
    assert result["debug"]["trace_id"] == TRACE
