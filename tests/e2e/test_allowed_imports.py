"""Import control: what a program may import by itself. A check on code that means well; the fence
is the jar."""

import pytest


def refusal(server, code, allowed, **arguments):
    record = server.execute(code, allowed_imports=allowed, **arguments)
    assert record["status"] == "error", record
    assert record["error"]["type"] == "ImportError"
    return record["error"]


@pytest.mark.parametrize("code, module", [
    ("import os", "os"),
    ("import os.path", "os"),
    ("import math, os", "os"),
    ("from os import path", "os"),
    ("from os.path import join", "os"),
    ("def inner():\n    import os\ninner()", "os"),
    ("class Inner:\n    import os", "os"),
    ("__import__('os')", "os"),
    ("exec('import os')", "os"),
    ("await_me = lambda: __import__('os.path')\nawait_me()", "os"),
    ("import asyncio", "asyncio")])
def test_another_module_is_refused(server, code, module):
    assert refusal(server, code, ["math"])["message"] == (
        f"Import of '{module}' is not allowed in sandbox")


@pytest.mark.parametrize("code", [
    "import math", "import math as m", "from math import pi", "__import__('math')",
    # What an allowed module imports is its own matter.
    "import statistics\nstatistics.mean([1, 2])", "import json.decoder",
    # So is what a function of the interpreter's imports when it is called.
    "import datetime\ndatetime.datetime.strptime('1', '%d').strftime('%Y')",
    # What the bootstrap needs for this is none of the program's imports.
    "async def later():\n    return 1\nawait later()",
    "from __future__ import annotations\nimport math"])
def test_allowed_modules_work(server, code):
    allowed = ["math", "statistics", "json", "datetime", "__future__"]
    record = server.execute(code, allowed_imports=allowed)
    assert record["status"] == "ok", record["stderr"]


def test_no_module_at_all(server):
    said = refusal(server, "import math", [])["message"]
    assert said == "Import of 'math' is not allowed in sandbox"
    assert server.execute("6*7", allowed_imports=[])["result"] == 42


@pytest.mark.parametrize("arguments", [{}, {"allowed_imports": None}])
def test_no_control_unless_asked_for(server, arguments):
    assert server.execute("import os\nos.sep", **arguments)["result"] == "/"


def test_files_of_the_program_are_modules_too(server):
    files = {"mine.py": "import os\nHERE = os.getcwd()"}
    assert refusal(server, "import mine", ["math"], files=files)
    record = server.execute("import mine\nmine.HERE", allowed_imports=["mine"], files=files)
    assert record["result"] == "/workspace", record["stderr"]


def test_a_refusal_shows_the_programs_own_lines_only(server):
    error = refusal(server, "x = 1\nimport os", [])
    assert error["line"] == 2
    assert error["traceback"] == (
        'Traceback (most recent call last):\n  File "/workspace/main.py", line 2, in <module>\n'
        "    import os\nImportError: Import of 'os' is not allowed in sandbox\n")


def test_other_tracebacks_are_as_without_control(server):
    files = {"broken.py": "def fail():\n    return 1 / 0\nfail()"}
    code = "import broken"
    controlled = server.execute(code, files=files, allowed_imports=["broken"])["error"]
    assert controlled == server.execute(code, files=files)["error"]
    assert "checked_import" not in controlled["traceback"]
    assert "broken.py" in controlled["traceback"]


@pytest.mark.parametrize("allowed", ["math", ["os.path"], [1], [""], {}, True, [None]])
def test_a_bad_list_is_refused_in_words(server, allowed):
    answer = server.request("POST", "/execute", {"code": "1", "allowed_imports": allowed})
    assert answer.status == 400 and "allowed_imports" in answer.json["error"]


@pytest.mark.parametrize("wanted", [True, False, None])
def test_a_container_is_what_every_run_has_already(server, wanted):
    record = server.execute("6*7", use_container=wanted)
    assert record["result"] == 42
    assert record["isolation"] == server.execute("1")["isolation"]
    assert record["isolation"]["tier"] == "kernel"


def test_a_container_that_is_no_boolean_is_refused(server):
    answer = server.request("POST", "/execute", {"code": "1", "use_container": "yes"})
    assert answer.status == 400 and "use_container" in answer.json["error"]
