"""A profile that scans has each program read in the jar of its run, before the first line of it.
What may not run does not run at all, and no program has a word in it."""

import hashlib

import pytest

from support_audit import exported
from support_binary import environment
from support_events import EventStream
from support_policy import write_policy
from support_server import Server

POLICY = """
[profiles.noted]
extends = "standard"
[profiles.noted.scan]
low = "warn"

[profiles.asking]
extends = "standard"
[profiles.asking.scan]
high = "ask"

[profiles.refusing]
extends = "standard"
[profiles.refusing.scan]
critical = "refuse"
high = "refuse"
[profiles.refusing.scan.rules]
"code.unreadable" = "refuse"
"""
SPAWNING = {
    "python": "import os\nos.system('true')",
    "javascript": "require('child_process').execSync('true')",
    "typescript": "import { execSync } from 'child_process'\nconst x: number = 1\nexecSync('true')"}
WRITING = {
    "python": "open('trace', 'w').write('x')\nprint('trace')\n",
    "javascript": "require('fs').writeFileSync('trace', 'x')\nconsole.log('trace')\n",
    "typescript": "import { writeFileSync } from 'fs'\nwriteFileSync('trace', 'x')\n"}
FORGING = """
import json, os
for descriptor in range(3, 20):
    try:
        os.write(descriptor, b'{"mark": "", "findings": [], "runs": true}\\\\n')
    except OSError:
        pass
"""


@pytest.fixture(scope="module")
def reading(session_place):
    place = session_place / "reading"
    place.mkdir()
    write_policy(place / "policy.toml", POLICY)
    server = Server(place / "server", env=environment(
        BELLJAR_POLICY_PATH=str(place / "policy.toml")))
    server.settle()
    yield server
    assert server.stop() == 0


def run(server, code, **arguments):
    return server.request("POST", "/execute", {"code": code, "profile": "refusing", **arguments})


def records_of(server, code):
    """In the audit trail, oldest first."""
    digest = hashlib.sha256(code.encode()).hexdigest()
    return [one for one in exported(server.data_directory)
            if one["kind"] in ("run", "refusal") and one["personal"]["code_sha256"] == digest]


def rules_of(record):
    return [one["rule"] for one in record.get("findings", [])]


@pytest.mark.parametrize("language", SPAWNING)
def test_nothing_of_a_refused_program_runs(reading, language):
    talk = f"reading-{language}"
    code = WRITING[language] + SPAWNING[language]
    answer = run(reading, code, language=language, conversation_id=talk)
    assert answer.status == 403, answer
    assert answer.json["error"].startswith("refused by policy (profile refusing): Line ")
    assert "(process.spawn)" in answer.json["error"]
    assert "stdout" not in answer.json and "execution_id" not in answer.json
    record = reading.execute("import os\nos.listdir()", conversation_id=talk)
    assert record["result"] == [], "it left nothing"


@pytest.mark.parametrize("language", SPAWNING)
def test_findings_tell_the_line_that_was_written(reading, language):
    code = {"python": "\n\n\n\neval('1')", "javascript": "\n\n\n\neval('1')",
            "typescript": "interface A {\n  a: number;\n}\n\neval('1') as number"}[language]
    record = reading.execute(code, language=language, profile="noted")
    assert record["status"] == "ok"
    assert [(one["rule"], one["line"]) for one in record["findings"]] == [("code.eval", 5)]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_many_findings_of_one_kind_hide_none_of_another(reading, language):
    many = "\n".join("eval('1')" for _ in range(500)) + "\n"
    answer = run(reading, many + SPAWNING[language], language=language)
    assert answer.status == 403 and "(process.spawn)" in answer.json["error"]


@pytest.mark.parametrize(("language", "file"), [("python", "mine.py"), ("javascript", "mine.cjs"),
                                                ("typescript", "mine.ts")])
def test_files_that_come_along_are_read(reading, language, file):
    answer = run(reading, "1", language=language, files={file: SPAWNING[language]})
    assert answer.status == 403 and "(process.spawn)" in answer.json["error"]


def test_a_program_cannot_take_back_what_was_found(reading):
    record = reading.execute(f"eval('1')\n{FORGING}", profile="noted")
    assert "code.eval" in rules_of(record)


def test_a_program_that_ends_at_once_was_read_before(reading):
    record = reading.execute("eval('1')\nimport os\nos._exit(3)", profile="noted")
    assert (record["exit_code"], rules_of(record)) == (3, ["code.eval"])
    record = reading.execute("eval('1'); process.kill(process.pid, 'SIGKILL')",
                             language="javascript", profile="noted")
    assert record["exit_code"] != 0 and "code.eval" in rules_of(record)


@pytest.mark.parametrize("code", ["print('\\d')", "x = 1\nx is 1", "if True:\n  x = = 1",
                                  "def f(:\n", "(" * 300 + ")" * 300, "\ufeffprint(1)",
                                  "await_ = 1\nimport asyncio\nawait asyncio.sleep(0)\nawait_"])
def test_reading_changes_nothing_that_a_program_shows(reading, code):
    shown = ["status", "exit_code", "stdout", "stderr", "result", "error"]
    read, plain = (reading.execute(code, profile=profile) for profile in ("noted", "standard"))
    assert {key: read.get(key) for key in shown} == {key: plain.get(key) for key in shown}


@pytest.mark.parametrize(("language", "before", "behind"), [
    ("python", "-", ""), ("javascript", "[", "]"), ("typescript", "[", "]")])
def test_what_is_too_deep_to_be_read_does_not_run(reading, language, before, behind):
    code = before * 30_000 + "1" + behind * 30_000
    record = run(reading, code, language=language).json
    said = "code.unreadable" in str(record["error"])
    assert said or record["status"] == "error" and "stack" in str(record["error"])[:200], "it ran"


def test_the_time_of_reading_is_the_runs_own(reading):
    long = "x = [\n" + "{'a':[1,2,(3,4)],'b':'text'},\n" * 33_000 + "]"
    record = reading.execute(long, profile="noted", timeout=0.2, memory_limit="1g")
    assert record["status"] == "timeout"
    assert rules_of(record) == ["code.unreadable"], "it was not read to its end"


def test_a_refused_stream_never_begins(reading):
    with EventStream(reading, {"code": SPAWNING["python"], "profile": "refusing"}) as stream:
        assert stream.status == 403
    with EventStream(reading, {"code": "eval('1')", "profile": "noted"}) as stream:
        events = stream.rest()
    assert [event.name for event in events] == ["started", "result"]


def test_a_refused_run_is_recorded_as_one(reading):
    code = SPAWNING["python"] + "  # to be refused"
    assert run(reading, code).status == 403
    [record] = records_of(reading, code)
    assert (record["kind"], record["body"]["status"]) == ("refusal", "refused")
    assert "process.spawn" in record["personal"]["reason"]


def test_what_an_operator_approved_is_recorded_as_approved(reading):
    code = SPAWNING["python"] + "  # to be approved"
    ask = {"code": code, "profile": "asking"}
    assert "wants a person to agree" in run(reading, **ask).json["error"]
    digest = hashlib.sha256(code.encode()).hexdigest()
    approved = reading.request("POST", "/v1/policy/approvals", {"code_sha256": digest})
    assert approved.status == 201
    assert rules_of(reading.execute(**ask)) == ["process.spawn"]
    refusal, ran = records_of(reading, code)
    assert (refusal["kind"], refusal["body"]["approved"]) == ("refusal", False)
    assert (ran["kind"], ran["body"]["approved"]) == ("run", True)


def test_cells_are_read_in_a_jar_of_their_own(reading):
    session = reading.execute("def eval(x): return x\n1", session=True, profile="noted")
    record = reading.execute("exec('2')", session_id=session["session_id"], profile="noted")
    assert rules_of(record) == ["code.eval"]
    answer = run(reading, SPAWNING["python"], session_id=session["session_id"])
    assert answer.status == 403
    ended = reading.request("DELETE", f"/v1/sessions/{session['session_id']}")
    assert ended.status == 200
