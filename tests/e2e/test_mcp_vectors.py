"""Requests and the answers that clients of every revision rely on, as one table."""

import typing

import pytest

from support_mcp import LEGACY, MODERN, StdioServer, call, initialize, request
from support_wire import (ACCEPT, META, Stream, enveloped, modern_headers, post_modern, send)

FAST = request(1, "tools/call", name="get_sandbox_info", arguments={})
PRINTS = call(2, "import time\nfor number in range(3):\n    print(number)\n    time.sleep(0.2)\n")
SLOW_AND_LOGGED = enveloped(PRINTS, progressToken=7, **{f"{META}logLevel": "debug"})
JSON = "application/json"
EVENTS = "text/event-stream"


class Vector(typing.NamedTuple):
    name: str
    body: object
    headers: dict
    status: object  # or all that are right
    code: int = None
    check: typing.Callable = lambda reply: True
    method: str = "POST"


def with_envelope(name, message, status, code=None, check=lambda reply: True, revision=MODERN,
                  **changed):
    return Vector(name, enveloped(message, revision), modern_headers(message, **changed), status,
                  code, check)


def is_discovery(reply):
    result = reply.answer["result"]
    return (result["supportedVersions"] == [MODERN] and result["resultType"] == "complete"
            and isinstance(result["ttlMs"], int) and result["cacheScope"] in ("public", "private")
            and result["_meta"][f"{META}serverInfo"]["name"] == "belljar"
            and "serverInfo" not in result and "tools" in result["capabilities"])


def is_plain(reply):
    return reply.kind == JSON and reply.answer["result"]["resultType"] == "complete"


def is_told_on_the_way(reply):
    """Progress and log before the response, which is the last."""
    *notices, response = reply.messages
    methods = {one["method"] for one in notices}
    tokens = {one["params"]["progressToken"] for one in notices
              if one["method"] == "notifications/progress"}
    return (reply.kind == EVENTS and response["id"] == 2 and tokens == {7}
            and methods == {"notifications/progress", "notifications/message"}
            and reply.headers["X-Accel-Buffering"] == "no"
            and reply.headers["Cache-Control"] in ("no-cache, no-transform", "no-store")
            and b"\nid:" not in reply.body)


def is_tool_error(reply):
    result = reply.answer["result"]
    return result["isError"] is True and len(result["content"][0]["text"]) > 20


def names_versions(requested):
    return lambda reply: reply.answer["error"]["data"] == {"supported": [MODERN],
                                                            "requested": requested}


def has_id(number):
    return lambda reply: reply.answer["id"] == number


def offers(revision):
    return lambda reply: reply.answer["result"]["protocolVersion"] == revision


def is_of_a_legacy_era(reply):
    return not {"resultType", "ttlMs", "cacheScope"} & set(reply.answer["result"])


def answers_both(reply):
    return sorted(one["id"] for one in reply.messages) == [1, 2]


def is_empty(reply):
    return reply.body == b""


def allows_post(reply):
    return reply.status != 405 or "POST" in reply.headers["Allow"]


PING = request(1, "ping")
LIST = request(1, "tools/list")
NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
ONLY_JSON = {"Accept": JSON}

VECTORS = [
    with_envelope("discover", request(1, "server/discover"), 200, check=is_discovery),
    with_envelope("fast call", FAST, 200, check=is_plain),
    Vector("call with progress and log", SLOW_AND_LOGGED, modern_headers(PRINTS), 200,
           check=is_told_on_the_way),
    with_envelope("bad arguments", call(3, 5), 200, check=is_tool_error),
    with_envelope("unknown tool", request(4, "tools/call", name="nobody", arguments={}), 200,
                  -32602, has_id(4)),
    with_envelope("unknown method", request("five", "foo/bar"), 404, -32601, has_id("five")),
    with_envelope("ping is no longer", request(6, "ping"), 404, -32601, has_id(6)),
    with_envelope("initialize with an envelope", initialize(7), 404, -32601, has_id(7)),
    *(with_envelope(f"{name} is no longer", request(8, name), 404, -32601, has_id(8)) for name in (
        "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list",
        "tasks/result")),
    with_envelope("no version header", LIST, 400, -32020, has_id(1), MCP_Protocol_Version=None),
    with_envelope("no method header", LIST, 400, -32020, has_id(1), Mcp_Method=None),
    Vector("modern header without envelope", LIST, modern_headers(LIST), 400, -32602),
    Vector("unknown modern header without envelope", LIST,
           modern_headers(LIST, MCP_Protocol_Version="2099-01-01"), 400, -32602),
    *(with_envelope(f"envelope and header of {revision}", LIST, 400, -32022,
                    names_versions(revision), revision=revision, MCP_Protocol_Version=revision)
      for revision in (LEGACY[-1], "v999")),
    with_envelope("envelope that contradicts the header", LIST, 400, -32020, revision="v999"),
    Vector("array with an enveloped element", [PING, enveloped(LIST)], {}, 400, -32600),
    Vector("empty array", [], {}, 400, -32600),
    Vector("modern notification", NOTIFICATION, {"MCP-Protocol-Version": MODERN}, 202,
           check=is_empty),
    Vector("initialize asking for the modern revision", initialize(1, MODERN), {}, 200,
           check=offers(LEGACY[-1])),
    Vector("bare list", LIST, {}, 200, check=is_of_a_legacy_era),
    Vector("header of no revision", LIST, {"MCP-Protocol-Version": "2000-01-01"}, 400),
    Vector("batch without a header", [PING, request(2, "ping")], {}, 200, check=answers_both),
    with_envelope("modern client that takes only JSON", FAST, 200, check=is_plain, **ONLY_JSON),
    Vector("legacy client that takes only JSON", LIST, ONLY_JSON, 406),
    Vector("text", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"Content-Type": "text/plain"},
           415),
    Vector("broken JSON", b"{bad", {}, 400, -32700),
    Vector("foreign origin", PING, {"Origin": "http://evil.example.com"}, 403),
    Vector("null origin", PING, {"Origin": "null"}, 403),
    Vector("GET without a session", None, {"Accept": EVENTS}, (400, 405), check=allows_post,
           method="GET"),
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_vector(open_server, vector):
    reply = send(open_server, vector.body, {**ACCEPT, **vector.headers}, vector.method)
    expected = vector.status if isinstance(vector.status, tuple) else (vector.status,)
    assert reply.status in expected, reply
    if vector.code:
        assert reply.code == vector.code, reply
    assert vector.check(reply), reply


def test_listen_is_acknowledged_and_stays_open(open_server):
    discovery = post_modern(open_server, request(1, "server/discover")).answer["result"]
    offered = discovery["capabilities"]
    wanted = {"toolsListChanged": True, "promptsListChanged": True}
    honoured = {f"{kind}ListChanged": True for kind in ("tools", "prompts")
                if offered.get(kind, {}).get("listChanged")}
    message = request(9, "subscriptions/listen", notifications=wanted)
    with Stream(open_server, enveloped(message), modern_headers(message)) as stream:
        assert (stream.status, stream.headers.get_content_type()) == (200, EVENTS)
        first = stream.next()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == honoured
        assert first["params"]["_meta"] == {f"{META}subscriptionId": 9}
        assert post_modern(open_server, FAST).status == 200
        stream.connection.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            stream.response.readline()


# Lines for standard input, each with what its answer must hold.
def is_result(answer):
    return "result" in answer


def is_error(code, **data):
    return lambda answer: (answer["error"]["code"] == code
                           and data.items() <= answer["error"].get("data", {}).items())


DISCOVER = request(1, "server/discover")
STDIO_VECTORS = {
    "modern, then a handshake": [
        (enveloped(DISCOVER), is_result), (enveloped(request(2, "tools/list")), is_result),
        (initialize(3), is_error(-32022, supported=[MODERN]))],
    "unknown modern revision, then a handshake": [
        (enveloped(DISCOVER, "2099-01-01"), is_error(-32022, requested="2099-01-01")),
        (initialize(2, "2025-06-18"),
         lambda answer: answer["result"]["protocolVersion"] == "2025-06-18")],
    "discovery, then a handshake": [
        (enveloped(DISCOVER), is_result),
        (initialize(2), lambda answer: answer["result"]["protocolVersion"] == LEGACY[-1])],
    "handshake, then discovery": [
        (initialize(1), is_result), (enveloped(request(2, "server/discover")), is_error(-32601)),
        (request(3, "ping"), lambda answer: answer["result"] == {})],
    "modern without an envelope": [
        (enveloped(request(1, "tools/list")), is_result),
        (request(2, "tools/list"), is_error(-32602))],
}


@pytest.mark.parametrize("name", STDIO_VECTORS)
def test_stdio_vector(name):
    stdio = StdioServer()
    try:
        for message, check in STDIO_VECTORS[name]:
            answer = stdio.ask(message)
            assert answer["id"] == message["id"] and check(answer), answer
    finally:
        code, rest = stdio.finish()
    assert (code, rest) == (0, [])
