"""The native interface: runs and what is remembered of them, sessions, conversations, policy."""

import threading
import time
import urllib.parse
import uuid

import pytest

from support_binary import wait_until
from support_events import EventStream

LONG = "import time\nprint('begun', flush=True)\ntime.sleep(30)"


def problem(answer, status, code):
    assert answer.status == status, answer
    assert answer.headers["Content-Type"] == "application/problem+json"
    found = answer.json
    assert (found["type"], found["status"], found["code"]) == ("about:blank", status, code)
    assert found["title"] and found["detail"] == found["error"]
    return found


def start(server, code, **arguments):
    answer = server.request("POST", "/v1/runs", {"code": code, **arguments},
                            {"Prefer": "respond-async"})
    assert answer.status == 202, answer
    assert answer.headers["Preference-Applied"] == "respond-async"
    assert answer.headers["Location"] == f"/v1/runs/{answer.json['execution_id']}"
    return answer.headers["Location"]


def wait_for(server, place, state="ended"):
    wait_until(lambda: server.request("GET", place).json["state"] == state, f"it is {state}", 40)
    return server.request("GET", place).json


# Refusals


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), [
    ("GET", "/v1/runs/none", None, 404, "not_found"),
    ("GET", "/v1/nothing", None, 404, "not_found"),
    ("DELETE", "/v1/runs", None, 405, "unsupported"),
    ("POST", "/v1/runs", "{", 400, "invalid_argument"),
    ("POST", "/v1/runs", {"code": "1", "language": "cobol"}, 422, "unsupported"),
    ("GET", "/v1/runs?limit=0", None, 400, "invalid_argument"),
    ("GET", "/v1/runs/%zz", None, 400, "invalid_argument"),
    ("POST", "/v1/runs", {"code": "x" * (3 << 20)}, 413, "too_large"),
])
def test_refusals_are_problems(server, method, path, body, status, code):
    problem(server.request(method, path, body), status, code)


def test_a_problem_names_the_member(server):
    wrong = problem(server.request("POST", "/v1/runs", {"code": "1", "timeout": "x"}), 400,
                    "invalid_argument")
    assert wrong["errors"][0]["pointer"] == "/timeout"
    limit = problem(server.request("POST", "/v1/runs", {"code": "1", "timeout": 10**7}), 400,
                    "invalid_argument")
    assert limit["errors"][0]["pointer"] == "/timeout"
    query = problem(server.request("GET", "/v1/runs?since=now"), 400, "invalid_argument")
    assert query["errors"][0]["parameter"] == "since"


def test_a_problem_of_the_gate(server):
    problem(server.request("GET", "/v1/runs", token=False), 401, "unauthenticated")
    problem(server.request("GET", "/v1/runs", headers={"Host": "elsewhere.example"}), 403,
            "denied")
    assert list(server.request("GET", "/metrics", token=False).json) == ["error"]


def test_a_problem_of_the_server_itself(server):
    head = f"POST /v1/runs HTTP/1.1\r\nHost: {server.address}\r\n"
    token = f"Authorization: Bearer {server.token}\r\n"
    large = (head + token + "Content-Type: application/json\r\n"
             f"Content-Length: {1 << 30}\r\n\r\n").encode()
    received = server.raw(large)
    assert b" 413 " in received.split(b"\r\n")[0]
    assert b"application/problem+json" in received


# Runs


def test_a_run_is_remembered(server):
    made = server.request("POST", "/v1/runs", {"code": "print('hello')\n6*7"}).json
    found = server.request("GET", f"/v1/runs/{made['execution_id']}").json
    assert (found["state"], found["status"], found["language"]) == ("ended", "ok", "python")
    assert found["result"]["stdout"] == "hello\n" and found["result"]["result"] == 42
    assert found["created_at"] <= found["started_at"] <= found["ended_at"]
    assert found["usage"]["wall_seconds"] > 0 and "principal" not in found


def test_runs_come_in_pages(server):
    conversation = str(uuid.uuid4())
    ids = [server.request("POST", "/v1/runs", {"code": "1", "conversation_id": conversation})
           .json["execution_id"] for _ in range(5)]
    path = f"/v1/runs?conversation_id={conversation}&limit=2"
    found, pages = [], 0
    while path:
        answer = server.request("GET", path)
        assert answer.status == 200, answer
        found += [run["execution_id"] for run in answer.json["runs"]]
        pages += 1
        link = answer.headers["Link"]
        assert (link is None) == (answer.json["next_cursor"] is None)
        path = link and link[1:link.index(">")]
    assert found == ids[::-1] and pages == 3


def test_runs_are_filtered(server):
    conversation = f"filter {uuid.uuid4()}"
    for code, language in (("1", "python"), ("raise ValueError", "python"), ("1", "javascript")):
        answer = server.request("POST", "/v1/runs", {
            "code": code, "language": language, "conversation_id": conversation})
        assert answer.status == 200, answer

    def listed(**filters):
        query = urllib.parse.urlencode({"conversation_id": conversation, **filters})
        return [run["language"] + " " + run["status"]
                for run in server.request("GET", f"/v1/runs?{query}").json["runs"]]

    assert listed() == ["javascript ok", "python error", "python ok"]
    assert listed(status="error") == ["python error"]
    assert listed(language="javascript") == ["javascript ok"]
    assert listed(since="2999-01-01") == [] and listed(until="2000-01-01T00:00:00Z") == []
    assert len(listed(since="2000-01-01", state="ended")) == 3


def test_a_cursor_that_is_none(server):
    problem(server.request("GET", "/v1/runs?cursor=nonsense"), 400, "invalid_argument")


def test_a_run_in_the_background(server):
    place = start(server, "print('later')\n6*7")
    found = wait_for(server, place)
    assert found["result"]["result"] == 42 and found["status"] == "ok"
    problem(server.request("POST", f"{place}/cancel"), 409, "conflict")


def test_a_run_is_cancelled(server):
    place = start(server, LONG)
    wait_for(server, place, "running")
    assert server.request("GET", place).json["result"] is None
    answer = server.request("POST", f"{place}/cancel")
    assert answer.status == 202, answer
    assert wait_for(server, place)["status"] == "cancelled"


def test_a_run_is_followed(server):
    place = start(server, "import time\ntime.sleep(1)\nprint('seen')\ntime.sleep(.5)\n6*7")
    stream = EventStream(server, path=f"{place}/events")
    events = stream.rest()
    assert events[0].name == "started" and events[-1].name == "result"
    assert events[-1].data["result"] == 42
    assert "".join(one.data["text"] for one in events if one.name == "stdout") == "seen\n"


def test_following_a_run_that_has_ended(server):
    made = server.request("POST", "/v1/runs", {"code": "6*7"}).json
    stream = EventStream(server, path=f"/v1/runs/{made['execution_id']}/events")
    assert [one.name for one in stream.rest()] == ["started", "result"]


# Keys


def keyed(server, key, body, path="/v1/runs"):
    return server.request("POST", path, body, {"Idempotency-Key": key})


def test_a_key_is_answered_once(server):
    key = str(uuid.uuid4())
    first = keyed(server, key, {"code": "import uuid\nstr(uuid.uuid4())"})
    again = keyed(server, key, {"code": "import uuid\nstr(uuid.uuid4())"})
    assert first.status == again.status == 200 and first.body == again.body
    assert first.headers["Idempotency-Replayed"] is None
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(keyed(server, key, {"code": "2"}), 422, "unsupported")


def test_a_key_whose_request_is_under_way(server):
    key, body = str(uuid.uuid4()), {"code": "import time\ntime.sleep(2)\n6*7"}
    answers = []
    first = threading.Thread(target=lambda: answers.append(keyed(server, key, body)))
    first.start()
    wait_until(lambda: any(run["state"] == "running" for run in
                           server.request("GET", "/v1/runs").json["runs"]), "it runs")
    taken = keyed(server, key, body)
    assert taken.headers["Retry-After"]
    problem(taken, 409, "conflict")
    first.join()
    assert answers[0].status == 200 and answers[0].json["result"] == 42


def test_a_key_survives_a_restart(own_server, place):
    data, key = place / "data", str(uuid.uuid4())
    server = own_server(data_directory=data)
    first = keyed(server, key, {"code": "6*7"})
    server.stop()
    again = keyed(own_server(data_directory=data), key, {"code": "6*7"})
    assert again.body == first.body and again.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("key", ["a b", "x" * 256, ""])
def test_a_key_that_is_none(server, key):
    problem(keyed(server, key, {"code": "1"}), 400, "invalid_argument")


def test_no_token_is_kept_with_a_key(server):
    problem(keyed(server, str(uuid.uuid4()), {"name": "kept"}, "/v1/admin/tokens"), 400,
            "invalid_argument")


# Sessions, conversations


def test_a_session(server):
    made = server.request("POST", "/v1/sessions", {"code": "x = 1"})
    assert made.status == 201 and made.headers["Location"].startswith("/v1/sessions/")
    place, session = made.headers["Location"], made.json["session_id"]
    run = {"code": "x += 1\nx", "session_id": session}
    assert server.request("POST", "/v1/runs", run).json["result"] == 2
    assert server.request("GET", f"{place}/diff?cells=1").json["diff"]["variables"]["changed"]
    assert server.request("POST", f"{place}/undo", {"cells": 1}).status == 200
    assert server.request("POST", "/v1/runs", run).json["result"] == 2
    forked = server.request("POST", f"{place}/fork").json
    assert forked["forked_from"] == session
    assert server.request("POST", f"{place}/reset", {}).status == 200
    listed = server.request("GET", "/v1/sessions?limit=200").json["sessions"]
    assert {session, forked["session_id"]} <= {one["session_id"] for one in listed}
    for one in (session, forked["session_id"]):
        assert server.request("DELETE", f"/v1/sessions/{one}").status == 200
    problem(server.request("GET", place), 404, "not_found")


def test_a_conversation(server):
    name = f"über {uuid.uuid4()}/.."
    made = server.request("POST", "/v1/conversations", {"conversation_id": name})
    assert made.status == 201 and made.json["conversation_id"] == name
    place = made.headers["Location"]
    assert server.request("POST", "/v1/conversations", {"conversation_id": name}).status == 200
    server.request("POST", "/v1/runs", {"code": "open('a', 'w').write('12345')",
                                        "conversation_id": name})
    found = server.request("GET", place).json
    assert (found["files"], found["bytes"]) == (1, 5)
    assert found["usage"]["bytes"] >= 5 and found["usage"]["most_bytes"] > 5
    assert server.request("DELETE", place).status == 204
    problem(server.request("GET", place), 404, "not_found")
    problem(server.request("DELETE", place), 404, "not_found")


def test_conversations_come_in_pages(server):
    names = {server.request("POST", "/v1/conversations").json["conversation_id"]
             for _ in range(3)}
    found, path = set(), "/v1/conversations?limit=2"
    while path:
        answer = server.request("GET", path)
        found |= {one["conversation_id"] for one in answer.json["conversations"]}
        path = answer.headers["Link"] and answer.headers["Link"][1:].split(">")[0]
    assert names <= found


def test_usage(server):
    before = server.request("GET", "/v1/usage").json
    server.execute("1")
    after = server.request("GET", "/v1/usage").json
    assert after["today"]["runs"] > before["today"]["runs"] or (
        after["today"]["day"] != before["today"]["day"])
    assert after["storage"]["most_bytes"] > 0


# Policy, audit, runners


def test_a_decision_without_a_run(server):
    limits = server.request("POST", "/v1/policy/preview",
                            {"code": "1", "timeout": 80000, "memory_limit": "64m"}).json
    assert limits["allowed"] and limits["capped"]["timeout"]["asked"] == 80000
    assert limits["limits"]["memory_bytes"] == 64 << 20
    assert limits["isolation"]["grade"] and limits["runner"]
    ran = server.execute("1", timeout=80000, memory_limit="64m")
    assert limits["capped"] == ran["capped"]
    for body, status in (({"code": "1", "language": "cobol"}, 422), ({"code": 1}, 400),
                         ({"code": "1", "memory_limit": "1k"}, 400)):
        refused = server.request("POST", "/v1/policy/preview", body).json
        assert (refused["allowed"], refused["status"]) == (False, status)
        assert server.request("POST", "/v1/runs", body).json["detail"] == refused["reason"]


def test_the_audit_shows_everybodys_runs(server):
    made = server.execute("1")["execution_id"]
    wait_until(lambda: made in [one["execution_id"] for one in server.request(
        "GET", "/v1/audit?principal=&limit=200").json["records"]], "it is recorded", 10)
    assert server.request("GET", "/v1/audit?principal=nobody").json["records"] == []


def test_runners(server):
    all_of_them = server.request("GET", "/v1/runners")
    names = [one["language"] for one in all_of_them.json["runners"]]
    assert "python" in names
    one = server.request("GET", "/v1/runners/python").json
    assert one["language"] == "python" and one["usable"]
    tag = all_of_them.headers["ETag"]
    again = server.request("GET", "/v1/runners", headers={"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    problem(server.request("GET", "/v1/runners/cobol"), 404, "not_found")


def test_times_are_now(server):
    made = server.request("POST", "/v1/runs", {"code": "1"}).json["execution_id"]
    created = server.request("GET", f"/v1/runs/{made}").json["created_at"]
    assert created[:10] == time.strftime("%Y-%m-%d", time.gmtime())
