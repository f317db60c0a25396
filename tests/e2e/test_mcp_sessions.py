"""Sessions of the older revisions: whose they are, how they end, and how many there may be."""

import json
import pathlib
import re
import socket

import pytest

from support_binary import sanitizer_options, wait_until
from support_mcp import LEGACY, call, initialize, request
from support_processes import guests_of
from support_server import read_answer
from support_wire import ACCEPT, OldSession, Session, send

PING = request(1, "ping")
REVISIONS = LEGACY[1:]  # 2024-11-05 had no Streamable HTTP
LEFT = 1000
TOO_MANY = 2500  # for one caller
GROWTH_MIB = 64


@pytest.mark.parametrize("revision", REVISIONS)
def test_session_lives_until_it_is_deleted(open_server, revision):
    session = Session(open_server, revision)
    assert re.fullmatch(r"[\x21-\x7e]{16,}", session.id)
    assert session.opening.answer["result"]["protocolVersion"] == revision
    assert session.post(PING).answer["result"] == {}
    assert session.delete().status in (200, 204)
    for reply in (session.post(PING), session.delete()):
        assert reply.status == 404, reply
    with session.listen() as stream:
        assert stream.status == 404


def test_sessions_have_ids_of_their_own(open_server):
    sessions = [Session(open_server) for _ in range(5)]
    assert len({one.id for one in sessions}) == 5
    for one in sessions:
        one.delete()


FOREIGN = ["0", "x" * 36, "x" * 4000, "../../etc/passwd", "a b", "caf\u00e9", "'; --", "null"]


@pytest.mark.parametrize("name", FOREIGN, ids=lambda name: name[:12])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_foreign_session_id(open_server, name, method):
    headers = {"Mcp-Session-Id": name.encode("utf-8").decode("latin-1"), **ACCEPT,
               "MCP-Protocol-Version": LEGACY[-1]}
    reply = send(open_server, PING if method == "POST" else None, headers, method)
    assert reply.status in (400, 404), reply


def test_session_of_another_caller_is_not_found(own_server):
    """A session belongs to who opened it; to everyone else it does not exist."""
    server = own_server()
    session = Session(server)
    assert send(server, PING, session.headers, token=False).status == 401
    assert session.post(PING).status == 200


def test_session_with_another_revision_in_the_header(open_server):
    session = Session(open_server)
    for wrong in ("2000-01-01", "nonsense", "2026-07-28"):
        assert session.post(PING, **{"MCP-Protocol-Version": wrong}).status == 400
    session.delete()


def test_stream_needs_the_right_accept(open_server):
    session = Session(open_server)
    reply = send(open_server, None, {**session.headers, "Accept": "application/json"}, "GET")
    assert reply.status in (405, 406), reply
    session.delete()


def test_response_that_nobody_waits_for(open_server):
    session = Session(open_server)
    reply = session.post({"jsonrpc": "2.0", "id": 77, "result": {}})
    assert reply.status in (202, 400), reply
    assert session.post(PING).status == 200
    session.delete()
    assert send(open_server, {"jsonrpc": "2.0", "id": 77, "result": {}}).status in (400, 404)


def test_level_is_of_one_session(open_server):
    loud, silent = Session(open_server), Session(open_server)
    assert loud.post(request(2, "logging/setLevel", level="info")).answer["result"] == {}
    assert loud.post(request(3, "logging/setLevel", level="loud")).code == -32602
    code = "import time\nprint('told')\ntime.sleep(0.3)"
    methods = [[one.get("method") for one in session.post(call(4, code)).messages]
               for session in (loud, silent)]
    assert "notifications/message" in methods[0] and methods[1] == [None]
    for one in (loud, silent):
        one.delete()


def progress_of(message):
    return {**message, "params": {**message["params"], "_meta": {"progressToken": 5}}}


def test_client_that_vanishes_from_its_streams(open_server):
    """The streams go, the session stays, and the program has its full time."""
    session = Session(open_server)
    streams = [session.listen() for _ in range(3)]
    code = "import time\nprint(1, flush=True)\ntime.sleep(1.5)"
    answering = session.stream(progress_of(call(2, code)))
    for stream in [*streams, answering]:
        stream.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1] + 7 * [0]))
        stream.close()
    assert session.post(PING).answer["result"] == {}
    wait_until(lambda: not guests_of(open_server.pid), "the program ends by itself")
    session.delete()


def test_answer_that_was_missed_is_read_again(open_server):
    """With the id of the last event that came, another stream goes on after it."""
    session = Session(open_server)
    code = "import time\nprint('one', flush=True)\ntime.sleep(1)\nprint('two')"
    with session.stream(progress_of(call(2, code))) as stream:
        event = stream.next_event()
        while not event.get("data"):
            event = stream.next_event()
        assert json.loads(event["data"])["method"] == "notifications/progress"
    with session.listen(**{"Last-Event-ID": event["id"]}) as stream:
        assert stream.status == 200
        answer = stream.answer_to(2)
    assert answer["result"]["structuredContent"]["stdout"] == "one\ntwo\n"
    session.delete()


@pytest.mark.parametrize("name", ["", "nonsense", "9" * 30, "0"])
def test_last_event_id_of_no_event(open_server, name):
    session = Session(open_server)
    with session.listen(**{"Last-Event-ID": name}) as stream:
        assert stream.status in (200, 400, 404)
    assert session.post(PING).status == 200
    session.delete()


# --- HTTP+SSE of 2024-11-05 ----------------------------------------------------------------------


def test_old_stream(open_server):
    session = OldSession(open_server)
    assert re.match(r"/mcp/messages\?sessionId=\S{16,}", session.path)
    tools = session.ask(request(1, "tools/list"))["result"]["tools"]
    assert "execute_code" in {tool["name"] for tool in tools}
    assert "42" in session.ask(call(2, "print(6*7)"))["result"]["content"][0]["text"]
    session.close()

    def gone():
        return send(open_server, PING, path=session.path).status == 404
    wait_until(gone, "the session ended with its stream")


@pytest.mark.parametrize("query", ["", "?sessionId=", "?sessionId=nonsense", "?other=1"])
def test_message_to_no_old_stream(open_server, query):
    assert send(open_server, PING, path=f"/mcp/messages{query}").status in (400, 404)


def test_endpoint_event_is_only_on_its_own_path(open_server):
    session = Session(open_server)
    with session.listen() as stream:
        stream.connection.sock.settimeout(0.3)
        try:
            assert b"endpoint" not in stream.response.readline()
        except TimeoutError:
            pass
    session.delete()


# --- many ---------------------------------------------------------------------------------------


def memory_mib(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def open_quickly(server, connection):
    """A handshake on a connection that stays; gives the id of the session."""
    body = json.dumps(initialize()).encode()
    head = "\r\n".join([
        "POST /mcp HTTP/1.1", f"Host: {server.address}", "Content-Type: application/json",
        f"Accept: {ACCEPT['Accept']}", f"Content-Length: {len(body)}"])
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    answer = read_answer(connection)
    assert answer.status == 200, answer
    return answer.headers["Mcp-Session-Id"]


def test_sessions_that_are_opened_and_left(own_server):
    """Memory is bounded. Whoever comes gets a session; those that were idle longest make room."""
    server = own_server("--auth", "none")
    server.settle()
    used = Session(server)
    before = memory_mib(server)
    opened = []
    with server.connect() as connection:
        while len(opened) < TOO_MANY:
            opened += [open_quickly(server, connection) for _ in range(LEFT // 4)]
            used.post(PING)
    assert len(set(opened)) == len(opened)
    growth = memory_mib(server) - before
    if not sanitizer_options():  # they keep what was freed
        assert growth < GROWTH_MIB, f"{growth} MiB"

    def status(name):
        headers = {"Mcp-Session-Id": name, "MCP-Protocol-Version": LEGACY[-1]}
        return send(server, PING, headers).status

    alive = [status(name) == 200 for name in opened[::50]]
    assert alive == sorted(alive), "the oldest go first"
    assert not alive[0] and alive[-1], "some had to go"
    assert used.post(PING).status == 200, "one that is used stays"


def test_session_with_a_running_program_is_not_idle(own_server):
    server = own_server("--auth", "none")
    server.settle()
    session = Session(server)
    code = "import time\nprint('begun', flush=True)\ntime.sleep(6)\n'still here'"
    with session.stream(progress_of(call(2, code, timeout=30))) as stream:
        with server.connect() as connection:
            for _ in range(TOO_MANY):
                open_quickly(server, connection)
        assert stream.answer_to(2)["result"]["structuredContent"]["result"] == "still here"
