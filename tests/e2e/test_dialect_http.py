"""Paths and bodies of other services, answered in the shapes that their documents show."""

import json

import pytest

from support_binary import environment
from support_tools import approve

JSON = {"Content-Type": "application/json"}
ALLOWED = """log_store privacy workspace skills tool_discovery json re math datetime collections
itertools functools operator string textwrap unicodedata statistics random hashlib base64 copy
pprint enum dataclasses typing time csv""".split()


@pytest.fixture
def call(server):
    def send(tool, status=200, **arguments):
        answer = server.request("POST", "/execute", {"tool": tool, "arguments": arguments,
                                                     "user": "alice"})
        assert answer.status == status, answer
        return answer.json
    return send


def inner(answer):
    assert answer.keys() == {"success", "output", "tool"} and answer["success"] is True
    return json.loads(answer["output"])


# --- POST /execute with a tool

def test_code_is_run_as_a_tool(call):
    assert inner(call("execute_code", code="print(6 * 7)")) == {
        "success": True, "output": "42\n", "error": None, "truncated": False}


@pytest.mark.parametrize(("code", "error"), [
    ("", "No code provided"),
    ("1 / 0", "ZeroDivisionError: division by zero"),
    ("x ==", "Syntax error at line 1: invalid syntax"),
    ("import tools.nonsense", "Import error: No module named 'tools.nonsense'")])
def test_a_program_that_fails_is_an_answer(call, code, error):
    told = inner(call("execute_code", code=code))
    assert told["success"] is False and told["error"] == error


def test_a_module_that_is_not_allowed_is_named_with_those_that_are(call):
    told = inner(call("execute_code", code="import os"))
    assert told["error"] == ("Import error: Import of 'os' is not allowed. Allowed modules: "
                             + ", ".join(sorted(ALLOWED)))
    assert inner(call("execute_code", code="import os", allowed_imports=["os"]))["success"]


def test_tools_need_no_import_here(call):
    code = "print(privacy.scrub_emails('a@b.de'), [type(m).__name__ for m in (skills, workspace)])"
    assert inner(call("execute_code", code=code))["output"] == (
        "[EMAIL_REDACTED] ['module', 'module']\n")


def test_a_program_that_takes_too_long(call):
    told = inner(call("execute_code", code="print('begun')\nwhile True: pass", timeout=1))
    assert told["error"] == "Code execution timed out after 1 seconds"
    assert told["output"] == "begun\n"


def test_both_streams_are_one_and_cut(call):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)"
    told = inner(call("execute_code", code=code, allowed_imports=["sys"]))
    assert told["output"] == "out\nerr\n"
    told = inner(call("execute_code", code="print('x' * 150_000)"))
    assert told["truncated"] is True
    assert told["output"] == "x" * 100_000 + "\n... [OUTPUT TRUNCATED - exceeded 100000 chars]"


def test_functions_of_modules_are_called(call):
    line = ("User john@example.com at 192.168.1.1 called 123-456-7890 ssn 123-45-6789 "
            "cc 4532-1234-5678-9010")
    answer = call("privacy", text=line)
    assert answer["output"] == ("User [EMAIL_REDACTED] at [IP_REDACTED] called [PHONE_REDACTED] "
                                "ssn [SSN_REDACTED] cc [CC_REDACTED]")
    found = inner(call("search_tools", query="scrub_emails"))
    assert any(one["name"] == "scrub_emails" for one in found)
    assert "privacy" in inner(call("list_available_tools"))["tools"]


def test_a_module_of_the_operator_is_a_tool(own_server, place):
    folder = place / "tools"
    folder.mkdir()
    (folder / "report.py").write_text("def other():\n    return 1\n\n\n"
                                      "def report(day='today'):\n    return {'day': day}\n")
    (folder / "single.py").write_text("def only():\n    return 'the only one'\n")
    approve(folder)
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(folder)))
    for body, output in (({"tool": "report", "arguments": {"day": "monday"}}, {"day": "monday"}),
                         ({"tool": "report"}, {"day": "today"})):
        answer = server.request("POST", "/execute", body).json
        assert answer["success"] and json.loads(answer["output"]) == output
    answer = server.request("POST", "/execute", {"tool": "single", "arguments": {}}).json
    assert answer == {"success": True, "output": "the only one", "tool": "single"}
    answer = server.request("POST", "/execute", {"tool": "../single"})
    assert (answer.status, answer.json["error"]) == (404, "Tool '../single' not found")


def test_what_is_wrong_is_told_in_this_shape(server, call):
    assert call("make_coffee", status=404) == {
        "success": False, "error": "Tool 'make_coffee' not found", "output": ""}
    answer = server.request("POST", "/execute", {"tool": 7})
    assert answer.status == 400 and answer.json["success"] is False
    assert call("privacy", status=400, function="nonsense", text="x")["success"] is False


def test_a_program_goes_before_a_tool(server):
    result = server.execute("print('tool')")
    assert result["status"] == "ok"
    answer = server.request("POST", "/execute", {"code": "print(\"\\\"tool\\\"\")"})
    assert answer.status == 200 and answer.json["stdout"] == '"tool"\n'


# --- packages

@pytest.mark.parametrize("path", ["/pip_install", "/pip/install"])
def test_packages_are_not_installed_yet(server, path):
    # As the document has it: without a media type of its own.
    answer = server.request("POST", path, json.dumps({"package": "suspicious-package"}).encode(),
                            {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 200, answer
    assert answer.json["success"] is False and "not enabled" in answer.json["message"]


def test_a_package_that_is_there_is_told(server):
    answer = server.request("POST", "/pip_install", {"package": "numpy", "version": "latest"})
    assert answer.json["success"] is True and answer.json["installed_version"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"package": 1}', b'{"package": "a b"}',
                                  b'{"package": "../etc"}'])
def test_a_package_that_cannot_be(server, body):
    answer = server.request("POST", "/pip_install", body, JSON)
    assert answer.status == 400 and answer.json["error"], answer


# --- what is here

def test_a_program_is_told_what_is_here(server):
    answer = server.request("GET", "/", token=False)
    assert answer.status == 200 and answer.json["status"] == "ok"
    assert answer.json["endpoints"]["mcp"] == "/mcp" and "python" in answer.json["languages"]


# --- Piston

def test_piston_lists_what_can_be_used(server):
    runtimes = server.request("GET", "/api/v2/runtimes").json
    python = next(one for one in runtimes if one["language"] == "python")
    assert python["version"].startswith("3.") and "py" in python["aliases"]


def piston(server, status=200, **request):
    body = {"language": "python", "version": "*", "files": [{"content": ""}], **request}
    answer = server.request("POST", "/api/v2/execute", body)
    assert answer.status == status, answer
    return answer.json


@pytest.mark.parametrize("version", ["*", "3", "3.x", "^3.1", ">=3.8"])
def test_piston_chooses_a_version(server, version):
    answer = piston(server, version=version, files=[{"content": "print(1)"}])
    assert answer["run"]["stdout"] == "1\n" and answer["version"].startswith("3.")


@pytest.mark.parametrize(("request_", "message"), [
    ({"version": "9"}, "python-9 runtime is unknown"),
    ({"version": "nonsense"}, "python-nonsense runtime is unknown"),
    ({"language": "klingon"}, "klingon-* runtime is unknown"),
    ({"language": 3}, "language is required as a string"),
    ({"version": None}, "version is required as a string"),
    ({"files": []}, "files is required as an array"),
    ({"files": [{"content": "zz", "encoding": "hex"}]}, "files: content is not hex"),
    ({"files": [{"content": "%", "encoding": "base64"}]}, "files: content is not base64"),
    ({"files": [{"content": "x", "encoding": "rot13"}]},
     "files.encoding must be one of: base64, hex, utf8"),
    ({"files": [{"content": ""}, {"name": "../x", "content": ""}]}, "files"),
    ({"run_timeout": "long"}, "if specified, run_timeout must be a number")])
def test_piston_says_what_is_wrong(server, request_, message):
    assert message in piston(server, status=400, **request_)["message"]


def test_piston_tells_how_it_ended(server):
    run = piston(server, files=[{"content": "import os; os.kill(os.getpid(), 9)"}])["run"]
    assert (run["code"], run["signal"], run["status"]) == (None, "SIGKILL", "SG")
    run = piston(server, files=[{"content": "x = 'y' * (1 << 30)"}],
                 run_memory_limit=64 << 20)["run"]
    assert run["status"] in ("SG", "RE") and "memory" in run["message"]
    answer = server.request("POST", "/api/v2/execute", b"{}", {"Content-Type": "text/plain"})
    assert answer.status == 415


# --- SandboxFusion

def fusion(server, status=200, **request):
    answer = server.request("POST", "/run_code", {"code": "print(1)", "language": "python",
                                                  **request})
    assert answer.status == status, answer
    return answer.json


def test_fusion_runs_a_program(server):
    answer = fusion(server)
    assert answer["status"] == "Success" and answer["compile_result"] is None
    assert answer["run_result"]["stdout"] == "1\n" and answer["files"] == {}
    assert server.request("GET", "/v1/ping").json == "pong"


@pytest.mark.parametrize("request_", [
    {"code": 1}, {"language": None}, {"language": "klingon"}, {"run_timeout": -1},
    {"files": {"../x": ""}}, {"files": {"x": "%"}}, {"fetch_files": "x"}, {"fetch_files": [1]}])
def test_fusion_says_which_member_is_wrong(server, request_):
    assert fusion(server, status=422, **request_)["detail"][0]["msg"]


def test_fusion_keeps_nothing(server):
    before = server.request("GET", "/v1/runners").status
    answer = fusion(server, code="open('a', 'w').write('x')", fetch_files=["a", "./a", "../a"])
    assert answer["files"]["a"] == "eA==" and before == 200
    listed = fusion(server, code="import os; print(os.listdir('.'))")
    assert listed["run_result"]["stdout"] == "[]\n"


# --- who may

def test_rights_are_asked_for(own_server):
    server = own_server(env=environment())
    for path, body in (("/execute", {"tool": "privacy", "arguments": {"text": "x"}}),
                       ("/run_code", {"code": "1", "language": "python"}),
                       ("/api/v2/execute", {}), ("/pip_install", {"package": "numpy"})):
        assert server.request("POST", path, body, token=False).status == 401
    assert server.request("GET", "/api/v2/runtimes", token=False).status == 401
