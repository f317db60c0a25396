"""The tools: what is told of them, and that results are what was told."""

import json
import re

import jsonschema
import pytest

from support_binary import environment
from support_mcp import (LEGACY, StdioServer, call, call_tool, initialize, list_tools, request,
                         tool_answer)
from support_tools import approve

OWN = {"execute_code", "execute_batch", "manage_session", "validate_code", "list_files",
       "read_file", "write_file", "search_tools", "pip_install", "get_sandbox_info"}

TABLE = "import pandas\npandas.DataFrame({'a': [1, 2]})"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
CONNECT = "import socket\nsocket.create_connection(('10.0.0.1', 80), timeout=1)"


@pytest.fixture(scope="module")
def tools(server):
    return list_tools(server)


def check(result, tool):
    """The structured content is what the tool's schema says."""
    validator = jsonschema.Draft202012Validator(tool["outputSchema"])
    assert [error.message for error in validator.iter_errors(result["structuredContent"])] == []
    assert result["content"][0]["type"] == "text" and result["content"][0]["text"]
    return result["structuredContent"]


def text_of(result):
    return result["content"][0]["text"]


# --- what is told of them

def test_those_that_are_listed(tools):
    assert OWN <= tools.keys()
    assert not {"execute_python", "sandbox.run_code", "run_code", "log_store"} & tools.keys()


def test_each_is_told_of_in_full(tools):
    for name, tool in tools.items():
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
        assert tool["title"] and tool["annotations"]["title"] == tool["title"]
        assert len(tool["description"]) > 100 and "Example: {" in tool["description"]
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object" and "$schema" not in schema
        assert tool["inputSchema"]["additionalProperties"] is False
        hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert all(isinstance(tool["annotations"][hint], bool) for hint in hints)
        assert [icon["mimeType"] for icon in tool["icons"]] == ["image/svg+xml"]


def test_the_example_is_what_the_schema_allows(tools):
    for tool in tools.values():
        example = json.loads(tool["description"].split("Example: ")[1])
        jsonschema.validate(example, tool["inputSchema"])


@pytest.mark.parametrize("revision", LEGACY)
def test_older_revisions_are_told_less(revision):
    server = StdioServer()
    server.ask(initialize(1, revision))
    tool = server.ask(request(2, "tools/list"))["result"]["tools"][0]
    assert ("icons" in tool) == (revision >= "2025-11-25")
    assert ("outputSchema" in tool) == (revision >= "2025-06-18")
    assert server.finish()[0] == 0


# --- results are what their schemas say

RUNS = {
    "ok": {"code": "print(6 * 7)"},
    "value": {"code": "{'a': [1, None, 'x']}", "output": "full", "debug": True},
    "error": {"code": "raise ValueError('no')"},
    "syntax": {"code": "def f(:"},
    "exit": {"code": "raise SystemExit(3)"},
    "timeout": {"code": "while True: pass", "timeout": 0.3},
    "memory": {"code": "x = bytearray(1 << 30)", "memory_limit": "64m"},
    "killed": {"code": "import os\nos.kill(os.getpid(), 9)"},
    "denied": {"code": CONNECT},
    "written": {"code": "open('/etc/x', 'w')"},
    "picture": {"code": PLOT, "output": "full"},
    "table": {"code": TABLE, "output": "full"},
    "long": {"code": "print('x' * 300_000)", "max_output": "16k"},
    "capped": {"code": "1", "timeout": 1000},
    "session": {"code": "x = 1", "session": True},
    "bash": {"code": "echo hi", "language": "bash"},
}


@pytest.mark.parametrize("arguments", RUNS.values(), ids=RUNS.keys())
def test_a_run_is_what_its_schema_says(server, tools, arguments):
    result = call_tool(server, "execute_code", **arguments)
    record = check(result, tools["execute_code"])
    assert result["isError"] == (record["status"] != "ok")
    unknown = record.keys() - tools["execute_code"]["outputSchema"]["properties"].keys()
    assert not unknown
    if "session_id" in record:
        call_tool(server, "manage_session", action="end", session_id=record["session_id"])


def test_a_batch_is_what_its_schema_says(server, tools):
    runs = [*RUNS.values(), {"code": 5}]
    runs = [run for run in runs if "session" not in run]
    record = check(call_tool(server, "execute_batch", runs=runs), tools["execute_batch"])
    assert record["refused"] == 1 and len(record["results"]) == len(runs)
    validator = jsonschema.Draft202012Validator(tools["execute_code"]["outputSchema"])
    for element in record["results"]:
        assert element["state"] == "refused" or validator.is_valid(element["result"])


def test_a_session_is_what_its_schema_says(server, tools):
    record = check(call_tool(server, "execute_code", code="x = 1", session=True),
                   tools["execute_code"])
    names = {"session_id": record["session_id"]}
    for action in ({"action": "list"}, {"action": "diff", **names}, {"action": "undo", **names},
                   {"action": "end", **names}):
        assert check(call_tool(server, "manage_session", **action),
                     tools["manage_session"])["sessions"]


def test_the_sandbox_is_what_its_schema_says(server, tools):
    told = check(call_tool(server, "get_sandbox_info"), tools["get_sandbox_info"])
    assert told["success"] is True
    assert len(told["security_profiles"]["basic"]["modules"]) == 40
    assert told["security_profiles"]["network"]["enabled"] is False
    assert told["resource_limits"] == {"timeout": 30, "max_output_size": 1 << 20,
                                       "memory_limit": "256m"}
    assert told["container_mode"] == {"available": True, "enabled": True}


# --- arguments

@pytest.mark.parametrize(("tool", "arguments", "part"), [
    ("list_files", {}, '"conversation_id" is required'),
    ("read_file", {"conversation_id": "a", "path": 1}, '"path" must be a string'),
    ("read_file", {"conversation_id": "a", "path": "b", "encoding": "utf-16"}, '"auto", "text"'),
    ("read_file", {"conversation_id": "a", "path": "b", "length": 1 << 30}, "at most 1048576"),
    ("read_file", {"conversation_id": "a", "path": "b", "offset": -1}, "at least 0"),
    ("write_file", {"conversation_id": "a", "path": "b"}, "content_base64"),
    ("write_file", {"conversation_id": "a", "path": "b", "content": "", "content_base64": ""},
     "either"),
    ("write_file", {"conversation_id": "a", "path": "b", "content_base64": "!"}, "not base64"),
    ("validate_code", {"code": "1", "profile": "none"}, '"standard", "basic"'),
    ("validate_code", {"code": "1", "language": "ruby"}, "python, javascript and typescript"),
    ("search_tools", {"qery": "x"}, 'unknown argument "qery"; allowed are query, detail'),
    ("pip_install", {"package": "a b; rm"}, "letters, digits"),
    ("get_sandbox_info", {"verbose": True}, '"verbose"')])
def test_wrong_arguments_are_told_to_the_model(server, tool, arguments, part):
    result = call_tool(server, tool, **arguments)
    assert result["isError"] and part in text_of(result), text_of(result)
    assert "structuredContent" not in result


def test_an_unknown_tool_is_an_error_of_the_protocol(server):
    answer = tool_answer(server, request(1, "tools/call", name="nonsense", arguments={}))
    assert answer["error"]["code"] == -32602 and '"nonsense"' in answer["error"]["message"]


# --- results for a model

def test_what_was_printed_comes_first(server):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nraise ValueError('no')"
    text = text_of(call_tool(server, "execute_code", code=code))
    assert text.startswith("out\n[stderr]\nerr\n")
    assert text.count("ValueError: no") == 1 and text.endswith("exit code 1.")


def test_the_traceback_is_not_repeated_unless_all_is_wanted(server):
    text = text_of(call_tool(server, "execute_code", code="1/0", output="full"))
    assert text.count("ZeroDivisionError: division by zero") == 2


def test_long_output_is_cut_in_the_middle_unless_all_is_wanted(server):
    code = "print('first', 'x' * 100_000, 'last')"
    text = text_of(call_tool(server, "execute_code", code=code))
    assert len(text) < 34_000 and text.startswith("first x") and "x last\n[stdout is shown" in text
    full = text_of(call_tool(server, "execute_code", code=code, output="full"))
    assert full == f"first {'x' * 100_000} last\n"


def test_output_that_was_kept_is_linked(server):
    result = call_tool(server, "execute_code", code="print('x' * 300_000)", max_output="16k")
    link = result["content"][1]
    identifier = result["structuredContent"]["execution_id"]
    assert (link["type"], link["mimeType"]) == ("resource_link", "text/plain")
    assert (link["uri"], link["name"]) == (f"belljar://runs/{identifier}/stdout", "stdout")
    assert link["size"] == 300_001


def test_a_link_is_told_in_words_to_older_clients(place):
    server = StdioServer(environment(BELLJAR_SERVER_DATA_DIR=str(place / "data")))
    server.ask(initialize(1, "2025-03-26"))
    result = server.ask(call(2, "print('x' * 300_000)", max_output="16k"))["result"]
    assert [block["type"] for block in result["content"]] == ["text", "text"]
    assert "belljar://runs/" in result["content"][1]["text"]
    assert "structuredContent" not in result
    assert server.finish()[0] == 0


def test_a_picture_is_a_picture_and_other_forms_are_typed(server):
    compact = call_tool(server, "execute_code", code=PLOT)["content"]
    assert [block["type"] for block in compact] == ["text", "image"]
    full = call_tool(server, "execute_code", code=PLOT, output="full")["content"]
    resources = [block["resource"] for block in full if block["type"] == "resource"]
    assert [resource["mimeType"] for resource in resources] == ["image/svg+xml"]
    assert "<svg" in resources[0]["text"]


def test_a_table_is_text_or_typed(server):
    compact = call_tool(server, "execute_code", code=TABLE)["content"]
    assert [block["type"] for block in compact] == ["text"] and "=>    a" in compact[0]["text"]
    full = call_tool(server, "execute_code", code=TABLE, output="full")["content"]
    types = {block["resource"]["mimeType"] for block in full if block["type"] == "resource"}
    assert types == {"text/html", "application/json"}


# --- validate_code

def validate(server, tools, code, **arguments):
    result = call_tool(server, "validate_code", code=code, **arguments)
    assert result["isError"] is False
    return check(result, tools["validate_code"])


def test_an_import_that_is_not_allowed(server, tools):
    told = validate(server, tools, "import os\nos.system('rm -rf /')")
    assert told["validation"] == {
        "valid": False, "errors": ["Line 1: Import 'os' is not allowed"],
        "message": "Code contains restricted operations"}
    assert told["analysis"]["line_count"] == 2 and told["analysis"]["character_count"] == 31
    assert told["analysis"]["estimated_complexity"] == "low"
    assert told["recommendations"][0] == "Some operations may be restricted in sandbox environment"
    assert told["profile"] == "basic" and "basic" in told["recommendations"][1]


@pytest.mark.parametrize(("code", "profile", "errors"), [
    ("import math, json\nfrom collections import abc", "basic", []),
    ("from urllib import parse\nimport xml.etree.ElementTree", "basic", []),
    ("from urllib import request", "basic", ["Line 1: Import 'urllib' is not allowed"]),
    ("def f():\n    import os.path\n", "basic", ["Line 2: Import 'os' is not allowed"]),
    ("import os.path", "filesystem", []),
    ("import numpy", "basic", ["Line 1: Import 'numpy' is not allowed"]),
    ("import numpy", "data_science", []),
    ("import os, subprocess", "standard", []),
    ("x = 1\nreturn x", "standard", ["Line 2: 'return' outside function"]),
    ("await x", "standard", []),
    ("(" * 100_000, "standard", ["Line 1: too many nested parentheses"]),
    ("x = '\\ud800", "standard", ["Line 1: unterminated string literal (detected at line 1)"]),
    ("", "standard", [])])
def test_python_is_read_as_the_interpreter_reads_it(server, tools, code, profile, errors):
    told = validate(server, tools, code, profile=profile)
    assert told["validation"]["errors"] == errors
    assert told["validation"]["valid"] == (not errors)


@pytest.mark.parametrize(("code", "language", "errors"), [
    ("const path = require('path');\nreturn 1;", "js", []),
    ("require('fs');\nimport('child_process')", "javascript",
     ["Line 1: Import 'fs' is not allowed", "Line 2: Import 'child_process' is not allowed"]),
    ("import { x } from 'node:fs';\nawait x;", "js", ["Line 1: Import 'node:fs' is not allowed"]),
    ("let x = ;", "js", ["Line 1: Unexpected token"]),
    ("enum A { B }\nconst x: number = 5;\nreturn x;", "ts", []),
    ("\n\nimport { readFile } from 'fs';", "typescript", ["Line 3: Import 'fs' is not allowed"])])
def test_scripts_are_read_as_the_guest_reads_them(server, tools, code, language, errors):
    assert validate(server, tools, code, language=language)["validation"]["errors"] == errors


def test_types_that_are_wrong(server, tools):
    errors = validate(server, tools, "let y;\nconst x: = 5;", language="ts")["validation"]["errors"]
    assert len(errors) == 1 and errors[0].startswith("Line 2: ")


def test_nothing_is_executed(server, tools):
    code = "while True: pass\nraise SystemExit(1)"
    assert validate(server, tools, code, profile="standard")["validation"]["valid"]
    loop = validate(server, tools, "for (;;);", language="js", profile="standard")
    assert loop["validation"]["valid"]


def test_what_a_program_consists_of(server, tools):
    code = "class A:\n    def f(self):\n        return eval('1')\n" + "if 1: pass\n" * 40
    told = validate(server, tools, code, profile="standard")
    assert told["analysis"]["functions"] == ["f"] and told["analysis"]["classes"] == ["A"]
    assert told["analysis"]["estimated_complexity"] == "high"
    assert told["warnings"] == ["Line 3: Call of 'eval' hides what the program does"]


# --- packages and modules

def test_a_package_that_is_there(server, tools):
    told = check(call_tool(server, "pip_install", package="NumPy"), tools["pip_install"])
    assert told["success"] and re.fullmatch(r"\d+\.\d+\.\d+", told["installed_version"])


@pytest.mark.parametrize("arguments", [{"package": "no-such-package"},
                                       {"package": "numpy", "version": "0.0.1"}], ids=str)
def test_a_package_that_is_not_there(server, tools, arguments):
    result = call_tool(server, "pip_install", **arguments)
    told = check(result, tools["pip_install"])
    assert result["isError"] and not told["success"]
    assert "not enabled on this server" in told["message"] and "numpy" in told["message"]
    assert {"numpy"} <= {package["name"] for package in told["packages"]}


def test_functions_and_tools_are_found_by_words(server, tools):
    found = check(call_tool(server, "search_tools", query="Search LOGS"), tools["search_tools"])
    first = found["results"][0]
    assert (first["kind"], first["module"], first["name"]) == (
        "function", "log_store", "search_logs")
    assert first["signature"].startswith("search_logs(service_name: str, keyword: str")
    everything = check(call_tool(server, "search_tools", query="", detail="names"),
                       tools["search_tools"])
    assert everything["total"] > 40 and "description" not in everything["results"][0]
    nothing = check(call_tool(server, "search_tools", query="xyzzy"), tools["search_tools"])
    assert nothing["results"] == []


def test_modules_of_the_operator_are_found(own_server, place, tools):
    folder = place / "tools"
    (folder / "deep").mkdir(parents=True)
    (folder / "mine.py").write_text('def answer(x: int = 5) -> int:\n    """Says it."""\n')
    (folder / "deep" / "part.py").write_text("def hidden(): ...\n")
    (folder / "broken.py").write_text("def broken(:\n")
    approve(folder)
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(folder)))
    found = check(call_tool(server, "search_tools", query="answer"), tools["search_tools"])
    assert found["results"][0] == {
        "kind": "function", "module": "mine", "name": "answer",
        "signature": "answer(x: int=5) -> int", "description": "Says it."}
    found = call_tool(server, "search_tools", query="hidden")["structuredContent"]["results"]
    assert [entry["module"] for entry in found] == ["deep.part"]
