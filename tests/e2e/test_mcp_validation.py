"""What POST /mcp refuses, in which order, and in which words; ids, headers, batches and states."""

import base64
import json
import threading
import typing

import pytest

from support_binary import belljar, wait_until
from support_mcp import LEGACY, MODERN, StdioServer, call, initialize, request
from support_processes import guests_of
from support_server import read_answer
from support_wire import (INITIALIZED, META, Session, cancelled, enveloped, modern_headers,
                          post_modern, send)

INFO = request(1, "tools/call", name="get_sandbox_info", arguments={})
LIST = request(1, "tools/list")


# --- the order of the checks --------------------------------------------------------------------


class Fault(typing.NamedTuple):
    """One thing wrong with a request, and the answer if nothing before it is."""

    status: int
    code: int = None
    headers: typing.Callable = lambda headers: headers
    body: typing.Callable = lambda body: body


def without(name):
    return lambda headers: {key: value for key, value in headers.items() if key != name}


def but(**changed):
    fixed = {name.replace("_", "-"): value for name, value in changed.items()}
    return lambda headers: {**headers, **fixed}


def of_revision(revision):
    return lambda body: enveloped(without_envelope(body), revision)


def without_envelope(body):
    return {**body, "params": {key: value for key, value in body["params"].items()
                               if key != "_meta"}}


def without_key(key):
    def remove(body):
        meta = {name: value for name, value in body["params"]["_meta"].items()
                if name != META + key}
        return {**body, "params": {**body["params"], "_meta": meta}}
    return remove


def with_key(key, value):
    def change(body):
        meta = {**body["params"]["_meta"], META + key: value}
        return {**body, "params": {**body["params"], "_meta": meta}}
    return change


def calling(**params):
    return lambda body: {**body, "params": {**body["params"], **params}}


# In the order in which they are found; the first that a request has is what it is told.
FAULTS = {
    "foreign origin": Fault(403, headers=but(Origin="http://evil.example.com")),
    "no token": Fault(401, headers=without("Authorization")),
    "not JSON by type": Fault(415, headers=but(Content_Type="text/plain")),
    "no version header at a call": Fault(400, -32020, headers=without("MCP-Protocol-Version")),
    "other method header": Fault(400, -32020, headers=but(Mcp_Method="tools/list")),
    "unserved version": Fault(400, -32022, headers=but(MCP_Protocol_Version="2099-01-01"),
                              body=of_revision("2099-01-01")),
    "no method header": Fault(400, -32020, headers=without("Mcp-Method")),
    "no name header": Fault(400, -32020, headers=without("Mcp-Name")),
    "other name header": Fault(400, -32020, headers=but(Mcp_Name="execute_code")),
    "unknown tool": Fault(200, -32602, headers=but(Mcp_Name="nobody"),
                          body=calling(name="nobody")),
}


def send_with(server, *faults):
    headers = {**server.headers(), "Content-Type": "application/json", **modern_headers(INFO)}
    body = enveloped(INFO)
    for fault in faults:
        headers, body = fault.headers(headers), fault.body(body)
    return send(server, json.dumps(body), headers, token=False)


def check(reply, fault):
    assert reply.status == fault.status, reply
    if fault.code:
        assert (reply.code, reply.answer["id"]) == (fault.code, 1), reply
        assert len(reply.answer["error"]["message"]) > 20


def test_request_without_a_fault(server):
    assert "result" in send_with(server).answer


@pytest.mark.parametrize("name", FAULTS)
def test_fault(server, name):
    check(send_with(server, FAULTS[name]), FAULTS[name])


ORDER = ["foreign origin", "no token", "not JSON by type", "other method header",
         "unserved version", "no name header", "unknown tool"]


@pytest.mark.parametrize(("first", "second"), [
    (first, second) for index, first in enumerate(ORDER) for second in ORDER[index + 1:]
    if (first, second) != ("no name header", "unknown tool")])
def test_first_fault_wins(server, first, second):
    check(send_with(server, FAULTS[first], FAULTS[second]), FAULTS[first])


@pytest.mark.parametrize("change", [
    without_key("protocolVersion"), without_key("clientCapabilities"), without_envelope,
    with_key("protocolVersion", 5), with_key("protocolVersion", None),
    with_key("clientCapabilities", None), with_key("clientCapabilities", []),
    with_key("clientCapabilities", "all"), calling(_meta=None), calling(_meta=[])])
def test_malformed_envelope_is_named(open_server, change):
    reply = send(open_server, change(enveloped(LIST)), modern_headers(LIST))
    assert (reply.status, reply.code) == (400, -32602), reply
    assert META in reply.answer["error"]["message"] or "_meta" in reply.answer["error"]["message"]


@pytest.mark.parametrize("meta", [
    {}, {f"{META}clientInfo": {"name": "x", "version": "1"}}, {"unknown/key": [1]},
    {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}, {"progressToken": "seven"}], ids=str)
def test_optional_keys_of_the_envelope(open_server, meta):
    assert "result" in post_modern(open_server, LIST, meta).answer


@pytest.mark.parametrize("meta", [
    {f"{META}logLevel": "loud"}, {f"{META}logLevel": 5}, {"progressToken": None},
    {"progressToken": {}}, {"progressToken": 1.5}], ids=str)
def test_wrong_wish_for_notices(open_server, meta):
    reply = post_modern(open_server, INFO, meta)
    assert (reply.status, reply.code) == (200, -32602), reply


def test_unknown_capabilities_are_no_fault(open_server):
    capabilities = {"roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}},
                    "extensions": {"com.example/x": {}}, "experimental": {"y": {}}}
    assert "result" in post_modern(open_server, LIST, capabilities=capabilities).answer


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS"])
def test_other_methods(open_server, method):
    reply = send(open_server, None, method=method)
    assert reply.status in ((204, 405) if method == "OPTIONS" else (405,)), reply
    assert "POST" in reply.headers.get("Allow", "POST")


@pytest.mark.parametrize(("host", "status"), [
    ("evil.example.com", 403), ("localhost", 200), ("127.0.0.1:1", 200), ("[::1]:8080", 200)])
def test_host_is_checked_on_loopback(open_server, host, status):
    assert send(open_server, request(1, "ping"), {"Host": host}).status == status


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:9"])
def test_local_origins_are_let_in(open_server, origin):
    assert send(open_server, request(1, "ping"), {"Origin": origin}).status == 200


# --- ids ----------------------------------------------------------------------------------------


GOOD_IDS = [0, 1, -1, 2**31, 2**53 - 1, "", "a", "0", "\u00e9\u65e5", "x" * 200, '"quoted"\\']
BAD_IDS = [None, True, False, 1.5, [], [1], {}, {"id": 1}]


@pytest.mark.parametrize("number", GOOD_IDS, ids=repr)
def test_id_comes_back_as_it_was(open_server, number):
    for reply in (post_modern(open_server, {**LIST, "id": number}),
                  send(open_server, {**LIST, "id": number})):
        assert "result" in reply.answer, reply
        assert type(reply.answer["id"]) is type(number) and reply.answer["id"] == number


@pytest.mark.parametrize("number", BAD_IDS, ids=repr)
def test_id_of_a_wrong_type(open_server, number):
    modern = post_modern(open_server, {**LIST, "id": number})
    assert (modern.status, modern.code) == (400, -32600), modern
    assert "id" not in modern.answer, "the newest revision has no null id"
    legacy = send(open_server, {**LIST, "id": number})
    assert (legacy.status, legacy.code) == (400, -32600), legacy
    assert legacy.answer.get("id") is None


def test_same_id_twice_is_two_requests_where_nothing_is_remembered(open_server):
    replies = []
    message = call(5, "import time; time.sleep(0.5)\n6*7")
    threads = [threading.Thread(target=lambda: replies.append(post_modern(open_server, message)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.answer["result"]["structuredContent"]["result"] for one in replies] == [42] * 4


def check_duplicate(answers):
    """One was refused, which names the reason; the other went on."""
    refused = [one for one in answers if "error" in one]
    assert len(refused) == 1 and refused[0]["error"]["code"] == -32600, answers
    assert "id" in refused[0]["error"]["message"]


def test_id_in_use_is_refused_on_stdio():
    stdio = StdioServer()
    stdio.ask(initialize(1))
    stdio.send(INITIALIZED)
    stdio.send(call(2, "import time; time.sleep(1)\n'first'"))
    stdio.send(call(2, "'second'"))
    check_duplicate([stdio.receive(), stdio.receive()])
    assert stdio.ask(call(2, "'later'"))["result"]["structuredContent"]["result"] == "later"
    stdio.finish()


def test_id_in_use_is_refused_in_a_session(open_server):
    session = Session(open_server)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        session.post(call(2, "import time; time.sleep(3)")).answer))
    thread.start()
    wait_until(lambda: guests_of(open_server.pid), "the first one runs")
    answers.append(session.post(call(2, "'second'")).answer)
    thread.join()
    check_duplicate(answers)
    session.delete()


def test_id_is_its_own_in_each_session(open_server):
    sessions = [Session(open_server), Session(open_server)]
    for one in sessions:
        assert one.post(call(2, "6*7")).answer["result"]["structuredContent"]["result"] == 42
        assert one.delete().status in (200, 204)


# --- headers ------------------------------------------------------------------------------------


def encoded(text, prefix="=?base64?", suffix="?="):
    return prefix + base64.b64encode(text.encode()).decode() + suffix


NAME = "get_sandbox_info"
SAME_NAMES = [NAME, encoded(NAME), f"  {NAME}\t", f" {encoded(NAME)} "]
OTHER_NAMES = [
    NAME.upper(), f'"{NAME}"', encoded(NAME, prefix="=?BASE64?"), encoded(NAME, suffix=""),
    encoded(NAME, prefix=""), encoded(NAME)[:-3] + "?=", "=?base64??=", "=?base64?%%%%?=",
    "=?base64?" + base64.b64encode(b"\xff\xfe").decode() + "?=", encoded(NAME + "\n"),
    encoded(encoded(NAME)), ""]


@pytest.mark.parametrize("name", SAME_NAMES)
def test_name_header_in_another_form(open_server, name):
    assert "result" in post_modern(open_server, INFO, Mcp_Name=name).answer


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_name_header_of_something_else(open_server, name):
    reply = post_modern(open_server, INFO, Mcp_Name=name)
    assert (reply.status, reply.code) == (400, -32020), reply


def test_name_outside_of_ascii_is_compared_decoded(open_server):
    message = request(1, "tools/call", name="caf\u00e9", arguments={})
    reply = post_modern(open_server, message, Mcp_Name=encoded("caf\u00e9"))
    assert (reply.status, reply.code) == (200, -32602), reply


@pytest.mark.parametrize("header", ["MCP-PROTOCOL-VERSION", "mcp-protocol-version"])
def test_header_names_have_no_case(open_server, header):
    reply = post_modern(open_server, INFO, MCP_Protocol_Version=None, **{header: MODERN})
    assert reply.status == 200


ACCEPTED = {
    "both": ("application/json, text/event-stream", 200, 200),
    "other order": ("text/event-stream, application/json", 200, 200),
    "weighted": ("application/json;q=0.9, text/event-stream;q=0.8", 200, 200),
    "other case": ("Application/JSON, Text/Event-Stream", 200, 200),
    "anything": ("*/*", 200, 200),
    "only JSON": ("application/json", 200, 406),
    "more": ("text/html, application/json, text/event-stream, */*;q=0.1", 200, 200),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accept(open_server, name):
    accept, modern, legacy = ACCEPTED[name]
    assert post_modern(open_server, INFO, Accept=accept).status == modern
    assert send(open_server, LIST, {"Accept": accept}).status == legacy


@pytest.mark.parametrize("content_type", [
    "application/json", "application/json; charset=utf-8", "Application/JSON",
    'application/json;charset="utf-8"'])
def test_content_type(open_server, content_type):
    assert send(open_server, json.dumps(LIST), {"Content-Type": content_type}).status == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/jsonx", "", "json"])
def test_other_content_type(open_server, content_type):
    assert send(open_server, json.dumps(LIST), {"Content-Type": content_type}).status == 415


# --- batches ------------------------------------------------------------------------------------


PINGS = [request(1, "ping"), request("two", "ping")]


def test_batch_in_the_one_revision_that_has_them(open_server):
    session = Session(open_server, "2025-03-26")
    reply = session.post([*PINGS, cancelled(99), call(3, "6*7"), {"jsonrpc": "2.0", "id": 4}])
    assert reply.status == 200
    answers = {json.dumps(one.get("id")): one for one in reply.messages}
    assert answers["1"]["result"] == answers['"two"']["result"] == {}
    assert "42" in answers["3"]["result"]["content"][0]["text"]
    assert len(reply.messages) == 4, "one for each but the notification"
    session.delete()


def test_batch_that_expects_nothing(open_server):
    session = Session(open_server, "2025-03-26")
    reply = session.post([cancelled(98), cancelled(99)])
    assert (reply.status, reply.body) == (202, b"")
    session.delete()


def test_handshake_is_never_in_a_batch(open_server):
    reply = send(open_server, [initialize(1, "2025-03-26"), request(2, "ping")])
    assert "Mcp-Session-Id" not in reply.headers
    errors = [one for one in reply.messages if "error" in one]
    assert errors and errors[0]["error"]["code"] == -32600, reply


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_batch_in_later_revisions(open_server, revision):
    session = Session(open_server, revision)
    reply = session.post(PINGS)
    assert (reply.status, reply.code) == (400, -32600), reply
    session.delete()
    alone = send(open_server, PINGS, {"MCP-Protocol-Version": revision})
    assert (alone.status, alone.code) == (400, -32600), alone


def test_modern_batch(open_server):
    reply = send(open_server, [enveloped(LIST)], modern_headers(LIST))
    assert (reply.status, reply.code) == (400, -32600), reply


@pytest.mark.parametrize("revision", LEGACY)
def test_batch_on_stdio(revision):
    stdio = StdioServer()
    stdio.ask(initialize(0, revision))
    stdio.send(INITIALIZED)
    stdio.send(PINGS)
    answer = stdio.receive()
    if revision == "2025-03-26":
        assert sorted(str(one["id"]) for one in answer) == ["1", "two"]
    else:
        assert answer["error"]["code"] == -32600
    assert stdio.finish() == (0, [])


# --- bodies that are too long, too slow, or never end ---------------------------------------------


def head(server, length, path="/mcp"):
    lines = [f"POST {path} HTTP/1.1", f"Host: {server.address}", f"Content-Length: {length}",
             "Content-Type: application/json", "Accept: application/json, text/event-stream"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def test_oversize_body(open_server):
    body = json.dumps(call(1, "#" * (17 << 20))).encode()
    assert send(open_server, body).status == 413
    with open_server.connect() as connection:
        connection.sendall(head(open_server, 1 << 40))
        assert read_answer(connection).status == 413


def test_slow_body_is_waited_for_and_delays_nobody(open_server):
    body = json.dumps(request(1, "ping")).encode()
    with open_server.connect() as connection:
        connection.sendall(head(open_server, len(body)))
        for index in range(len(body)):
            connection.sendall(body[index:index + 1])
            if index % 8 == 0:
                assert send(open_server, request(index, "ping")).answer["id"] == index
        assert read_answer(connection).json["result"] == {}


def test_clients_that_vanish_in_the_middle_of_a_body(open_server):
    for part in (b"", b"{", b'{"jsonrpc":"2.0",'):
        with open_server.connect() as connection:
            connection.sendall(head(open_server, 1000) + part)
    assert send(open_server, request(1, "ping")).status == 200


# --- state that travels through the client --------------------------------------------------------


STATEFUL = "test_input_required_result_request_state"
CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {}}


def ask_tool(server, name, number=1, arguments=None, **params):
    message = request(number, "tools/call", name=name, arguments=arguments or {}, **params)
    return post_modern(server, message, capabilities=CAPABILITIES)


def begin(server, name=STATEFUL, arguments=None):
    """The first round: what has to be answered, and the state."""
    result = ask_tool(server, name, arguments=arguments).answer["result"]
    assert result["resultType"] == "input_required", result
    answers = {key: {"action": "accept", "content": {"ok": True, "confirm": True, "name": "x"}}
               for key in result["inputRequests"]}
    return answers, result["requestState"]


def finish(server, answers, state, name=STATEFUL, arguments=None):
    return ask_tool(server, name, 2, arguments, inputResponses=answers, requestState=state)


def assert_refused(reply):
    assert (reply.status, reply.code) == (200, -32602), reply


def test_state_that_comes_back_as_it_was(fixture_server):
    answers, state = begin(fixture_server)
    result = finish(fixture_server, answers, state).answer["result"]
    assert result["resultType"] == "complete" and "state-ok" in result["content"][0]["text"]


def flipped(state, index):
    character = "A" if state[index] != "A" else "B"
    return state[:index] + character + state[index + 1:]


def test_tampered_state_is_refused(fixture_server):
    answers, state = begin(fixture_server)
    # The last character of an encoding may hold bits that mean nothing.
    for index in {0, len(state) // 4, len(state) // 2, len(state) - 3}:
        assert_refused(finish(fixture_server, answers, flipped(state, index)))
    for wrong in ("", "x", state[:-4], state + "AAAA", state * 2, "." * 3, "\u00e9", "0" * 100_000):
        assert_refused(finish(fixture_server, answers, wrong))
    for wrong in (5, None, [], {}):
        assert finish(fixture_server, answers, wrong).answer["error"]["code"] == -32602
    assert "result" in finish(fixture_server, answers, state).answer


def test_replayed_state_is_refused(fixture_server):
    answers, state = begin(fixture_server)
    assert "result" in finish(fixture_server, answers, state).answer
    assert_refused(finish(fixture_server, answers, state))


def test_state_of_another_request_is_refused(fixture_server):
    answers, state = begin(fixture_server)
    other = "test_input_required_result_tampered_state"
    assert_refused(finish(fixture_server, answers, state, name=other))
    assert_refused(finish(fixture_server, answers, state, arguments={"x": 1}))
    other_answers, other_state = begin(fixture_server, other)
    assert other_state != state
    assert_refused(finish(fixture_server, other_answers, other_state))


def test_state_of_another_server_is_refused(fixture_server, own_server):
    answers, state = begin(fixture_server)
    other = own_server("--conformance", "--auth", "none")
    assert_refused(finish(other, answers, state))


def test_fixtures_are_for_loopback_only(place):
    ended = belljar("serve", "--conformance", "--listen", "0.0.0.0:0", "--data-dir", place / "d")
    assert ended.returncode != 0 and b"--conformance" in ended.stderr, ended


def test_fixtures_are_not_listed_by_default(open_server):
    names = {tool["name"] for tool in post_modern(open_server, LIST).answer["result"]["tools"]}
    assert not [name for name in names if name.startswith("test_")] and "greet" not in names
    assert_refused(ask_tool(open_server, "test_simple_text"))
