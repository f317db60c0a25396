"""Personal data is masked on its way out of a jar, on every way."""

import json
import time
import uuid

import pytest

from support_binary import belljar, environment
from support_events import EventStream
from support_mcp import MODERN, StdioServer, call, call_tool, initialize, modern, request
from support_server import Server

GOLDEN = ("User john@example.com at 192.168.1.1 called 123-456-7890 ssn 123-45-6789 "
          "cc 4532-1234-5678-9010")
MASKED = ("User [EMAIL_REDACTED] at [IP_REDACTED] called [PHONE_REDACTED] ssn [SSN_REDACTED] "
          "cc [CC_REDACTED]")
ONE_OF_EACH = {"email": 1, "ip_address": 1, "phone": 1, "ssn": 1, "credit_card": 1}
ALL = environment(BELLJAR_PRIVACY_MASK="all")


@pytest.fixture(scope="module")
def masking(session_place):
    """A server that masks everything it knows."""
    started = Server(session_place / "masking", env=ALL)
    started.settle()
    yield started
    assert started.stop() == 0


def test_streams(masking):
    record = masking.execute(f"import sys\nprint({GOLDEN!r})\nprint('a@b.de', file=sys.stderr)")
    assert record["stdout"] == MASKED + "\n"
    assert record["stdout_bytes"] == len(MASKED) + 1
    assert record["stderr"] == "[EMAIL_REDACTED]\n"
    assert record["masked"] == {**ONE_OF_EACH, "email": 2}


def test_nothing_to_mask_is_not_mentioned(masking):
    record = masking.execute("print('version 1.2.3.4 at 12:34:56')\n4155550123")
    assert record["stdout"] == "version 1.2.3.4 at 12:34:56\n" and record["result"] == 4155550123
    assert "masked" not in record


def test_value_and_representation(masking):
    code = ("{'to': 'a@b.de', 'phone': '4155550123', 'cards': [4111111111111111, 17], "
            "'c@d.fr': None}")
    record = masking.execute(code)
    assert record["result"] == {"to": "[EMAIL_REDACTED]", "phone": "[PHONE_REDACTED]",
                                "cards": ["[CC_REDACTED]", 17], "[EMAIL_REDACTED]": None}
    assert record["result_repr"] == code.replace("a@b.de", "[EMAIL_REDACTED]").replace(
        "4155550123", "[PHONE_REDACTED]").replace("4111111111111111", "[CC_REDACTED]").replace(
        "c@d.fr", "[EMAIL_REDACTED]")
    assert record["masked"] == {"email": 4, "phone": 2, "credit_card": 2}


def test_errors(masking):
    record = masking.execute("person = 'a@b.de'\nraise ValueError('no account of ' + person)")
    assert record["error"]["message"] == "no account of [EMAIL_REDACTED]"
    assert "a@b.de" not in json.dumps(record)
    assert "ValueError: no account of [EMAIL_REDACTED]" in record["error"]["traceback"]


def test_outputs(masking):
    record = masking.execute("class Shown:\n"
                             "    def _repr_html_(self): return '<i>a@b.de</i>'\n"
                             "    def __repr__(self): return 'a@b.de'\n"
                             "Shown()")
    assert record["outputs"][0]["text/html"] == "<i>[EMAIL_REDACTED]</i>"
    assert "a@b.de" not in json.dumps(record)


def test_stream_of_events(masking):
    """A value that is written in two pieces, with time between them."""
    code = ("import os, time\nos.write(1, b'begun\\nto john@exam'); time.sleep(0.1)\n"
            "os.write(1, b'ple.com, 192.168.'); time.sleep(0.1)\nos.write(1, b'1.1')")
    with EventStream(masking, {"code": code}) as stream:
        events = stream.rest()
    texts = [event.data["text"] for event in events if event.name == "stdout"]
    assert not any("john" in text or "192" in text for text in texts)
    assert "".join(texts) == events[-1].data["stdout"] == (
        "begun\nto [EMAIL_REDACTED], [IP_REDACTED]")
    assert events[-1].data["masked"] == {"email": 1, "ip_address": 1}


def test_lines_are_not_held_back(masking):
    with EventStream(masking, {"code": "print('ready', flush=True)\nwhile True: pass"}) as stream:
        assert stream.next().name == "started"
        assert stream.next().data == {"text": "ready\n"}


def test_mcp_over_http(masking):
    result = call_tool(masking, "execute_code", code=f"print({GOLDEN!r})\n'a@b.de'")
    record = result["structuredContent"]
    assert record["stdout"] == MASKED + "\n" and record["result"] == "[EMAIL_REDACTED]"
    for leaked in ("john@", "a@b.de", "192.168", "123-4", "4532"):
        assert leaked not in json.dumps(result["content"]), leaked


def test_mcp_over_stdio():
    server = StdioServer(env=ALL)
    try:
        server.ask(initialize())
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        record = server.ask(call(2, f"print({GOLDEN!r})"))["result"]["structuredContent"]
        assert record["stdout"] == MASKED + "\n" and record["masked"] == ONE_OF_EACH
    finally:
        server.finish()


def test_cells_of_a_session(masking):
    first = masking.execute("people = ['a@b.de', 'c@d.fr']\nprint(people[0])", session=True)
    assert first["stdout"] == "[EMAIL_REDACTED]\n"
    second = masking.execute("print(people[1])\nlen(people[0]), people",
                             session_id=first["session_id"])
    assert second["stdout"] == "[EMAIL_REDACTED]\n"
    assert second["result"] == [6, ["[EMAIL_REDACTED]"] * 2]  # inside, nothing has changed
    assert second["masked"] == {"email": 5}
    third = masking.execute("1", session_id=first["session_id"])
    assert "masked" not in third
    assert masking.request("DELETE", f"/v1/sessions/{first['session_id']}").status in (200, 204)


def test_whole_output_is_kept_masked(masking):
    code = "for n in range(100_000): print(f'{n:06} ann{n}@example.com')"
    record = masking.execute(code)
    whole = "".join(f"{n:06} [EMAIL_REDACTED]\n" for n in range(100_000)).encode()
    assert record["stdout_truncated"] and record["stdout_bytes"] == len(whole)
    assert record["masked"] == {"email": 100_000}
    answer = masking.request("GET", record["full_output"] + "/stdout")
    assert answer.body == whole


def test_remembered_run(masking):
    made = masking.request("POST", "/v1/runs", {"code": "print('a@b.de')"}).json
    remembered = masking.request("GET", f"/v1/runs/{made['execution_id']}")
    assert remembered.status == 200
    assert b"[EMAIL_REDACTED]" in remembered.body and b"a@b.de" not in remembered.body


def test_files_that_are_read(masking):
    talk = f"talk {uuid.uuid4()}"
    text = "to ann@example.com and more\n"
    masking.execute(f"open('note.txt', 'w').write({text!r})", conversation_id=talk)
    stars = "to *************** and more\n"
    read = call_tool(masking, "read_file", conversation_id=talk, path="note.txt")
    assert read["structuredContent"]["content"] == stars
    for offset in range(0, len(text), 5):  # a value that a part cuts through is masked, too
        part = call_tool(masking, "read_file", conversation_id=talk, path="note.txt",
                         offset=offset, length=5)["structuredContent"]
        assert part["content"] == stars[offset:offset + 5]
    record = masking.execute("len(open('note.txt').read())", conversation_id=talk)
    assert record["result"] == len(text)  # the file itself is as it was


def test_resource_that_is_read(masking):
    talk = f"talk-{uuid.uuid4()}"
    record = masking.execute("open('a.txt', 'w').write('a@b.de!')", conversation_id=talk)
    uri = record["files"][0]["uri"]
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN,
               "Mcp-Method": "resources/read", "Mcp-Name": uri}
    answer = masking.request("POST", "/mcp", modern(request(1, "resources/read", uri=uri)), headers)
    assert answer.status == 200, answer
    assert answer.json["result"]["contents"][0]["text"] == "******!"


HOSTILE = {
    "no separators": "sys.stdout.write('x' * 2_000_000 + '@example.com')",
    "digits": "sys.stdout.write('1' * 2_000_000)",
    "pairs": "sys.stdout.write('1-' * 1_000_000)",
    "signs": "sys.stdout.write('a@' * 1_000_000)",
    "zeros": "sys.stdout.buffer.write(b'\\0\\xff\\xc3' * 500_000 + b' a@b.de')",
    "escapes": "sys.stdout.write('\\x1b[31m' * 200_000 + 'a@b.de\\x1b[0m')",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_output(masking, code):
    begun = time.monotonic()
    record = masking.execute("import sys\n" + code)
    assert record["status"] == "ok", record
    assert time.monotonic() - begun < 20
    if "@" in code and "'a@'" not in code:
        assert record["masked"] == {"email": 1}
        assert "[EMAIL_REDACTED]" in record["stdout"][-60:]
    else:
        assert "masked" not in record


def test_types_are_chosen_in_the_settings(place):
    server = Server(place / "some", env=environment(BELLJAR_PRIVACY_MASK="email,iban"))
    try:
        record = server.execute(f"print({GOLDEN!r})\nprint('DE89 3704 0044 0532 0130 00')")
        assert record["stdout"] == (GOLDEN.replace("john@example.com", "[EMAIL_REDACTED]")
                                    + "\n[IBAN_REDACTED]\n")
        assert record["masked"] == {"email": 1, "iban": 1}
    finally:
        server.stop()


def test_unknown_type_stops_the_start():
    ended = belljar("serve", "--listen", "127.0.0.1:0",
                    env=environment(BELLJAR_PRIVACY_MASK="emails"))
    assert ended.returncode != 0
    assert b"BELLJAR_PRIVACY_MASK" in ended.stderr and b"emails" in ended.stderr


def test_off_unless_asked_for(server):
    record = server.execute(f"print({GOLDEN!r})")
    assert record["stdout"] == GOLDEN + "\n" and "masked" not in record
