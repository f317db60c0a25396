"""Alerts: who is told of what, and what is done by itself."""

import json
import socket
import subprocess
import uuid

import pytest

from support_binary import BINARY, COMMAND_SECONDS, environment, service_environment, wait_until
from support_events import EventStream
from support_operations import log_lines
from support_server import Server, read_answer
from support_webhook import SECRET, Receiver, free_port
from test_authorization import ask, make_token

# Refused by the kernel, and nothing that an ordinary program does.
ESCAPE = "import ctypes\nctypes.CDLL(None).syscall(165, 0, 0, 0, 0, 0)"  # mount
ESCAPE_AND_STAY = ESCAPE + "\nimport time\ntime.sleep(60)"
# Of two kinds, so that one run counts twice.
LOOKUP = ("import socket\nfor place in ('192.0.2.1', '192.0.2.2'):\n"
          "    with socket.socket() as one:\n        one.connect_ex((place, 80))")
RULES = """
[rules.denials]
count = 4
cool_down = "1h"
severity = "low"

[rules.escapes]
count = 3
cool_down = "1h"

[rules.access]
count = 3
cool_down = "1h"
"""


def write_rules(path, text):
    staged = path.with_suffix(".new")
    staged.write_text(text)
    staged.chmod(0o644)
    staged.rename(path)


class Alarmed:
    """A server with rules, a webhook and a token for each test."""

    def __init__(self, place, receiver, rules=RULES):
        self.rules = place / "rules.toml"
        write_rules(self.rules, rules)
        self.receiver = receiver
        self.server = Server(place / "alarmed", env=environment(
            BELLJAR_ALERTS_RULES=str(self.rules), BELLJAR_ALERTS_WEBHOOK=receiver.url,
            BELLJAR_ALERTS_WEBHOOK_SECRET=SECRET))
        self.server.settle()

    def caller(self, role="user"):
        name = f"of-{uuid.uuid4().hex[:12]}"
        return Caller(self.server, name, make_token(self.server.data_directory, name,
                                                     "--role", role))

    def set_rules(self, text):
        before = len(log_lines(self.server.errors, "the rules about alerts were read"))
        write_rules(self.rules, text)
        wait_until(lambda: len(log_lines(self.server.errors, "the rules about alerts were read"))
                   > before, "the rules are read again")

    def alerts(self, **query):
        tail = "&".join(f"{key}={value}" for key, value in query.items())
        return self.server.request("GET", f"/v1/alerts?{tail}").json["alerts"]


class Caller:
    def __init__(self, server, name, token):
        self.server, self.name, self.token = server, name, token

    def run(self, code, status=200, **arguments):
        answer = ask(self.server, self.token, body={"code": code, **arguments})
        assert answer.status == status, answer
        return answer.json

    def ask(self, method, path, body=None):
        return ask(self.server, self.token, method, path, body)

    def start(self, code, **arguments):
        body = json.dumps({"code": code, **arguments})
        connection = self.server.connect()
        connection.sendall(
            f"POST /execute HTTP/1.1\r\nHost: {self.server.address}\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return connection


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as made:
        yield made


@pytest.fixture(scope="module")
def alarmed(session_place, receiver):
    place = session_place / "alerts"
    place.mkdir()
    made = Alarmed(place, receiver)
    yield made
    assert made.server.stop() == 0


@pytest.fixture
def usual(alarmed):
    """The rules of the module are in force again after the test."""
    yield alarmed
    alarmed.set_rules(RULES + f"# {uuid.uuid4()}\n[rules.r{uuid.uuid4().hex}]\nkinds = ['tool']\n")


def admin(server, *words, code=0):
    ended = subprocess.run(
        [str(BINARY), "admin", *map(str, words), "--url", f"http://{server.address}"],
        capture_output=True, timeout=COMMAND_SECONDS,
        env=environment(BELLJAR_TOKEN=server.token))
    assert ended.returncode == code, ended
    return (ended.stdout if code == 0 else ended.stderr).decode()


# Counting


def test_denials_of_one_principal_raise_one_alert(alarmed):
    caller, other = alarmed.caller(), alarmed.caller()
    other.run(LOOKUP)
    caller.run(LOOKUP)
    assert alarmed.alerts(principal=caller.name) == []
    for _ in range(4):
        caller.run(LOOKUP)
    [alert] = alarmed.alerts(principal=caller.name)
    assert alert["rule"] == "denials" and alert["events"] == 4 and alert["severity"] == "low"
    assert alert["kind"] == "denial" and alert["name"] == "network.off" and alert["done"] == []
    assert "192.0.2." in alert["text"] and alert["execution_id"]
    assert alarmed.alerts(principal=other.name) == []
    [line] = [one for one in log_lines(alarmed.server.errors, "alert")
              if one["principal"] == caller.name]
    assert line["rule"] == "denials" and line["alert_id"] == alert["id"]


def test_ordinary_programs_raise_none(alarmed):
    caller = alarmed.caller()
    for _ in range(6):
        caller.run("import subprocess, socket, threading\n"
                   "a, b = socket.socketpair()\n"
                   "threading.Thread(target=a.send, args=(b'x',)).start()\n"
                   "b.recv(1), subprocess.run(['true']).returncode")
        caller.run("1/0")
        caller.run("open('/etc/shadow')")
    assert alarmed.alerts(principal=caller.name) == []


def test_escapes_are_seen_in_runs_and_in_sessions(alarmed):
    caller = alarmed.caller()
    begun = caller.run(ESCAPE, session=True)
    # Each kind of attempt is told once in the life of a jar.
    caller.run(ESCAPE.replace("165", "101"), session_id=begun["session_id"])
    assert alarmed.alerts(principal=caller.name) == []
    caller.run(ESCAPE)
    [alert] = alarmed.alerts(principal=caller.name)
    assert (alert["rule"], alert["events"], alert["severity"]) == ("escapes", 3, "high")
    assert alert["name"] == "seccomp.mount"
    assert caller.ask("DELETE", f"/v1/sessions/{begun['session_id']}").status == 200


def test_a_program_of_another_machine_is_an_escape(alarmed):
    caller = alarmed.caller()
    code = "import ctypes\nctypes.CDLL(None).syscall(0x40000000 | 39)"  # a call of x32
    for _ in range(3):
        assert caller.run(code)["denials"][0]["rule"] == "seccomp.kill"
    [alert] = alarmed.alerts(principal=caller.name)
    assert alert["rule"] == "escapes" and alert["name"] == "seccomp.kill"


def test_strangers_are_counted_by_address(alarmed):
    for number in range(5):
        answer = alarmed.server.request("GET", "/v1/runners",
                                        headers={"Authorization": f"Bearer wrong{number}"})
        assert answer.status in (401, 429)
    [alert] = alarmed.alerts(rule="access")
    assert alert["address"] == "127.0.0.1" and "principal" not in alert and alert["events"] == 3
    assert "wrong" not in json.dumps(alert)


# Who is told


def test_the_webhook_gets_what_is_signed(alarmed, receiver):
    caller = alarmed.caller()
    for _ in range(3):
        caller.run(ESCAPE)
    [alert] = alarmed.alerts(principal=caller.name)
    wait_until(lambda: any(one.alert["id"] == alert["id"] for one in receiver.taken), "it comes")
    [one] = [one for one in receiver.taken if one.alert["id"] == alert["id"]]
    assert one.alert == alert and one.is_signed() and not one.is_signed("another key")
    assert one.headers["Content-Type"] == "application/json"
    figures = alarmed.server.request("GET", "/v1/alerts").json["webhook"]
    assert figures["sent"] >= 1 and figures["dropped"] == 0


def test_watchers_see_their_own_and_overseers_all(alarmed):
    caller, other = alarmed.caller(), alarmed.caller()
    auditor, operator = alarmed.caller("auditor"), alarmed.caller("operator")

    def watch(who):
        return EventStream(alarmed.server, path="/mcp/events",
                           headers={"Authorization": f"Bearer {who.token}"})

    with watch(caller) as own, watch(other) as foreign, watch(auditor) as audit, \
            watch(operator) as operate:
        for _ in range(3):
            caller.run(ESCAPE)
        for stream in (own, audit, operate):
            event = stream.next()
            while event.name != "alert":
                event = stream.next()
            assert event.data["principal"] == caller.name and event.data["rule"] == "escapes"
        other.run("1")
        names = [foreign.next().name for _ in range(2)]
        assert names == ["run_started", "run_finished"]


def test_lists_show_others_alerts_only_to_who_oversees(alarmed):
    caller, other = alarmed.caller(), alarmed.caller()
    for _ in range(3):
        caller.run(ESCAPE)
    own = caller.ask("GET", "/v1/alerts").json
    assert [one["principal"] for one in own["alerts"]] == [caller.name] and "rules" not in own
    assert caller.ask("GET", f"/v1/alerts?principal={other.name}").json["alerts"] == own["alerts"]
    assert other.ask("GET", f"/v1/alerts?principal={caller.name}").json["alerts"] == []
    for role in ("auditor", "operator", "admin"):
        seen = alarmed.caller(role).ask("GET", f"/v1/alerts?principal={caller.name}").json
        assert seen["alerts"] == own["alerts"] and len(seen["rules"]) >= 9
    assert len(alarmed.alerts(limit=1)) == 1
    for query in ("limit=0", "limit=x", "who=me"):
        assert alarmed.server.request("GET", f"/v1/alerts?{query}").status == 400
    assert caller.name in admin(alarmed.server, "alerts")


# What is done by itself


def test_a_rule_blocks_for_a_time_and_an_operator_lifts_it(usual):
    usual.set_rules('[rules.escapes]\ncount = 1\nblock = "1h"\n')
    caller, other = usual.caller(), usual.caller()
    caller.run(ESCAPE)
    refused = caller.ask("POST", "/execute", {"code": "1"})
    assert refused.status == 403 and "blocked" in refused.json["error"], refused
    assert 3500 < int(refused.headers["Retry-After"]) <= 3600
    assert caller.ask("GET", "/v1/runners").status == 200
    assert other.run("6*7")["result"] == 42
    [alert] = usual.alerts(principal=caller.name)
    assert alert["done"] == ["blocked the principal for 3600 seconds"]
    [block] = [one for one in usual.server.request("GET", "/v1/admin/blocks").json["blocks"]
               if one["principal"] == caller.name]
    assert 'rule "escapes"' in block["reason"]
    assert caller.name in admin(usual.server, "blocks")
    assert admin(usual.server, "unblock", caller.name) == "done\n"
    assert caller.run("6*7")["result"] == 42
    assert "HTTP 404" in admin(usual.server, "unblock", caller.name, code=1)
    # Refusals because of the block are no denials.
    assert len(usual.alerts(principal=caller.name)) == 1


def test_a_rule_ends_the_run_at_once(usual):
    usual.set_rules('[rules.escapes]\ncount = 1\nkill = "run"\n')
    caller = usual.caller()
    with caller.start("import time\ntime.sleep(4)\n'whole'") as quiet:
        record = caller.run(ESCAPE_AND_STAY)
        assert record["status"] == "cancelled" and record["execution_time"] < 30
        assert read_answer(quiet).json["result"] == "whole"


def test_a_rule_ends_everything_of_the_principal(usual):
    usual.set_rules('[rules.escapes]\ncount = 1\nkill = "all"\n')
    caller, other = usual.caller(), usual.caller()
    session = caller.run("kept = 1", session=True)["session_id"]
    with caller.start("import time\ntime.sleep(60)") as quiet, \
            other.start("import time\ntime.sleep(3)\n'whole'") as foreign:
        wait_until(lambda: len(usual.server.request("GET", "/v1/admin/runs").json["runs"]) == 2,
                   "both run")
        assert caller.run(ESCAPE_AND_STAY)["status"] == "cancelled"
        assert read_answer(quiet).json["status"] == "cancelled"
        assert read_answer(foreign).json["result"] == "whole"
    wait_until(lambda: caller.ask("GET", f"/v1/sessions/{session}").status == 404, "it ends")


def test_a_rule_quarantines_the_conversation(usual):
    usual.set_rules("[rules.escapes]\ncount = 1\nquarantine = true\n")
    caller = usual.caller()
    caller.run("open('note.txt', 'w').write('kept')", conversation_id="talk")
    session = caller.run("1", session=True, conversation_id="talk")["session_id"]
    caller.run(ESCAPE, conversation_id="talk")
    refused = caller.ask("POST", "/execute", {"code": "1", "conversation_id": "talk"})
    assert refused.status == 403 and "quarantine" in refused.json["error"], refused
    files = "/v1/conversations/talk/files"
    assert caller.ask("GET", files).status == 403
    assert caller.ask("GET", f"{files}/note.txt").status == 403
    assert caller.ask("PUT", f"{files}/new.txt", "x").status == 403
    assert caller.ask("DELETE", f"{files}/note.txt").status == 403
    assert caller.ask("DELETE", "/v1/conversations/talk").status == 403
    wait_until(lambda: caller.ask("GET", f"/v1/sessions/{session}").status == 404,
               "its session ends")
    assert caller.run("1", conversation_id="other")["status"] == "ok"
    assert caller.name in admin(usual.server, "quarantines")
    evidence = f"/v1/admin/quarantines/{caller.name}/talk/files"
    assert [one["path"] for one in usual.server.request("GET", evidence).json["files"]] == [
        "note.txt"]
    assert usual.server.request("GET", f"{evidence}/note.txt").body == b"kept"
    for role in ("user", "operator", "auditor"):
        assert usual.caller(role).ask("GET", evidence).status == 403
    other = f"/v1/admin/quarantines/{caller.name}/other/files"
    assert usual.server.request("GET", other).status == 404
    report = usual.server.request("POST", "/v1/admin/retention", {
        "mode": "remove", "age_seconds": 0, "principal": caller.name}).json
    assert "talk" not in [one["conversation_id"] for one in report["removals"]]
    admin(usual.server, "release", caller.name, "talk")
    assert caller.run("open('note.txt').read()", conversation_id="talk")["result"] == "kept"
    assert "HTTP 404" in admin(usual.server, "release", caller.name, "talk", code=1)


def test_holds_outlive_a_restart(own_server, place):
    data = place / "kept"
    server = own_server(data_directory=data)
    token = make_token(data, "ann", "--role", "user")
    admin(server, "block", "ann", "--time", "1h", "--reason", "looked odd")
    admin(server, "quarantine", "-", "talk")
    in_talk = {"code": "1", "conversation_id": "talk"}
    assert server.request("POST", "/execute", in_talk).status == 403
    assert server.stop() == 0
    again = own_server(data_directory=data)
    assert ask(again, token).status == 403
    assert "looked odd" in admin(again, "blocks")
    assert again.request("POST", "/execute", in_talk).status == 403
    admin(again, "unblock", "ann")
    admin(again, "release", "-", "talk")
    assert ask(again, token).json["result"] == 42
    assert again.execute("1", conversation_id="talk")["result"] == 1
    assert (data / "alerts" / "alerts.json").stat().st_mode & 0o077 == 0
    # What is in the file is what was seen last: another grade is worth an alert.
    assert again.stop() == 0
    kept = json.loads((data / "alerts" / "alerts.json").read_text())
    (data / "alerts" / "alerts.json").write_text(json.dumps(kept | {"grade": "unheard-of"}))
    last = own_server(data_directory=data)
    [alert] = last.request("GET", "/v1/alerts").json["alerts"]
    assert alert["rule"] == "grade" and alert["details"]["before"] == "unheard-of"
    assert alert["details"]["now"] == kept["grade"]


@pytest.mark.parametrize("path,body", [
    ("blocks", {}), ("blocks", []), ("blocks", {"principal": "a"}),
    ("blocks", {"principal": 1, "seconds": 1}), ("blocks", {"principal": "a", "seconds": 0}),
    ("blocks", {"principal": "a", "seconds": 1e99}), ("blocks", {"principal": "a", "seconds": "1"}),
    ("blocks", {"principal": "a" * 1000, "seconds": 1}),
    ("blocks", {"principal": "a", "seconds": 1, "more": 1}),
    ("blocks", {"principal": "a", "seconds": 1, "reason": "r" * 5000}),
    ("quarantines", {"principal": "a"}), ("quarantines", {"principal": "a", "conversation_id": 1}),
    ("quarantines", "x"), ("quarantines", {"conversation_id": "x"})])
def test_orders_that_are_none_hold_nobody(alarmed, path, body):
    before = alarmed.server.request("GET", f"/v1/admin/{path}").json
    answer = alarmed.server.request("POST", f"/v1/admin/{path}", body)
    assert answer.status == 400, answer
    assert alarmed.server.request("GET", f"/v1/admin/{path}").json == before


# The webhook in trouble


def test_a_receiver_that_never_answers_keeps_nobody_from_stopping(place):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        write_rules(place / "rules.toml", "[rules.escapes]\ncount = 1\n")
        server = Server(place / "silent", env=environment(
            BELLJAR_ALERTS_RULES=str(place / "rules.toml"), BELLJAR_ALERTS_WEBHOOK_SECRET=SECRET,
            BELLJAR_ALERTS_WEBHOOK=f"http://127.0.0.1:{silent.getsockname()[1]}/"))
        server.execute(ESCAPE)
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(4) == b"POST"
            assert server.execute("6*7")["result"] == 42
            assert server.stop() == 0


def test_a_receiver_that_fails_gets_it_again(place):
    with Receiver(deeds=[500, "drop", 503]) as receiver:
        made = Alarmed(place, receiver, "[rules.escapes]\ncount = 1\n")
        try:
            made.caller().run(ESCAPE)
            [alert] = receiver.wait_for(1)
            assert len(receiver.attempts) == 4
            assert {one.body for one in receiver.attempts} == {receiver.taken[0].body}
            assert all(one.is_signed() for one in receiver.attempts)
            assert alert["rule"] == "escapes"
        finally:
            assert made.server.stop() == 0


def test_a_receiver_that_is_down_delays_nobody(place):
    port = free_port()
    write_rules(place / "rules.toml", '[rules.escapes]\ncount = 1\ncool_down = "0s"\n')
    server = Server(place / "down", env=environment(
        BELLJAR_ALERTS_RULES=str(place / "rules.toml"), BELLJAR_ALERTS_WEBHOOK_SECRET=SECRET,
        BELLJAR_ALERTS_WEBHOOK=f"http://127.0.0.1:{port}/"))
    try:
        many = ("import ctypes\nlibc = ctypes.CDLL(None)\n"
                "for n in (165, 101, 321, 246, 175, 155):\n    libc.syscall(n, 0, 0, 0, 0, 0)")
        for _ in range(60):
            assert server.execute(many)["execution_time"] < 20
        figures = server.request("GET", "/v1/alerts").json["webhook"]
        assert figures["waiting"] <= 256 and figures["sent"] == 0
        assert figures["waiting"] + figures["dropped"] + figures["given_up"] >= 300
        assert figures["dropped"] > 0
        with Receiver(port=port) as receiver:
            receiver.wait_for(1, 60)
            assert receiver.taken[0].is_signed()
    finally:
        assert server.stop() == 0


# Rules that are none


@pytest.mark.parametrize("text,says", [
    ("[rules.escapes]\ncuont = 1\n", '"cuont" is not known'),
    ("[rules.new]\ncount = 1\n", '"kinds" must name some of'),
    ("[rules.escapes]\nblock = \"soon\"\n", '"block" must be a time'),
    ("[[[", "line 1"), (b"\xff".decode("latin-1") * 10, "rules.toml"),
    pytest.param("x" * (2 << 20), "1 MiB", id="too-large")])
def test_a_bad_file_stops_the_start_and_later_changes_nothing(alarmed, place, text, says):
    path = place / "rules.toml"
    write_rules(path, text)
    ended = subprocess.run(
        [str(BINARY), "serve", "--listen", "127.0.0.1:0", "--data-dir", str(place / "data")],
        capture_output=True, timeout=COMMAND_SECONDS,
        env=service_environment(environment(BELLJAR_ALERTS_RULES=str(path))))
    assert ended.returncode != 0 and says in ended.stderr.decode(), ended


def test_a_bad_file_keeps_the_rules_in_force_and_says_why(usual):
    before = usual.server.request("GET", "/v1/alerts").json["rules"]
    write_rules(usual.rules, "[rules.escapes]\ncuont = 1\n")
    wait_until(lambda: [one for one in usual.alerts(rule="policy")
                        if "cuont" in one["details"]["reason"]], "somebody is told")
    assert usual.server.request("GET", "/v1/alerts").json["rules"] == before
    [line, *_] = log_lines(usual.server.errors,
                           "the rules about alerts are not valid; those in force stay")
    assert "cuont" in line["reason"]
    # Nor is a file taken that others may write.
    usual.rules.write_text("[rules.escapes]\ncount = 1\n")
    usual.rules.chmod(0o666)
    wait_until(lambda: "chmod go-w" in usual.server.errors, "it is refused")
    assert usual.server.request("GET", "/v1/alerts").json["rules"] == before


@pytest.mark.parametrize("settings,says", [
    ({"BELLJAR_ALERTS_WEBHOOK": "http://192.0.2.1/"}, "http is for this machine only"),
    ({"BELLJAR_ALERTS_WEBHOOK": "https://example.org/"}, "alerts.webhook_secret")])
def test_a_bad_webhook_stops_the_start(place, settings, says):
    ended = subprocess.run(
        [str(BINARY), "serve", "--listen", "127.0.0.1:0", "--data-dir", str(place / "data")],
        capture_output=True, timeout=COMMAND_SECONDS,
        env=service_environment(environment(**settings)))
    assert ended.returncode != 0 and says in ended.stderr.decode(), ended
