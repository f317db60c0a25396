"""Tools of other servers, in the shapes that their documents show."""

import json

import jsonschema
import pytest

from support_binary import environment
from support_mcp import StdioServer, call_tool, initialize, list_tools, request

SANDBOX_SERVICE = {"execute_python"}
CODE_RUNNER = {"sandbox.run_code", "sandbox.list_runners", "run_code", "list_runners",
               "upload_file"}
LOG_ANALYSIS = {"log_store", "privacy", "workspace", "skills", "run_skill", "tool_discovery",
                "list_skills", "list_available_tools", "get_available_tools",
                "get_workspace_info"}
EVERYTHING = "sandbox-service,code-runner,log-analysis"


@pytest.fixture(scope="module")
def definitions():
    """Of all tools of all dialects."""
    server = StdioServer(environment(BELLJAR_TOOLS_DIALECTS=EVERYTHING))
    server.ask(initialize())
    tools = server.ask(request(2, "tools/list"))["result"]["tools"]
    assert server.finish()[0] == 0
    return {tool["name"]: tool for tool in tools}


@pytest.fixture
def ask(server, definitions):
    """Calls a tool that is not listed; gives its answer, which text and structure say alike."""
    def call(tool, /, **arguments):
        result = call_tool(server, tool, **arguments)
        assert [block["type"] for block in result["content"]] == ["text"]
        answer = result["structuredContent"]
        jsonschema.validate(answer, definitions[tool]["outputSchema"])
        if tool not in LOG_ANALYSIS:
            assert json.loads(result["content"][0]["text"]) == answer
            assert result["isError"] is False
        return answer
    return call


# --- what is listed

@pytest.mark.parametrize(("dialects", "names"), [
    ("sandbox-service", SANDBOX_SERVICE), ("code-runner", CODE_RUNNER),
    ("log-analysis", LOG_ANALYSIS), (EVERYTHING, SANDBOX_SERVICE | CODE_RUNNER | LOG_ANALYSIS)])
def test_a_dialect_is_listed_if_it_is_named(own_server, dialects, names):
    server = own_server(env=environment(BELLJAR_TOOLS_DIALECTS=dialects))
    listed = list_tools(server).keys()
    assert names <= listed and "execute_code" in listed
    assert not ((SANDBOX_SERVICE | CODE_RUNNER | LOG_ANALYSIS) - names) & listed
    assert "no effect" not in server.errors


def test_a_dialect_that_does_not_exist_stops_the_start():
    server = StdioServer(environment(BELLJAR_TOOLS_DIALECTS="nonsense"))
    assert server.finish()[0] != 0


def test_each_tool_is_told_of_in_full(definitions):
    for name in SANDBOX_SERVICE | CODE_RUNNER | LOG_ANALYSIS:
        tool = definitions[name]
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        example = json.loads(tool["description"].split("Example: ")[1])
        jsonschema.validate(example, tool["inputSchema"])
        assert tool["title"] and tool["icons"]


# --- sandbox-service

def test_python_as_its_document_says(ask):
    code = "print('Hello, World!')\nresult = 2 + 2\nprint(f'2 + 2 = {result}')"
    answer = ask("execute_python", code=code, timeout=10)
    assert answer.pop("execution_time") > 0
    assert answer == {"stdout": "Hello, World!\n2 + 2 = 4\n", "stderr": "", "exit_code": 0,
                      "success": True}


def test_python_that_fails(ask):
    answer = ask("execute_python", code="import sys\nprint('x')\nsys.exit('bad')")
    assert (answer["exit_code"], answer["success"]) == (1, False)
    assert (answer["stdout"], answer["stderr"]) == ("x\n", "bad\n")


def test_python_that_runs_out_of_time(ask):
    answer = ask("execute_python", code="print('x', flush=True)\nwhile True: pass", timeout=1)
    assert (answer["exit_code"], answer["success"], answer["stdout"]) == (124, False, "x\n")
    assert answer["stderr"] == "Execution timeout after 1s"


def test_python_that_is_killed(ask):
    answer = ask("execute_python", code="import os\nos.kill(os.getpid(), 9)")
    assert (answer["exit_code"], answer["success"]) == (137, False) and answer["stderr"]


def test_python_output_has_an_end(ask):
    answer = ask("execute_python", code="print('\u00e4' * 20_000)")
    assert answer["stdout"] == "\u00e4" * 10_000 + "\n... (output truncated)"


@pytest.mark.parametrize("arguments", [{}, {"code": "1", "timeout": 121},
                                       {"code": "1", "timeout": 0}, {"code": "1", "user": "x"}])
def test_python_arguments_are_checked(server, arguments):
    assert call_tool(server, "execute_python", **arguments)["isError"]


# --- code-runner

def test_code_of_the_older_words(ask):
    answer = ask("sandbox.run_code", conversationId="older", language="python",
                 code='print("Hello!")')
    assert answer == {"success": True, "output": "Hello!\n", "files": []}


def test_both_streams_are_one(ask):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)"
    answer = ask("sandbox.run_code", conversationId="older", language="python", code=code)
    assert answer["output"] == "out\n\nerr\n" and answer["success"]


def test_code_in_a_language_that_is_not_there(ask):
    for tool, where in (("sandbox.run_code", "output"), ("run_code", "stderr")):
        answer = ask(tool, conversationId="x", language="cobol", code="x")
        assert answer["success"] is False and answer[where] == "Unsupported language: cobol"


def test_code_of_the_newer_words(ask):
    answer = ask("run_code", conversationId="newer", language="javascript",
                 code="console.log(process.env.NAME)", environment={"NAME": "Ada"})
    assert answer == {"success": True, "stdout": "Ada\n", "stderr": ""}
    failed = ask("run_code", conversationId="newer", language="python", code="1/0")
    assert failed["success"] is False and "ZeroDivisionError" in failed["stderr"]


@pytest.mark.parametrize("missing", ["conversationId", "language", "code"])
def test_what_the_documents_require_is_required(server, missing):
    arguments = {"conversationId": "x", "language": "python", "code": "1"}
    del arguments[missing]
    for tool in ("sandbox.run_code", "run_code"):
        result = call_tool(server, tool, **arguments)
        assert result["isError"]
        assert result["content"][0]["text"] == f'"{missing}" is required'


def test_there_is_no_network_to_be_had(server):
    result = call_tool(server, "run_code", conversationId="x", language="python", code="1",
                       network=True)
    assert result["isError"] and "no network" in result["content"][0]["text"]


def test_languages(ask):
    for tool in ("sandbox.list_runners", "list_runners"):
        languages = ask(tool)["languages"]
        assert {"language": "python", "image": "cpython"} in languages
        assert all(entry.keys() == {"language", "image"} for entry in languages)


def test_an_upload_is_base64(ask):
    answer = ask("upload_file", conversationId="x", filename="a.txt", content="!")
    assert answer == {"success": False, "message": "content is not base64"}


# --- log-analysis

def output(answer):
    """What the function returned."""
    assert answer["success"] is True, answer
    return json.loads(answer["output"])


def test_the_golden_line(ask):
    line = ("User john@example.com at 192.168.1.1 called 123-456-7890 ssn 123-45-6789 "
            "cc 4532-1234-5678-9010")
    answer = ask("privacy", text=line)
    assert answer == {
        "success": True, "tool": "privacy",
        "output": "User [EMAIL_REDACTED] at [IP_REDACTED] called [PHONE_REDACTED] "
                  "ssn [SSN_REDACTED] cc [CC_REDACTED]"}


SCRUBBED = {
    "4111111111111111": "[CC_REDACTED]",
    "card 378282246310005.": "card [CC_REDACTED].",
    "3782 822463 10005": "[CC_REDACTED]",
    "4111 1111 1111 1111": "[CC_REDACTED]",
    "2001:db8::1 and ::ffff:10.0.0.1": "[IP_REDACTED] and [IP_REDACTED]",
    "[fe80::1%eth0]:443": "[[IP_REDACTED]]:443",
    "10.0.0.1:80": "[IP_REDACTED]:80",
    "+49 30 1234567": "[PHONE_REDACTED]",
    "(555) 123-4567": "[PHONE_REDACTED]",
    "at 12:34:56 on 2024-01-02": "at 12:34:56 on 2024-01-02",
    "aa:bb:cc:dd:ee:ff": "aa:bb:cc:dd:ee:ff",
    "999.1.1.1 std::vector": "999.1.1.1 std::vector",
    "4532123456789014 and 4532123456789010": "[CC_REDACTED] and 4532123456789010",
    "DE89 3704 0044 0532 0130 00": "[IBAN_REDACTED]",
    "version 1.2.3.4, order 4155550123": "version 1.2.3.4, order 4155550123",
    "phone: 4155550123": "phone: [PHONE_REDACTED]",
}


def test_what_else_is_scrubbed(ask):
    text = "\n".join(SCRUBBED)
    assert ask("privacy", text=text)["output"].split("\n") == list(SCRUBBED.values())


def test_one_rule_and_its_mark(ask):
    answer = ask("privacy", function="scrub_emails", text="a@b.de 10.0.0.1", replacement="*")
    assert answer["output"] == "* 10.0.0.1"
    report = ask("privacy", function="create_privacy_report", original="a@b.de",
                 scrubbed="[EMAIL_REDACTED]")
    assert output(report) == {"original_length": 6, "scrubbed_length": 16, "emails_removed": 1,
                              "redaction_count": 1, "safety_check": "PASSED"}
    text, names = output(ask("privacy", function="anonymize_names", text="Ada Lovelace left."))
    assert (text, names) == ("User-A left.", {"Ada Lovelace": "User-A"})


def test_without_logs_that_is_what_is_said(server, ask):
    answer = ask("log_store", service_name="pay", keyword="ERROR")
    assert answer["success"] is False and "no log directory" in answer["error"]
    result = call_tool(server, "log_store", service_name="pay", keyword="ERROR")
    assert result["isError"] and result["content"][0]["text"].startswith("Error: ")


LOG_PROGRAM = """
import gzip
import log_store
with gzip.open('logs/pay.log.2.gz', 'wt') as file:
    file.write('2020-01-01 00:00:00 ERROR KeyError: old\\n')
[log_store.search_logs('pay', 'error', limit=2),
 log_store.search_logs('pay', 'x', log_level='warn'), log_store.search_logs('pay', 'nothing'),
 log_store.tail_logs('pay', lines=1), log_store.list_services(),
 log_store.get_error_summary('pay', hours=1_000_000)]
"""


def test_logs_are_searched(server):
    files = {"logs/pay.log": "2026-01-01 00:00:00 WARN x\n\nINFO Error: y\n",
             "logs/pay.log.1": "2025-01-01 00:00:00 ERROR ValueError: new\n"
                               "2025-01-01 00:00:00 ERROR ValueError: newer\n"}
    record = server.execute(LOG_PROGRAM, files=files)
    assert record["result"] == [
        ["2025-01-01 00:00:00 ERROR ValueError: newer", "INFO Error: y"],
        ["2026-01-01 00:00:00 WARN x"],
        ["No logs found for service 'pay' matching 'nothing'"], ["INFO Error: y"], ["pay"],
        {"service": "pay", "time_range_hours": 1_000_000, "total_errors": 3,
         "errors_by_type": {"ValueError": 2, "KeyError": 1}, "most_frequent_error": "ValueError",
         "error_rate_per_hour": 0.0}], record["stderr"]


@pytest.mark.parametrize("name", ["../etc/passwd", "a/b", "", ".hidden"])
def test_a_service_is_no_path(server, name):
    code = f"import log_store\nlog_store.tail_logs({name!r})"
    record = server.execute(code, files={"logs/pay.log": "x\n"})
    assert record["error"]["type"] == "ValueError"


def test_the_workspace_describes_itself(ask):
    told = output(ask("get_workspace_info"))
    assert told.keys() == {"workspace_path", "exists", "file_count", "directory_count",
                           "used_bytes", "max_bytes", "used_percent", "max_file_size",
                           "allowed_extensions"}
    assert (told["max_bytes"], told["max_file_size"]) == (100 << 20, 10 << 20)
    assert told == output(ask("workspace"))


@pytest.mark.parametrize(("path", "error"), [
    ("../x.txt", "PermissionError"), ("/etc/x.txt", "PermissionError"), ("x.exe", "ValueError")])
def test_the_workspace_has_bounds(ask, path, error):
    answer = ask("workspace", function="write_file", filepath=path, content="x")
    assert answer["success"] is False and answer["error"].startswith(f"{error}: ")


SKILLS_PROGRAM = """
from tools import skills, tool_discovery, workspace
skills.save_skill('double', 'def double(x):\\n    return 2 * x', 'Doubles a number')
skills.update_skill('double', description='Twice as much')
workspace.save_checkpoint('a', {'x': 1})
[skills.run_skill('double', x=21), skills.list_skills(), skills.search_skills('twice'),
 workspace.load_checkpoint('a'), workspace.list_checkpoints(),
 workspace.list_files('skills', recursive=True),
 tool_discovery.generate_tool_stubs()['success'],
 tool_discovery.list_available_tools()['stubs_generated']]
"""


def test_skills_checkpoints_and_stubs(server):
    record = server.execute(SKILLS_PROGRAM)
    known = [{"name": "double", "description": "Twice as much", "version": "1.0.0"}]
    assert record["result"] == [
        42, known, known, {"x": 1}, ["a"],
        ["skills/double/SKILL.md", "skills/double/implementation.py",
         "skills/double/metadata.json"], True, True], record["stderr"]


@pytest.mark.parametrize("name", ["../x", "", "test", "a b", "x" * 51])
def test_a_skill_has_a_plain_name(server, name):
    record = server.execute(f"from tools import skills\nskills.save_skill({name!r}, 'x = 1')")
    assert record["error"]["type"] == "ValueError"


def test_functions_are_listed(ask):
    for tool in ("list_available_tools", "get_available_tools", "tool_discovery"):
        told = output(ask(tool))
        assert told.keys() == {"tools", "total_functions", "stubs_generated"}
        assert "scrub_all_pii" in told["tools"]["privacy"]
    found = output(ask("tool_discovery", function="search_tools", query="scrub email"))
    assert found[0].keys() == {"module", "name", "signature", "description"}
    assert found[0]["name"] == "scrub_emails"


def test_an_error_of_a_function_is_an_answer(ask):
    assert "TypeError" in ask("privacy", function="scrub_emails")["error"]
    assert "There is no skill" in ask("run_skill", name="nothing")["error"]
    assert output(ask("list_skills")) == []


def test_without_the_module_that_is_what_is_said(own_server, place):
    (place / "tools").mkdir()
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(place / "tools")))
    result = call_tool(server, "privacy", text="x")
    assert result["isError"] and "Tool 'privacy' not found" in result["content"][0]["text"]
