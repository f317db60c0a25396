"""The security checklist and the tables of profiles that Belljar was asked for, a test a line."""

import json
import pathlib

import pytest

from support_audit import exported, verify
from support_binary import environment, wait_until
from support_policy import policy_of, validate
from support_processes import descendants
from support_server import Server
from support_webhook import SECRET, Receiver
from test_metrics import value

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = """
[rules.denials]
count = 2
"""


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as started:
        yield started


@pytest.fixture(scope="module")
def guarded(session_place, receiver):
    rules = session_place / "checklist.toml"
    rules.write_text(RULES)
    server = Server(session_place / "checklist", env=environment(
        BELLJAR_ALERTS_RULES=str(rules), BELLJAR_ALERTS_WEBHOOK=receiver.url,
        BELLJAR_ALERTS_WEBHOOK_SECRET=SECRET, BELLJAR_AUDIT_COPIES="stdout",
        BELLJAR_AUDIT_CODE="full"))
    server.settle()
    yield server
    assert server.stop() == 0


def record_of(server, run):
    [found] = exported(server.data_directory, "--run", run["execution_id"], "--kind", "run")
    return {**found["body"], **found["personal"]}


# --- before deployment ----------------------------------------------------------------------------


def test_runs_as_a_user_without_privileges(guarded):
    record = guarded.execute(
        "import os\n[os.getuid() * os.geteuid() * os.getgid() != 0, "
        "[l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')]]")
    assert record["result"] == [True, ["0" * 16]]


@pytest.mark.parametrize("path", ["/x", "/usr/x", "/etc/x", "/usr/lib/python3/x"])
def test_root_is_read_only(guarded, path):
    record = guarded.execute(f"open({path!r}, 'w')")
    assert record["error"]["type"] == "OSError" and "Read-only" in record["error"]["message"]


def test_memory_is_limited(guarded):
    assert guarded.execute("x = bytearray(1 << 30)\nlen(x)", memory_limit="64m")["status"] in (
        "memory", "error")


def test_processor_is_limited(guarded):
    record = guarded.execute("while True: pass", timeout=1)
    assert record["status"] == "timeout" and record["usage"]["cpu_seconds"] < 3


def test_disk_is_limited(guarded):
    record = guarded.execute(
        "with open('/workspace/x', 'wb') as f:\n    while True: f.write(bytes(1 << 20))")
    assert record["error"]["type"] == "OSError" or record["status"] == "disk"


def test_network_leads_nowhere(guarded):
    record = guarded.execute("import socket\nsocket.socket().connect_ex(('192.0.2.1', 80))")
    assert record["result"] != 0


def test_time_is_limited(guarded):
    assert guarded.execute("import time\ntime.sleep(60)", timeout=1)["status"] == "timeout"


def test_code_is_scanned_before_it_runs(guarded):
    refused = validate(guarded, "import os\nos.system('rm -rf /')", profile="basic")
    assert refused["validation"]["valid"] is False
    assert refused["validation"]["errors"] == ["Line 1: Import 'os' is not allowed"]


@pytest.mark.parametrize("language, code", [
    ("python", "eval(input())"),
    ("python", "import subprocess\nsubprocess.run(['id'])"),
    ("javascript", "eval(process.argv[2])"),
    ("javascript", "new Function('return 1')()"),
    ("javascript", "require('child_process').execSync('id')"),
    ("javascript", "fetch('http://192.0.2.1/')")])
def test_suspicious_patterns_are_found(guarded, language, code):
    assert validate(guarded, code, language=language)["findings"]


def test_file_operations_are_recorded(guarded):
    where = {"conversation_id": "checklist"}
    guarded.execute("open('secret.txt', 'w').write('1')", **where)
    run = guarded.execute("open('secret.txt').read()", **where)
    assert record_of(guarded, run)["files"]["read"] == ["secret.txt"]


def test_network_requests_are_recorded(guarded):
    run = guarded.execute("import socket\nsocket.socket().connect_ex(('192.0.2.1', 443))")
    record = record_of(guarded, run)
    assert record["network"]["without_route"] == 1 and "192.0.2.1:443" in json.dumps(record)


def test_no_secret_of_the_server_is_in_a_jar(guarded):
    record = guarded.execute("import os\ndict(os.environ)")
    text = json.dumps(record["result"])
    assert SECRET not in text and guarded.token not in text and "BELLJAR" not in text


def test_everything_is_cleaned_up_after_a_run(guarded):
    run = guarded.execute("import subprocess\nsubprocess.Popen(['sleep', '1000'])\n"
                          "open('/tmp/left', 'w').write('x')\n1")
    assert run["status"] == "ok"
    wait_until(lambda: not [one for one in descendants(guarded.pid) if one.name == "sleep"],
               "the child is gone")
    assert guarded.execute("import os\nos.listdir('/tmp')")["result"] == []


# --- monitoring -----------------------------------------------------------------------------------


def test_alerts_come_while_it_happens(guarded, receiver):
    for _ in range(3):
        guarded.execute("import socket\nsocket.socket().connect_ex(('192.0.2.1', 80))")
    wait_until(lambda: receiver.taken, "the webhook was called")
    assert receiver.taken[0].is_signed() and receiver.taken[0].alert["rule"] == "denials"


def test_records_go_where_logs_are_collected(guarded):
    run = guarded.execute("1")
    wait_until(lambda: run["execution_id"] in guarded.output_file.read_text(), "it is in the copy")


def test_usage_can_be_watched(guarded):
    labels = {"language": "python", "status": "ok"}
    before = value(guarded, "belljar_runs_total", **labels)
    guarded.execute("1")
    assert value(guarded, "belljar_runs_total", **labels) == before + 1


def test_failed_runs_can_be_looked_at(guarded):
    failed = guarded.execute("1/0")
    listed = guarded.request("GET", "/v1/runs?status=error").json["runs"]
    assert failed["execution_id"] in json.dumps(listed)
    assert record_of(guarded, failed)["status"] == "error"


def test_there_is_a_playbook(guarded):
    text = (ROOT / "docs" / "INCIDENTS.md").read_text()
    for step in ("belljar admin kill-run", "belljar admin block", "belljar admin quarantine",
                 "belljar audit query", "belljar audit verify", "belljar audit export"):
        assert step in text, step


def test_what_was_recorded_can_be_proven(guarded):
    assert verify(guarded.data_directory)["intact"]


def test_a_record_says_all_that_was_asked_for(guarded):
    code = "open('a.txt', 'w').write('1')"
    record = record_of(guarded, guarded.execute(code, conversation_id="whole"))
    for name in ("execution_id", "code", "files", "usage", "exit_code", "status"):
        assert name in record, name
    assert record["code"] == code and record["exit_code"] == 0
    assert record["usage"]["cpu_us"] > 0 and record["usage"]["memory_peak_bytes"] > 0


# --- profiles -------------------------------------------------------------------------------------

BASIC = ("math random statistics decimal fractions collections itertools functools heapq bisect "
         "string textwrap re difflib unicodedata base64 binascii hashlib hmac secrets json csv "
         "html.parser xml.etree urllib.parse datetime uuid calendar dataclasses enum typing")
MODULES = {
    "basic": BASIC,
    "data_science": "numpy pandas scipy matplotlib seaborn sklearn statsmodels plotly sympy",
    "network": "httpx requests urllib.request aiohttp websocket email smtplib ftplib",
    "filesystem": "pathlib os.path tempfile shutil glob zipfile tarfile"}


@pytest.mark.parametrize("profile", MODULES)
def test_a_profile_has_the_modules_of_its_table(guarded, profile):
    code = "\n".join(f"import {name}" for name in f"{BASIC} {MODULES[profile]}".split())
    found = validate(guarded, code, profile=profile)["validation"]
    assert found["valid"], found["errors"]


@pytest.mark.parametrize("profile", MODULES)
def test_a_profile_has_no_module_of_another_table(guarded, profile):
    for other in set(MODULES) - {profile, "basic"}:
        for name in MODULES[other].split():
            found = validate(guarded, f"import {name}", profile=profile)["validation"]
            [error] = found["errors"]  # names the whole or the package, whichever is refused
            assert error in {f"Line 1: Import '{one}' is not allowed"
                             for one in (name, name.split(".")[0])}, (profile, other)


def test_modules_of_basic_are_imported_for_real(guarded):
    code = "\n".join(f"import {name}" for name in BASIC.split()) + "\nmath.sqrt(16)"
    record = guarded.execute(code, profile="basic")
    assert (record["status"], record["result"]) == ("ok", 4.0), record["stderr"]


def test_profiles_are_told(guarded):
    told = {one["name"]: one for one in policy_of(guarded)["profiles"]}
    assert set(MODULES) | {"standard"} <= set(told)
