"""What administrators do with a running server, by HTTP and with `belljar admin`."""

import json
import os
import subprocess

import pytest

from support_audit import exported
from support_binary import BINARY, COMMAND_SECONDS, environment, wait_until
from support_processes import descendants
from support_server import Server, read_answer
from test_authorization import ask, make_token

SECRET = "bj_secret_of_the_configuration_file"
MARK = "mark_of_the_guests_code_4711"
SLEEP = f"import time\n# {MARK}\ntime.sleep(60)"


@pytest.fixture(scope="module")
def ruled(session_place):
    server = Server(session_place / "ruled", env=environment(
        BELLJAR_AUTH_TOKENS=f"ada:{SECRET}", BELLJAR_LOG_LEVEL="debug"))
    server.settle()
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def roles(ruled):
    return {role: make_token(ruled.data_directory, f"of-{role}", "--role", role)
            for role in ("admin", "operator", "user", "auditor")}


def admin(server, *words, token=None, code=0):
    ended = subprocess.run(
        [str(BINARY), "admin", *map(str, words), "--url", f"http://{server.address}"],
        capture_output=True, timeout=COMMAND_SECONDS,
        env=environment(BELLJAR_TOKEN=token or server.token))
    assert ended.returncode == code, ended
    return (ended.stdout if code == 0 else ended.stderr).decode()


def guests(server):
    return [one for one in descendants(server.pid) if not one.name.startswith("belljar")]


def running(server):
    return server.request("GET", "/v1/admin/runs").json["runs"]


# Who may


OPERATE = [("GET", "/v1/admin/runs"), ("DELETE", "/v1/admin/runs/none"),
           ("GET", "/v1/admin/sessions"), ("DELETE", "/v1/admin/sessions/none"),
           ("GET", "/v1/admin/drain"), ("PUT", "/v1/admin/drain"), ("GET", "/v1/admin/quota"),
           ("GET", "/v1/admin/usage"), ("GET", "/v1/admin/conversations"),
           ("GET", "/v1/admin/version"), ("GET", "/v1/admin/blocks"),
           ("POST", "/v1/admin/blocks"), ("DELETE", "/v1/admin/blocks/none"),
           ("GET", "/v1/admin/quarantines"), ("POST", "/v1/admin/quarantines"),
           ("DELETE", "/v1/admin/quarantines/none/none")]
ADMIN = [("GET", "/v1/admin/tokens"), ("POST", "/v1/admin/tokens"),
         ("GET", "/v1/admin/tokens/none"), ("PATCH", "/v1/admin/tokens/none"),
         ("DELETE", "/v1/admin/tokens/none"), ("POST", "/v1/admin/retention"),
         ("GET", "/v1/admin/config"), ("GET", "/v1/admin/diagnostics")]


@pytest.mark.parametrize("method,path", OPERATE + ADMIN)
def test_only_who_may(ruled, roles, method, path):
    allowed = {"admin", "operator"} if (method, path) in OPERATE else {"admin"}
    for role, token in roles.items():
        body = "[]" if method in ("POST", "PUT", "PATCH") else None
        answer = ask(ruled, token, method, path, body)
        if role in allowed:
            assert answer.status not in (401, 403) and answer.status < 500, (role, answer)
        else:
            assert answer.status == 403, (role, answer)
    assert ruled.request(method, path, token=False).status == 401


# Runs and sessions


def test_lists_and_kills_a_run_of_anybody(ruled, roles):
    connection = ruled.connect()
    body = json.dumps({"code": SLEEP})
    connection.sendall(
        f"POST /execute HTTP/1.1\r\nHost: {ruled.address}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {roles['user']}\r\nContent-Length: {len(body)}\r\n\r\n"
        f"{body}".encode())
    wait_until(lambda: running(ruled), "it runs")
    [run] = running(ruled)
    assert run["principal"] == "of-user" and run["state"] == "running"
    assert MARK not in json.dumps(run)
    assert run["execution_id"] in admin(ruled, "runs")
    before = len(guests(ruled))
    admin(ruled, "kill-run", run["execution_id"], token=roles["operator"])
    with connection:
        answer = read_answer(connection)
    assert answer.status == 200 and answer.json["status"] == "cancelled", answer
    wait_until(lambda: not running(ruled), "it has ended")
    wait_until(lambda: len(guests(ruled)) <= before, "its processes are gone")
    again = ruled.request("DELETE", f"/v1/admin/runs/{run['execution_id']}")
    assert again.status in (404, 409)
    assert "HTTP 404" in admin(ruled, "kill-run", "nobody", code=1)


def test_lists_and_ends_a_session_of_anybody(ruled, roles):
    begun = ask(ruled, roles["user"], "POST", "/v1/sessions", {})
    assert begun.status == 201, begun
    name = begun.json["session_id"]
    [session] = ruled.request("GET", "/v1/admin/sessions?principal=of-user").json["sessions"]
    assert (session["session_id"], session["principal"]) == (name, "of-user")
    assert name in admin(ruled, "sessions")
    assert admin(ruled, "kill-session", name) == "done\n"
    assert ruled.request("GET", "/v1/admin/sessions").json["sessions"] == []
    assert ask(ruled, roles["user"], "GET", f"/v1/sessions/{name}").status == 404


# Draining


def test_a_drained_server_ends_what_it_has_begun(own_server):
    server = own_server()
    connection = server.start_run("import time\ntime.sleep(2)\n'whole'")
    wait_until(lambda: running(server), "it runs")
    assert "draining: true" in admin(server, "drain", "on")
    refused = server.request("POST", "/execute", {"code": "1"})
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0
    assert "no more runs" in json.dumps(exported(server.data_directory)[-1])
    assert server.request("GET", "/ready", token=False).status == 503
    assert server.request("GET", "/health", token=False).status == 200
    with connection:
        assert read_answer(connection).json["result"] == "whole"
    assert server.request("GET", "/v1/admin/drain").json == {
        "draining": True, "running": 0, "waiting": 0}
    assert server.request("PUT", "/v1/admin/drain", {"draining": False}).status == 200
    assert server.execute("6*7")["result"] == 42
    assert server.request("GET", "/ready", token=False).status == 200


@pytest.mark.parametrize("body", [{}, {"draining": 1}, {"draining": True, "more": 1}, [], "x"])
def test_an_order_that_is_none_changes_nothing(ruled, body):
    assert ruled.request("PUT", "/v1/admin/drain", body).status in (400, 422)
    assert ruled.request("GET", "/v1/admin/drain").json["draining"] is False


# Tokens


def test_tokens_are_made_changed_and_revoked(ruled):
    made = ruled.request("POST", "/v1/admin/tokens", {
        "name": "eve", "roles": ["user", "log-analysis"], "expires": "1d",
        "limits": {"runs_per_day": 5}})
    assert made.status == 201 and made.headers["Location"] == "/v1/admin/tokens/eve"
    token = made.json["token"]
    assert ask(ruled, token).json["result"] == 42
    shown = ruled.request("GET", "/v1/admin/tokens/eve")
    assert token not in shown.body.decode() and "token" not in shown.json
    assert shown.json["limits"] == {"runs_per_day": 5} and shown.json["expires"]
    assert ruled.request("POST", "/v1/admin/tokens", {"name": "eve"}).status == 409
    changed = ruled.request("PATCH", "/v1/admin/tokens/eve", {
        "roles": ["auditor"], "expires": "never",
        "limits": {"runs_per_day": None, "requests_per_minute": 100}})
    assert changed.json["limits"] == {"requests_per_minute": 100}
    assert changed.json["expires"] is None
    assert ask(ruled, token).status == 403, "its role has changed"
    assert "eve" in admin(ruled, "tokens")
    assert ruled.request("DELETE", "/v1/admin/tokens/eve").status == 204
    assert ask(ruled, token).status == 401
    assert ruled.request("DELETE", "/v1/admin/tokens/eve").status == 404
    assert token not in ruled.errors


def test_tokens_by_command(ruled):
    shown = admin(ruled, "token-create", "mallory", "--role", "operator", "--limit",
                  "runs_per_day=3")
    [token] = [line.split(": ")[1] for line in shown.splitlines() if line.startswith("token: ")]
    assert ask(ruled, token, "GET", "/v1/admin/version").status == 200
    admin(ruled, "token-change", "mallory", "--role", "user", "--limit", "runs_per_day=none")
    assert ask(ruled, token, "GET", "/v1/admin/version").status == 403
    assert "403" in admin(ruled, "runs", token=token, code=1)
    assert admin(ruled, "token-revoke", "mallory") == "done\n"


@pytest.mark.parametrize("body", [
    {}, {"name": ""}, {"name": "a b"}, {"name": "../x"}, {"name": "x" * 65}, {"name": 7},
    {"name": "x", "roles": []}, {"name": "x", "roles": "user"}, {"name": "x", "roles": [1]},
    {"name": "x", "roles": ["a b"]}, {"name": "x", "expires": "yesterday"},
    {"name": "x", "expires": 5}, {"name": "x", "limits": {"runs_per_day": -1}},
    {"name": "x", "limits": {"unknown": 1}}, {"name": "x", "limits": {"runs_per_day": 1.5}},
    {"name": "x", "limits": {"requests_per_minute": 2 ** 40}}, {"name": "x", "token": "mine"}])
def test_a_token_that_cannot_be_is_refused(ruled, body):
    assert ruled.request("POST", "/v1/admin/tokens", body).status == 400
    names = {one["name"] for one in ruled.request("GET", "/v1/admin/tokens").json["tokens"]}
    assert "x" not in names


# Configuration and diagnostics


def test_shows_the_configuration_without_secrets(ruled):
    answer = ruled.request("GET", "/v1/admin/config")
    by_key = {one["key"]: one for one in answer.json["settings"]}
    assert SECRET not in answer.body.decode()
    assert by_key["auth.tokens"]["value"] == "(set)"
    assert "BELLJAR_AUTH_TOKENS" in by_key["auth.tokens"]["origin"]
    assert by_key["limits.timeout"]["value"] == "30s"
    assert "limits.timeout" in admin(ruled, "config")


def test_diagnostics_hold_no_secret_and_no_code(ruled, roles):
    code = f"# {MARK}\nprint('{MARK}')\n1/0"
    assert ask(ruled, roles["user"], body={"code": code}).json["status"] == "error"
    assert ask(ruled, roles["user"], body={"code": MARK, "language": "none"}).status == 422
    assert ruled.request("GET", f"/v1/runners?token={ruled.token}").status in (200, 400)
    answer = ruled.request("GET", "/v1/admin/diagnostics")
    text = answer.body.decode()
    for secret in (SECRET, ruled.token, MARK, *roles.values()):
        assert secret not in text
    bundle = answer.json
    assert {"version", "isolation", "runners", "host", "settings", "metrics", "log"} <= set(bundle)
    assert any('"message":"run"' in line for line in bundle["log"])
    assert "belljar_runs_total" in bundle["metrics"] and bundle["host"]["kernel"]
    assert json.loads(admin(ruled, "diagnostics"))["version"] == bundle["version"]


def test_version_by_command(ruled):
    shown = admin(ruled, "version")
    assert f"version: {json.loads(admin(ruled, 'version', '--json'))['version']}" in shown


def test_every_line_of_a_request_names_its_principal(ruled, roles):
    ask(ruled, roles["user"])
    ask(ruled, roles["user"], body={"code": "1", "language": "none"})
    ask(ruled, roles["auditor"])
    found = [json.loads(line) for line in ruled.errors.splitlines()]
    for message in ("run", "run refused", "request"):
        lines = [line for line in found if line["message"] == message]
        assert lines and all("principal" in line for line in lines), message
    assert {"of-user", "of-auditor"} <= {line["principal"] for line in found
                                         if line["message"] == "request"}


def test_a_server_that_is_not_there(place):
    ended = subprocess.run([str(BINARY), "admin", "version", "--url", "http://127.0.0.1:9"],
                           capture_output=True, timeout=COMMAND_SECONDS,
                           env=environment(BELLJAR_TOKEN="none"))
    assert ended.returncode == 1 and b"cannot be reached" in ended.stderr
    assert os.listdir(place) == []


# Conversations


def test_conversations_of_everybody_and_what_can_go(ruled, roles):
    code = "open('kept.txt', 'w').write('x' * 1000)"
    ran = ask(ruled, roles["user"], body={"code": code, "conversation_id": "talk"})
    assert ran.json["status"] == "ok", ran
    listed = ruled.request("GET", "/v1/admin/conversations?principal=of-user")
    assert listed.status == 200, listed
    [one] = listed.json["conversations"]
    assert (one["principal"], one["conversation_id"]) == ("of-user", "talk")
    assert "talk" in admin(ruled, "conversations")
    order = {"principal": "of-user", "idle_seconds": 0}
    would = ruled.request("POST", "/v1/admin/retention", order).json
    assert [gone["conversation_id"] for gone in would["removals"]] == ["talk"]
    assert would["mode"] == "dry_run"
    assert ruled.request("GET", "/v1/admin/conversations?principal=of-user").json[
        "conversations"], "nothing is removed yet"
    assert "talk" in admin(ruled, "cleanup", "--idle", "1ms", "--principal", "of-user", "--remove")
    assert not ruled.request("GET", "/v1/admin/conversations?principal=of-user").json[
        "conversations"]
