"""Programs that take their interpreter apart: the exit code and the bytes are those of the bare
interpreter, and what the record says beyond that is true."""

import json
import re
import subprocess

import pytest

from support_binary import run_code
from support_mcp import StdioServer, call, initialize

INTERPRETER = "/usr/bin/python3"
SECONDS = 60


def bare(place, code, stdin=""):
    """Exit code, stdout and stderr of the interpreter alone."""
    program = place / "main.py"
    program.write_text(code)
    ended = subprocess.run([INTERPRETER, "-I", "-B", "-X", "utf8", str(program)], cwd=place,
                           input=stdin.encode(), capture_output=True, timeout=SECONDS, check=False)
    return ended.returncode, *(stream.decode().replace(str(place), "/workspace")
                               for stream in (ended.stdout, ended.stderr))


def seen(record):
    code = record["exit_code"] if record["exit_code"] is not None else -record["signal"]
    return code, record["stdout"], record["stderr"]


LIKE_THE_INTERPRETER = {
    "empty": "",
    "only a comment": "# nothing",
    "os._exit": "import os\nprint('before', flush=True)\nos._exit(7)",
    "os._exit loses what is buffered": "import os, sys\nsys.stdout.write('lost')\nos._exit(0)",
    "sys.exit with text": "import sys\nprint('out')\nsys.exit('sorry')",
    "sys.exit with nothing": "import sys\nsys.exit()",
    "sys.exit with a large number": "import sys\nsys.exit(300)",
    "sys.exit with a negative number": "import sys\nsys.exit(-1)",
    "sys.exit with a huge number": "import sys\nsys.exit(2 ** 70)",
    "sys.exit with a hugely negative number": "import sys\nsys.exit(-2 ** 63 - 1)",
    "sys.exit with a list": "import sys\nsys.exit([1, 'ü'])",
    "an exception of SystemExit's": "class E(SystemExit): pass\nraise E(3)",
    "interrupted": "print('x')\nraise KeyboardInterrupt",
    "print replaced": "import builtins\nbuiltins.print = lambda *a, **k: 1/0\n5",
    "no len": "import builtins\ndel builtins.len\nx = [1]\nx",
    "no len and an error": "import builtins\ndel builtins.len\nlen([1])",
    "no modules": "import sys\nsys.modules.clear()\nprint('x')",
    "modules replaced": "import sys\nsys.modules = {}\nx = 1",
    "open replaced": "import builtins\nbuiltins.open = None\n1/0",
    "json broken": "import json\njson.dumps = json.loads = json.JSONEncoder = None\n{'a': 1}",
    "os broken": "import os\nos.write = os.close = os.read = os._exit = None\n5",
    "traceback broken": "import traceback\ntraceback.walk_tb = None\n5",
    "linecache cleared": "import linecache\nlinecache.cache.clear()\nx = 1",
    "isinstance lies": "import builtins\nbuiltins.isinstance = lambda *a: False\n1/0",
    "stdout closed": "import sys\nprint('x')\nsys.stdout.close()",
    "stdout replaced": "import io, sys\nsys.stdout = io.StringIO()\nprint('lost')",
    "stdout replaced with something buffered": "import io, sys\nsys.stdout.write('kept')\n"
                                               "sys.stdout = io.StringIO()",
    "stdout is None": "import sys\nsys.stdout = None\nprint('x')",
    "stderr replaced": "import sys\nsys.stderr = sys.stdout\n1/0",
    "stderr is None": "import sys\nsys.stderr = None\n1/0",
    "excepthook replaced": "import sys\nsys.excepthook = lambda t, e, tb: print(t.__name__, e)\n"
                           "raise ValueError('bad')",
    "exit functions": "import atexit\natexit.register(print, 'late')\nprint('early')",
    "exit functions after an error": "import atexit\natexit.register(print, 'late')\n1/0",
    "exit functions in order": "import atexit\nfor i in range(3): atexit.register(print, i)",
    "threads that are still running": "import threading, time\ndef late():\n    time.sleep(0.2)\n"
                                      "    print('late')\nthreading.Thread(target=late).start()\n"
                                      "print('early')",
    "threads that nobody awaits": "import threading, time\nthreading.Thread(target=time.sleep, "
                                  "args=(100,), daemon=True).start()\nprint('x')",
    "objects with a last word": "class A:\n    def __del__(self): print('gone')\na = A()",
    "text of an exception fails": "class E(Exception):\n    def __str__(self): 1/0\nraise E",
    "chained": "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('b') from e",
    "while another was handled": "try:\n    1/0\nexcept ZeroDivisionError:\n    {}['k']",
    "group": "raise ExceptionGroup('two', [ValueError(1), ExceptionGroup('in', [KeyError(2)])])",
    "wrong syntax": "x = 1\nif x\n    y",
    "unclosed": "x = (1,\n",
    "return outside of a function": "x = 1\nreturn 5",
    "await in a function": "def f():\n    await g()",
    "global too late": "def f():\n    x = 1\n    global x",
    "tabs and spaces": "if 1:\n\tx = 1\n        y = 2",
    "no module of that name": "import no_such_module",
    "a name that is nearly right": "def f():\n    prnt('x')\nf()",
    "an attribute that is nearly right": "import math\nmath.sqr(4)",
    "a name that is nearly right, after an error": "try:\n    1/0\nfinally:\n    prnt('x')",
    "a note": "e = ValueError('v')\ne.add_note('look here')\nraise e",
    "long text without an end": "print('x' * 100_000, end='')",
    "half a character": "print('\\ud800')",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "aborted": "import os\nprint('x', flush=True)\nos.abort()",
    "reads to the end": "import sys\nprint(len(sys.stdin.read()))\nprint(input())",
}


@pytest.mark.parametrize("code", LIKE_THE_INTERPRETER.values(), ids=LIKE_THE_INTERPRETER)
def test_like_the_interpreter(open_server, place, code):
    record = open_server.execute(code)
    assert seen(record) == bare(place, code)
    assert record["success"] == (record["exit_code"] == 0)
    assert record.get("report") in (None, "missing")


@pytest.mark.parametrize("name", ["sys.exit with text", "interrupted", "no len and an error",
                                  "stdout closed", "exit functions after an error"])
def test_like_the_interpreter_without_a_zygote(place, name):
    code = LIKE_THE_INTERPRETER[name]
    record = json.loads(run_code(code, "--json").stdout)
    assert seen(record) == bare(place, code)


# --- values

@pytest.mark.parametrize(("name", "value"), [
    ("no len", [1]), ("print replaced", 5), ("json broken", {"a": 1}), ("os broken", 5),
    ("traceback broken", 5)])
def test_values_come_from_broken_interpreters(open_server, name, value):
    assert open_server.execute(LIKE_THE_INTERPRETER[name])["result"] == value


@pytest.mark.parametrize("name", ["no len and an error", "open replaced", "isinstance lies",
                                  "stderr is None"])
def test_errors_come_from_broken_interpreters(open_server, name):
    error = open_server.execute(LIKE_THE_INTERPRETER[name])["error"]
    assert error["type"] in ("NameError", "ZeroDivisionError")
    assert error["line"] >= 2 and "main.py" in error["traceback"]


@pytest.mark.parametrize(("code", "shown"), [
    ("x = [1]\nx.append(x)\nx", "[1, [...]]"),
    ("x = {}\nx['x'] = x\nx", "{'x': {...}}"),
    ("{1, 2}", "{1, 2}"),
    ("{(1, 2): 3}", "{(1, 2): 3}"),
    ("[float('inf')]", "[inf]"),
    ("b'bytes'", "b'bytes'"),
    ("range(3)", "range(0, 3)"),
    ("class A:\n    def __repr__(self): raise KeyboardInterrupt\nA()",
     "<A: repr failed with KeyboardInterrupt>"),
    ("class A:\n    def __repr__(self): import os; return 5\nA()",
     "<A: repr failed with TypeError>"),
    ("class A(dict):\n    def items(self): raise SystemExit(3)\nA(a=1)", "{'a': 1}"),
    ("class A:\n    @property\n    def __class__(self): raise ValueError\n"
     "    def __repr__(self): return 'a'\nA()", "a"),
])
def test_values_that_json_cannot_hold(open_server, code, shown):
    record = open_server.execute(code)
    assert (record["status"], record["exit_code"]) == ("ok", 0), record["stderr"]
    assert record["result"] is None and record["result_repr"] == shown


@pytest.mark.parametrize("code", [
    "'x' * 100_000_000", "b'x' * 100_000_000", "[0] * 10_000_000",
    "{'k': ['x' * 50_000_000, 'y' * 50_000_000]}", "x = [0]\nfor _ in range(60): x = [x, x]\nx"])
def test_huge_values_cost_no_memory_and_no_time(open_server, code):
    record = open_server.execute(code)
    assert record["status"] == "ok", record
    assert record["result"] is None
    assert 1000 < len(record["result_repr"]) < 100_000


def test_a_million_variables(open_server):
    record = open_server.execute(
        "for i in range(1_000_000): globals()[f'v{i}'] = i\nv999999", memory_limit="512m")
    assert record["status"] == "ok" and record["result"] == 999_999
    assert len(record["variables"]) == 1000


def test_variables_with_odd_names(open_server):
    record = open_server.execute("globals()['\\ud800'] = 1\nglobals()[5] = 2\n"
                                 "globals()['x' * 1_000_000] = 3\ny = 4")
    assert record["status"] == "ok" and "report" not in record
    assert "y" in record["variables"] and "\\ud800" in record["variables"]
    assert all(len(name) < 1000 for name in record["variables"])


# --- the report

def test_ending_without_a_report_is_told(open_server):
    record = open_server.execute("import os\nx = 5\nos._exit(0)")
    assert (record["status"], record["report"]) == ("ok", "missing")
    assert record["variables"] == [] and record["result"] is None


@pytest.mark.parametrize(("code", "told"), [
    ("import os\nos.close(5)\n42", "missing"),
    ("import os\nos.closerange(3, 1000)\n42", "missing"),
    ("import os\nos.write(5, b'x')\n42", "damaged"),
    ("import os\nos.write(5, b'{\"result\": 13}')\n42", "damaged"),
    ("import os\nos.write(5, b'{\"result\": 13}\\n')\nos._exit(0)", "damaged"),
    ("import os\nos.write(5, b'{\"mark\": \"\", \"result\": 13, \"outputs\": []}\\n')\nos._exit(0)",
     "damaged"),
    ("import os\nos.write(5, b'\\n')\n42", "damaged"),
    ("import atexit, os\nfd = os.dup(5)\natexit.register(lambda: os.write(fd, b'more'))\n42",
     "damaged"),
    ("import os\nos.write(5, b'[' * 30_000_000)\n42", "damaged"),
])
def test_broken_reports_are_told(open_server, code, told):
    record = open_server.execute(code)
    assert (record["status"], record["exit_code"]) == ("ok", 0), record["stderr"]
    assert record["report"] == told
    assert record["result"] is None and record["outputs"] == []


def test_broken_report_of_a_failure(open_server):
    record = open_server.execute("import os\nos.write(5, b'x')\nimport sys\nsys.exit(4)")
    assert (record["status"], record["exit_code"]) == ("error", 4)
    assert record["report"] == "damaged"


def test_report_is_not_for_processes_of_the_program(open_server):
    record = open_server.execute(
        "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'echo x >&5'],"
        " stderr=subprocess.DEVNULL, close_fds=False).returncode != 0")
    assert record["result"] is True and "report" not in record


# --- programs

@pytest.mark.parametrize(("code", "kind", "line"), [
    ("x = 1\nif x\n    y", "SyntaxError", 2),
    ("def f():\nreturn 1", "IndentationError", 2),
    ("x = 1\n\nx = = 2", "SyntaxError", 3),
    ("if 1:\n\tx = 1\n        y = 2", "TabError", 3),
    ("x = 1\ndef f():\n    return 1/0\nf()", "ZeroDivisionError", 3),
    ("x = 1\nraise ExceptionGroup('g', [ValueError(1)])", "ExceptionGroup", 2),
    ("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e", "KeyError", 4),
    ("def f(): f()\nf()", "RecursionError", 1),
    ("import asyncio\nawait asyncio.sleep(0)\n1/0", "ZeroDivisionError", 3),
    ("import helper\n\nhelper.fail()", "RuntimeError", 3),
    ("\nimport broken", "SyntaxError", 2),
    ("eval('1 +')", "SyntaxError", 1),
    ("1 +", "SyntaxError", 1),
    (" 1", "IndentationError", 1),
    ("\n\n1/0\n", "ZeroDivisionError", 3),
    ("x = 1/0", "ZeroDivisionError", 1),
])
def test_errors_have_a_type_and_a_line(open_server, code, kind, line):
    files = {"helper.py": "def fail():\n    raise RuntimeError('in the helper')\n",
             "broken.py": "\n\n\nx = = 1\n"}
    record = open_server.execute(code, files=files)
    error = record["error"]
    assert (error["type"], error["line"]) == (kind, line)
    assert "bootstrap" not in error["traceback"] and "importlib" not in error["traceback"]
    assert error["traceback"] == record["stderr"]


@pytest.mark.parametrize(("code", "result"), [
    ("6 * 7", 42), ("\n6 * 7  # why\n", 42), ("x = 6; x * 7", 42), ("result = 42", 42),
    ("[n for n in range(3)]", [0, 1, 2]), ("'a text'", "a text"), ("'a\\tb'", "a\tb"),
    ("await __import__('asyncio').sleep(0, 42)", 42)])
def test_one_line_is_a_program(open_server, code, result):
    assert open_server.execute(code)["result"] == result


@pytest.mark.parametrize("code", ["1 is 1", "x = 1 is 1", "x = '\\d' is 1"])
def test_the_interpreter_warns_once(open_server, code):
    assert open_server.execute(code)["stderr"].count("SyntaxWarning") == 1


def test_error_in_a_module_of_the_workspace_shows_its_line(open_server):
    record = open_server.execute("import helper", files={"helper.py": "x = 1\nx.missing\n"})
    assert 'File "/workspace/helper.py", line 2' in record["error"]["traceback"]
    assert "x.missing" in record["error"]["traceback"]


def test_long_tracebacks_keep_their_end(open_server):
    record = open_server.execute("raise ValueError('a' * 200_000 + 'end')")
    assert record["error"]["traceback"].endswith("aend\n")
    assert len(record["error"]["traceback"]) < 70_000
    assert len(record["stderr"]) > 200_000


# --- what is no program

@pytest.mark.parametrize(("body", "words"), [
    (b'{"code": "print(1)\\u0000"}', ["NUL"]),
    (b'{"code": "\xff"}', ["UTF-8", "JSON"]),
    (b'{"code": 5}', ["code", "string"]),
    (b'{}', ["code"]),
    (b'{"code": "1", "output": "pretty"}', ["output", "compact", "full"]),
])
def test_refused_in_words(open_server, body, words):
    answer = open_server.request("POST", "/execute", body)
    assert answer.status == 400, answer
    assert any(word in answer.json["error"] for word in words), answer


def test_too_large_a_program_is_told_what_is_allowed(open_server):
    answer = open_server.raw(open_server.execute_bytes("#" * (64 << 20)))
    assert answer.startswith(b"HTTP/1.1 413"), answer[:500]
    assert re.search(rb'"error":"[^"]*[0-9]+ ?(bytes|[KMG]iB|[kmg]\b)', answer), answer[:500]


def test_error_without_any_builtins(open_server):
    record = open_server.execute("import builtins\nvars(builtins).clear()\nundefined")
    assert (record["status"], record["exit_code"]) == ("error", 1)
    assert record["error"]["type"] == "NameError" and record["error"]["line"] == 3
    assert "name 'undefined' is not defined" in record["stderr"]


def test_error_without_a_stderr(open_server):
    record = open_server.execute("import sys\nsys.stderr.close()\n1/0")
    assert (record["status"], record["exit_code"]) == ("error", 1)
    assert record["error"]["type"] == "ZeroDivisionError" and record["error"]["line"] == 3


def test_empty_program_over_mcp():
    server = StdioServer()
    server.ask(initialize())
    result = server.ask(call(2, ""))["result"]
    assert server.finish()[0] == 0
    assert not result["isError"] and result["structuredContent"]["status"] == "ok"
