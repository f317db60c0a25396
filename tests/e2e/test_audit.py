"""Every run and every decision is in the audit trail before its answer, and stays as it was."""

import csv
import hashlib
import io
import json
import re
import signal
import subprocess

import pytest

from support_audit import audit, exported, trail_of, verify
from support_binary import BINARY, belljar, environment, wait_until
from support_mcp import call_tool
from support_server import Server

SECRET = "a-secret-of-the-configuration"


@pytest.fixture(scope="module")
def kept(session_place):
    """A server with a trail that holds a bit of everything."""
    started = Server(session_place / "audited",
                     env=environment(BELLJAR_FILES_SECRET=SECRET * 2,
                                     BELLJAR_AUDIT_SIGN_EVERY="1s"))
    started.settle()
    yield started
    assert started.stop() == 0


def records(server, **wanted):
    query = "&".join(f"{name}={value}" for name, value in wanted.items())
    answer = server.request("GET", f"/v1/audit/records?{query}")
    assert answer.status == 200, answer
    return answer.json["records"]


def record_of(server, run):
    """That of one run; it is there as soon as the answer is."""
    found = records(server, execution_id=run["execution_id"], kind="run")
    assert len(found) == 1, found
    return found[0]


def make_token(server, name, *roles):
    answer = server.request("POST", "/v1/admin/tokens", {"name": name, "roles": list(roles)})
    assert answer.status == 201, answer
    return {"Authorization": f"Bearer {answer.json['token']}"}


def test_a_run_is_recorded_with_what_it_was_and_did(kept):
    code = "import sys; open('made.txt', 'w').write('x'); sys.exit(3)"
    answer = kept.request("POST", "/v1/runs", {"code": code, "conversation_id": "talk-1"},
                          {"User-Agent": "tests/1.0"})
    run, record = answer.json, record_of(kept, answer.json)
    body, personal = record["body"], record["personal"]
    assert (body["status"], body["exit_code"], body["signal"]) == ("error", 3, None)
    assert (body["tool"], body["protocol"]) == ("POST /v1/runs", "rest")
    assert body["isolation"]["grade"] == run["isolation"]["grade"]
    assert body["limits"]["memory_bytes"] == 256 << 20
    assert body["usage"]["cpu_us"] > 0 and body["duration_us"] > 0
    assert body["profile"] == "standard"
    assert personal["principal"] == ""
    assert (personal["client"], personal["address"]) == ("tests/1.0", "127.0.0.1")
    assert personal["conversation_id"] == "talk-1"
    assert personal["code_sha256"] == hashlib.sha256(code.encode()).hexdigest()
    assert "code" not in personal
    assert [file["name"] for file in personal["files"]["produced"]] == ["made.txt"]


def test_a_call_by_mcp_names_its_tool(kept):
    call_tool(kept, "execute_code", code="print('by mcp')")
    newest = records(kept, kind="run", limit=1)[0]
    assert (newest["body"]["tool"], newest["body"]["protocol"]) == ("execute_code", "mcp")
    assert newest["personal"]["address"] == "127.0.0.1"


def test_what_was_refused_is_recorded_too(kept):
    assert kept.request("POST", "/execute", {"code": "1", "language": "klingon"}).status >= 400
    refused = records(kept, kind="refusal", limit=1)[0]
    assert refused["body"]["status"] == "refused"
    assert "klingon" in refused["personal"]["reason"]


def test_what_operators_decide_is_recorded(kept):
    make_token(kept, "shortlived", "user")
    assert kept.request("DELETE", "/v1/admin/tokens/shortlived").status == 204
    session = kept.request("POST", "/v1/sessions", {}).json["session_id"]
    assert kept.request("DELETE", f"/v1/admin/sessions/{session}").status == 204
    made = [(one["body"]["decision"], one["body"]["status"])
            for one in records(kept, kind="decision", limit=3)]
    assert made == [("killSession", "done"), ("revokeToken", "done"), ("createToken", "done")]
    done = belljar("token", "--data-dir", kept.data_directory, "create", "byhand")
    assert done.returncode == 0, done.stderr
    newest = records(kept, kind="decision", limit=1)[0]
    assert newest["body"]["decision"] == "createToken"
    assert newest["personal"]["target"] == "byhand"


def test_who_is_turned_away_is_recorded(kept):
    assert kept.request("GET", "/v1/runs", token=False).status == 401
    user = make_token(kept, "curious", "user")
    assert kept.request("GET", "/v1/audit/records", headers=user).status == 403
    newest = records(kept, kind="access", limit=2)
    assert [one["body"]["http_status"] for one in newest] == [403, 401]
    assert newest[0]["personal"]["principal"] == "curious"


def test_a_reload_is_recorded(kept):
    kept.process.send_signal(signal.SIGHUP)
    wait_until(lambda: records(kept, kind="configuration"), "the reload is recorded")


def test_auditors_may_look_and_only_administrators_may_erase(kept):
    auditor = make_token(kept, "watcher", "auditor")
    for path in ("records", "chain", "verification", "key"):
        assert kept.request("GET", f"/v1/audit/{path}", headers=auditor).status == 200
    refused = kept.request("POST", "/v1/audit/erasures", {"principal": "x"}, headers=auditor)
    assert refused.status == 403


def test_pages_hold_every_record_once(kept):
    for _ in range(3):
        kept.execute("1")
    seen, cursor = [], ""
    while cursor is not None:
        page = kept.request("GET", f"/v1/audit/records?limit=7{cursor}").json
        seen += [record["seq"] for record in page["records"]]
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    assert seen == list(range(seen[0], 0, -1))


@pytest.mark.parametrize("query", ["cursor=x", "cursor=0", "limit=0", "since=yesterday", "who=me"])
def test_a_wrong_question_is_refused(kept, query):
    assert kept.request("GET", f"/v1/audit/records?{query}").status == 400


def test_the_server_verifies_its_own_trail(kept):
    assert kept.request("POST", "/v1/audit/verification").status == 202
    state = wait_until(
        lambda: (now := kept.request("GET", "/v1/audit/verification").json)["report"] and now,
        "the verification ends")
    assert state["report"]["intact"] is True, state
    chain = kept.request("GET", "/v1/audit/chain").json
    assert chain["last_seq"] >= state["report"]["last_seq"] and chain["writable"]


def test_the_trail_is_signed_by_itself(kept):
    kept.execute("1")
    last = kept.request("GET", "/v1/audit/chain").json["last_seq"]
    wait_until(lambda: kept.request("GET", "/v1/audit/chain").json["signed_seq"] > last,
               "the end is signed")


def test_the_command_works_beside_the_server(kept):
    run = kept.execute("print('found by the command')")
    found = audit(kept.data_directory, "query", "--run", run["execution_id"])
    assert json.loads(found.stdout)["body"]["execution_id"] == run["execution_id"]
    table = audit(kept.data_directory, "export", "--kind", "run", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table.stdout.decode())))
    assert run["execution_id"] in {row["execution_id"] for row in rows}
    assert verify(kept.data_directory)["intact"]
    pem = audit(kept.data_directory, "key").stdout
    assert pem == kept.request("GET", "/v1/audit/key").body
    assert audit(kept.data_directory, "query", "--since", "nonsense").returncode == 2
    assert audit(kept.data_directory, "frobnicate").returncode == 2


def test_signatures_can_be_verified_without_belljar(kept, place):
    """By what docs/AUDIT.md tells of the format, and with OpenSSL."""
    place.mkdir(exist_ok=True)
    signature = records(kept, kind="signature", limit=1)[0]
    text = f"belljar audit signature\n{signature['seq'] - 1}\n{signature['prev']}\n"
    (place / "text").write_bytes(text.encode())
    (place / "signature").write_bytes(bytes.fromhex(signature["body"]["signature"]))
    (place / "key.pem").write_bytes(audit(kept.data_directory, "key").stdout)
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", place / "key.pem",
                           "-rawin", "-in", place / "text", "-sigfile", place / "signature"],
                          capture_output=True, check=False)
    assert done.returncode == 0, done
    line = audit(kept.data_directory, "export", "--kind", "run").stdout.splitlines()[0]
    core = line[:line.index(b',"hash":"')]
    assert hashlib.sha256(b"belljar audit record\n" + core).hexdigest() == \
        json.loads(line)["hash"]


def test_erasure_takes_the_person_and_leaves_the_proof(kept):
    forgotten = make_token(kept, "forgotten", "user")
    run = kept.request("POST", "/execute", {"code": "print('private')",
                                            "conversation_id": "private-talk"}, forgotten).json
    answer = kept.request("POST", "/v1/audit/erasures",
                          {"principal": "forgotten", "reason": "asked to"})
    assert answer.status == 200 and answer.json["records"] >= 1, answer
    assert records(kept, principal="forgotten") == []
    record = record_of(kept, run)
    assert record["erased"] is True and "personal" not in record
    texts = [file.read_text() for file in trail_of(kept.data_directory).glob("trail-*")]
    assert not any("private-talk" in text for text in texts)
    kept.execute("'goes on'")
    report = verify(kept.data_directory)
    assert report["intact"] and report["erased"] >= 1
    by_hand = audit(kept.data_directory, "erase", "--conversation", "nobody's")
    assert by_hand.returncode == 0, by_hand.stderr
    everybody = audit(kept.data_directory, "erase")
    assert everybody.returncode == 2 and b"whose" in everybody.stderr
    assert verify(kept.data_directory)["intact"]
    assert kept.request("POST", "/v1/audit/erasures", {"kind": "run"}).status == 400


def test_secrets_and_tokens_are_nowhere(kept):
    kept.request("POST", "/v1/runs", {"code": "1", "stdin": "typed-in-secret",
                                      "env": {"KEY": "secret-of-env"}, "args": ["secret-arg"]},
                 {"User-Agent": f"agent {SECRET * 2} {kept.token}"})
    text = "".join(file.read_text() for file in trail_of(kept.data_directory).glob("trail-*"))
    for secret in (SECRET, kept.token, "typed-in-secret", "secret-of-env", "secret-arg"):
        assert secret not in text
    assert not re.search(r"bj_[0-9a-f]{16}", text)


def test_figures_tell_of_the_trail(kept):
    lines = dict(line.rsplit(" ", 1) for line in
                 kept.request("GET", "/metrics").body.decode().splitlines()
                 if line.startswith("belljar_audit_"))
    assert int(lines["belljar_audit_records_total"]) > 10
    assert int(lines["belljar_audit_failures_total"]) == 0
    assert int(lines["belljar_audit_signature_age_seconds"]) < 60


def test_the_text_of_programs_is_kept_if_it_is_wanted(place):
    place.mkdir(exist_ok=True)
    (place / "hello.py").write_text("print('kept in full')")
    settings = environment(BELLJAR_SERVER_DATA_DIR=str(place / "data"), BELLJAR_AUDIT_CODE="full")
    place.chmod(0o755)
    done = belljar("run", place / "hello.py", env=settings)
    assert done.returncode == 0, done.stderr
    found = exported(place / "data", "--kind", "run")
    assert [one["personal"]["code"] for one in found] == ["print('kept in full')"]
    assert found[0]["body"]["protocol"] == "local"
    assert verify(place / "data")["intact"]


def test_without_a_trail_there_is_none(place):
    place.mkdir(exist_ok=True)
    settings = environment(BELLJAR_SERVER_DATA_DIR=str(place / "data"),
                           BELLJAR_AUDIT_ENABLED="false")
    done = belljar("run", "-", stdin=b"print(1)", env=settings)
    assert done.returncode == 0, done.stderr
    assert not (place / "data" / "audit").exists()
    missing = audit(place / "data", "verify")
    assert missing.returncode == 1 and b"no audit trail" in missing.stderr


def test_copies_of_stdio_never_go_into_the_protocol(place):
    place.mkdir(exist_ok=True)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "tester", "version": "7"}}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": "print('spoken')"}}}
    with subprocess.Popen(
            [str(BINARY), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(BELLJAR_SERVER_DATA_DIR=str(place / "data"),
                            BELLJAR_AUDIT_COPIES="stdout")) as process:
        answers = []
        for message in (hello, call):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = json.loads(process.stdout.readline())
            while "id" not in line:
                line = json.loads(process.stdout.readline())
            answers.append(line)
        rest, errors = process.communicate(timeout=60)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert all("jsonrpc" in json.loads(line) for line in rest.splitlines())
    assert b'"kind":"run"' in errors
    run = exported(place / "data", "--kind", "run")[0]
    assert run["personal"]["client"] == "tester 7"
    assert verify(place / "data")["intact"]
