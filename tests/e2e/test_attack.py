"""`belljar attack`: the suite holds, says what it did, and fails when something did not hold."""

import json
import pathlib
import re
import signal
import subprocess
import tomllib

import pytest

from support_binary import BINARY, ROOT, belljar, environment, wait_until

ATTACKS = ROOT / "tests" / "attack"
NAMES = sorted(path.stem for path in ATTACKS.glob("*.py"))
# Checks of parts that this version does not have.
NOT_APPLICABLE = {"proxy_names", "proxy_rebind", "proxy_fronting"}
CLASSES = {"Escape", "HostLeak", "Exfil", "Lateral", "HostDoS", "PeerDoS", "InternalEsc",
           "InternalRead", "SelfDoS", "Integrity"}
LAYERS = {"namespaces", "unique_user", "no_capabilities", "read_only_root", "memory_limit",
          "process_limit", "cpu_share", "seccomp", "landlock", "disk_quota"}
SWITCHES = {"seccomp", "landlock", "read_only_root", "no_capabilities", "namespaces_limits"}
SECONDS = 400  # for all attacks, on a busy machine and with sanitizers


def attack(*options, **settings):
    return subprocess.run([str(BINARY), "attack", *options], capture_output=True, check=False,
                          env=environment(**settings), timeout=SECONDS)


def head_of(name):
    """What the comment lines at the top of an attack say."""
    head = {}
    for line in (ATTACKS / f"{name}.py").read_text().splitlines():
        found = re.fullmatch(r"# (\w+): (.+)", line)
        if not found:
            return head
        head[found[1]] = found[2]
    return head


@pytest.fixture(scope="module")
def listed():
    ended = belljar("attack", "--list", "--json")
    assert (ended.returncode, ended.stderr) == (0, b"")
    return {one["name"]: one for one in json.loads(ended.stdout)["attacks"]}


@pytest.fixture(scope="module")
def everything():
    """All attacks at once: the exit code, the report and what was said meanwhile."""
    ended = attack("--json")
    return ended.returncode, json.loads(ended.stdout), ended.stderr.decode()


# --- what the suite finds -------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_attack_is_held(everything, name):
    found = {one["name"]: one for one in everything[1]["attacks"]}
    assert found[name]["verdict"] == "held", found[name]["seen"]


def test_suite_ends_well(everything):
    code, report, _ = everything
    assert (code, report["held"]) == (0, True)


def test_what_is_not_there_is_not_counted_as_held(everything):
    found = {one["name"]: one for one in everything[1]["attacks"]}
    assert {name for name, one in found.items() if one["verdict"] == "n-a"} == NOT_APPLICABLE
    for name in NOT_APPLICABLE:
        assert found[name]["seen"] == "not applicable: no egress broker in this version"


def test_report_has_every_attack_in_the_order_of_the_list(everything, listed):
    report = everything[1]
    assert [one["name"] for one in report["attacks"]] == list(listed)
    for one in report["attacks"]:
        assert {key: one[key] for key in listed[one["name"]] if key in one} == {
            key: value for key, value in listed[one["name"]].items() if key in one}
        assert isinstance(one["seen"], str) and one["seen"], one
        assert isinstance(one["seconds"], float | int)


def test_report_counts_by_class(everything):
    report = everything[1]
    for verdict in ("held", "broken", "known gap", "n-a"):
        found = [one for one in report["attacks"] if one["verdict"] == verdict]
        assert report["summary"][verdict] == len(found)
        for kind, counts in report["summary"]["classes"].items():
            assert counts[verdict] == sum(one["class"] == kind for one in found)


def test_report_says_what_was_attacked(everything):
    report = everything[1]
    assert report["mode"] == "root"
    assert report["isolation"]["grade"] in ("basic", "standard", "full")
    assert set(report["isolation"]["missing"]) <= LAYERS
    assert belljar("version").stdout.decode().split()[1] == report["version"]


def test_progress_is_on_standard_error(everything):
    _, report, said = everything
    lines = said.splitlines()
    assert len(lines) == len(report["attacks"])
    for line, one in zip(lines, report["attacks"], strict=True):
        assert one["name"] in line.split() and one["verdict"] in line


# --- the list -------------------------------------------------------------------------------


def test_list_has_every_file_and_says_the_same(listed):
    assert set(listed) == {*NAMES, *NOT_APPLICABLE}
    for name in NAMES:
        head = head_of(name)
        needs = head.get("needs", "").replace(",", " ").split()
        assert listed[name] == {
            "name": name, "class": head["class"], "tries": head["tries"],
            "expects": head["expects"], "needs": needs, "applicable": True}


@pytest.mark.parametrize("name", NAMES)
def test_head_of_an_attack(name):
    head = head_of(name)
    assert head["class"] in CLASSES
    assert len(head["tries"]) > 10 and len(head["expects"]) > 3
    # "root" is the mode in which a jar's devices are its own.
    assert set(head.get("needs", "").replace(",", " ").split()) <= LAYERS | {"root"}


def test_list_for_people():
    ended = belljar("attack", "--list")
    assert (ended.returncode, ended.stderr) == (0, b"")
    text = ended.stdout.decode()
    assert text.split()[:4] == ["CLASS", "NAME", "ATTEMPT", "EXPECTED"]
    for name in NAMES:
        assert name in text.split()
    assert max(map(len, text.splitlines())) <= 130


def test_list_needs_no_privilege(place):
    ended = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                            str(BINARY), "attack", "--list", "--json"], cwd="/", check=False,
                           capture_output=True, env=environment(), timeout=60)
    assert ended.returncode == 0, ended.stderr.decode()


# --- some of them ---------------------------------------------------------------------------


def test_only_one():
    ended = attack("--only", "capabilities", "--json")
    report = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert [one["name"] for one in report["attacks"]] == ["capabilities"]


def test_only_several_in_the_order_of_the_list():
    ended = attack("--only", "afterwards", "--only", "host_flag", "--json")
    names = [one["name"] for one in json.loads(ended.stdout)["attacks"]]
    assert names == ["host_flag", "afterwards"]


def test_table_for_people():
    ended = attack("--only", "capabilities", "--only", "proxy_names")
    text = ended.stdout.decode()
    assert ended.returncode == 0
    assert text.split()[:5] == ["CLASS", "ATTEMPT", "EXPECTED", "SEEN", "VERDICT"]
    assert re.search(r"^Escape +1 held$", text, re.MULTILINE)
    assert re.search(r"^Exfil +1 n-a$", text, re.MULTILINE)
    assert re.search(r"^Isolation grade: \w+ \(tier kernel, mode root\)$", text, re.MULTILINE)


@pytest.mark.parametrize("options", [["--list"], [], ["--json"]])
def test_unknown_name_is_refused(options):
    ended = belljar("attack", "--only", "open_sesame", *options)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b'there is no attack "open_sesame"' in ended.stderr
    assert b"--list" in ended.stderr


def test_attack_that_could_not_finish_does_not_count_as_held():
    ended = attack("--only", "peer_files", "--only", "capabilities", "--json",
                   BELLJAR_LIMITS_TIMEOUT="0.001", BELLJAR_LIMITS_MAX_TIMEOUT="0.001")
    report = json.loads(ended.stdout)
    assert (ended.returncode, report["held"]) == (1, False)
    assert report["summary"]["broken"] == 2
    assert all("timeout" in one["seen"] for one in report["attacks"])


def test_interrupted_suite_leaves_nothing():
    process = subprocess.Popen([str(BINARY), "attack"], stdout=subprocess.PIPE, env=environment(),
                               stderr=subprocess.PIPE)
    try:
        assert b"host_flag" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, output) == (125, b"")
    assert b"stopped before every attack was tried" in errors
    wait_until(lambda: not list(pathlib.Path("/tmp").glob("belljar-attack-*")), "the bait is gone")


# --- layers ---------------------------------------------------------------------------------


def test_every_attack_says_what_holds_without_each_layer():
    layers = tomllib.loads((ATTACKS / "layers.toml").read_text())
    assert sorted(layers) == NAMES
    for name, answers in layers.items():
        assert set(answers) == SWITCHES, name
        assert all(answer == "holds" or len(answer.split()) > 4 for answer in answers.values())


def test_every_attack_stands_in_the_table_of_threats():
    page = (ROOT / "docs" / "SECURITY.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in page] == []


# --- the same over HTTP ---------------------------------------------------------------------


PLACES = ["../..", "..", "/etc", "a/../../b", "..\\..", "%2e%2e/", "a\0b"]


@pytest.mark.parametrize("value", PLACES)
def test_session_cannot_lead_out(server, value):
    answer = server.request("POST", "/execute", {"code": "1", "session_id": value})
    assert 400 <= answer.status < 500, answer
    assert "session_id" in answer.json["error"]


@pytest.mark.parametrize("key", ["conversationId", "conversation_id"])
@pytest.mark.parametrize("value", PLACES)
def test_conversation_cannot_lead_out(server, key, value):
    """Any text may name one; it is never a path (test_conversations.py)."""
    answer = server.request("POST", "/execute", {"code": "import os; os.listdir()", key: value})
    assert answer.status == (400 if "\0" in value else 200), answer
    assert "\0" in value or answer.json["result"] == []


@pytest.mark.parametrize("path", [
    "../../x", "..", "/x", "/etc/passwd", "a/../../x", "./x", "a//x", "x/", "", "a/..", "x\0y",
    "x" * 2000, "/".join(["d"] * 1000)])
def test_uploaded_file_cannot_lead_out(server, path):
    answer = server.request("POST", "/execute", {"code": "1", "files": {path: "text"}})
    assert answer.status == 400, answer
    assert "files" in answer.json["error"]


def test_forged_result_channel_changes_nothing(server):
    record = server.execute((ATTACKS / "result_channel_forged.py").read_text())
    assert (record["status"], record["success"], record["exit_code"]) == ("error", False, 3)


def test_closed_result_channel_harms_nobody(server):
    record = server.execute((ATTACKS / "result_channel_closed.py").read_text())
    assert (record["status"], record["exit_code"]) == ("ok", 0)
    assert record["result"] is None


# --- every mode -----------------------------------------------------------------------------


def test_every_mode_that_is_possible_is_tried():
    answer = attack("--every-mode", "--json", "--only", "capabilities")
    reports = [json.loads(line) for line in answer.stdout.splitlines()]
    assert answer.returncode == 0, answer.stderr
    # Rootless is for ordinary users: guests of root would have its id.
    assert [report["mode"] for report in reports] == ["root", "nested"]
    assert all(report["summary"]["held"] == 1 for report in reports)
