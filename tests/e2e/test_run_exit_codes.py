"""`belljar run`: what its exit code and its record say."""

import json

import pytest

from support_binary import GUESTS, belljar, run_code

NUMBER = (int, float)
# Every field of the result record that a run without conversation, signal and error has.
RECORD = {
    "execution_id": str, "language": str, "runner": str, "status": str, "success": bool,
    "exit_code": int, "stdout": str, "stderr": str, "stdout_truncated": bool,
    "stderr_truncated": bool, "stdout_bytes": int, "stderr_bytes": int, "result_repr": str,
    "variables": list, "outputs": list, "files": list, "denials": list, "usage": dict,
    "isolation": dict, "execution_time": NUMBER}
USAGE = {"wall_seconds": NUMBER, "cpu_seconds": NUMBER, "memory_peak_bytes": int,
         "disk_written_bytes": int, "processes_peak": int}
ISOLATION = {"grade": str, "tier": str, "missing": list}


def record_of(code, *options):
    ended = run_code(code, "--json", *options)
    assert not ended.stderr, ended.stderr.decode()
    return ended.returncode, json.loads(ended.stdout)


def assert_types(found, types):
    for name, kind in types.items():
        assert isinstance(found[name], kind), f"{name}: {found[name]!r}"


@pytest.mark.parametrize(("code", "exit_code"), [
    ("pass", 0),
    ("import sys; sys.exit()", 0),
    ("import sys; sys.exit(7)", 7),
    ("import sys; sys.exit(256 + 3)", 3),
    ("import os; os._exit(9)", 9),
    ("raise ValueError('no')", 1),
    ("def broken(:", 1),
    ("import sys; sys.exit('text')", 1),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
])
def test_exit_code_is_that_of_the_program(code, exit_code):
    assert run_code(code).returncode == exit_code


def test_exception_shows_its_traceback():
    errors = run_code("def f():\n    raise ValueError('no')\nf()").stderr.decode()
    assert errors.startswith("Traceback (most recent call last):\n")
    assert errors.endswith("ValueError: no\n")
    assert "line 2" in errors
    assert "bootstrap" not in errors and "/proc/self/fd" not in errors


def test_exit_text_goes_to_standard_error():
    ended = run_code("import sys; sys.exit('text')")
    assert (ended.stdout, ended.stderr) == (b"", b"text\n")


def test_timeout_gives_124_and_keeps_the_output():
    ended = run_code("print('before')\nwhile True: pass", "--timeout", "1")
    assert (ended.returncode, ended.stdout) == (124, b"before\n")
    assert b"1 seconds" in ended.stderr


def test_timeout_holds_for_a_program_that_sleeps():
    assert run_code("import time; time.sleep(1000)", "--timeout", "0.5").returncode == 124


def test_too_much_memory_gives_137():
    ended = run_code("data = bytearray(b'x') * (1 << 29)", "--memory", "64m")
    assert ended.returncode == 137
    assert b"64" in ended.stderr and b"memory" in ended.stderr


def test_memory_of_children_counts():
    code = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        data = bytearray(b'x') * (20 << 20)
        time.sleep(1000)
_, status = os.wait()
print(os.WTERMSIG(status))
"""
    exit_code, record = record_of(code, "--memory", "64m")
    assert (record["status"], exit_code) == ("memory", 137)
    # The whole jar ends with the first process that finds no memory, before or after that prints.
    assert record["stdout"] in ("", "9\n")


def test_record_has_every_field():
    exit_code, record = record_of("x = 5\nprint('hi')\nx * 2")
    assert exit_code == 0
    assert_types(record, RECORD)
    assert_types(record["usage"], USAGE)
    assert_types(record["isolation"], ISOLATION)
    assert record["status"] == "ok" and record["success"] is True
    assert (record["stdout"], record["stdout_bytes"]) == ("hi\n", 3)
    assert (record["result"], record["result_repr"]) == (10, "10")
    assert record["variables"] == ["x"]
    assert (record["language"], record["exit_code"]) == ("python", 0)
    assert record["usage"]["memory_peak_bytes"] > 1 << 20
    assert record["usage"]["processes_peak"] >= 1
    assert record["execution_time"] == record["usage"]["wall_seconds"] > 0
    assert record["isolation"]["grade"] in ("basic", "standard", "full")


@pytest.mark.parametrize(("code", "options", "status", "exit_code"), [
    ("raise ValueError", [], "error", 1),
    ("while True: pass", ["--timeout", "1"], "timeout", 124),
    ("x = bytearray(b'x') * (1 << 29)", ["--memory", "64m"], "memory", 137),
    ("import os; os.kill(os.getpid(), 9)", [], "killed", 137),
    ("while True: print('x' * 100000)", [], "output", 137),
])
def test_record_of_a_failure(code, options, status, exit_code):
    ended, record = record_of(code, *options)
    assert (record["status"], record["success"], ended) == (status, False, exit_code)


def test_signal_is_in_the_record():
    _, record = record_of("import os; os.kill(os.getpid(), 11)")
    assert record["signal"] == 11 and record["exit_code"] is None


def test_execution_ids_differ():
    assert record_of("1")[1]["execution_id"] != record_of("1")[1]["execution_id"]


def test_missing_file_gives_125():
    ended = belljar("run", "/nowhere/program.py")
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert b"cannot read the program" in ended.stderr


def test_directory_as_program_gives_125(place):
    assert belljar("run", place).returncode == 125


@pytest.mark.parametrize("value", ["0", "-1", "1e99", "nan", "inf", "soon", "5x"])
def test_bad_timeout_gives_125_and_a_sentence(value):
    ended = run_code("print(1)", f"--timeout={value}")
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert ended.stderr.startswith(b"belljar: ") and len(ended.stderr) > 25


@pytest.mark.parametrize("value", ["0", "1", "-1m", "15m", "999t", "99999999999999999999", "lots"])
def test_bad_memory_gives_125_and_a_sentence(value):
    ended = run_code("print(1)", f"--memory={value}")
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert ended.stderr.startswith(b"belljar: ") and len(ended.stderr) > 25


def test_unknown_language_gives_125_and_names_the_known():
    ended = run_code("print(1)", "--language", "cobol")
    assert ended.returncode == 125
    assert b"cobol" in ended.stderr and b"python" in ended.stderr


def test_too_much_code_gives_125(place):
    program = place / "big.py"
    program.write_text("#" * (1 << 20) + "\nprint(1)")
    ended = belljar("run", program)
    assert (ended.returncode, ended.stdout) == (125, b"")


@pytest.mark.parametrize("arguments", [["--nonsense", "-"], [], ["--timeout"], ["--timeout=", "-"]])
def test_wrong_usage_gives_2(arguments):
    assert belljar("run", *arguments).returncode == 2


def test_program_that_closes_its_report_is_still_judged():
    code = "import os\nos.close(5)\nprint('x')"
    exit_code, record = record_of(code)
    assert (exit_code, record["status"], record["stdout"]) == (0, "ok", "x\n")


def test_program_that_lies_in_its_report_is_judged_by_the_kernel():
    lie = '{"error": {"type": "Lie", "message": "x"}, "variables": [1, {"a": []}], "repr": 7}'
    exit_code, record = record_of(f"import os\nos.write(5, b'''{lie}''')\nos._exit(0)")
    assert (exit_code, record["status"], record["success"]) == (0, "ok", True)


@pytest.mark.parametrize(("megabytes", "exit_code", "status"), [
    (5, 3, "error"), (200, 137, "output")])
def test_program_that_floods_its_report_is_survived(megabytes, exit_code, status):
    code = f"import os\nfor _ in range({megabytes}): os.write(5, b'[' * 1000000)\nos._exit(3)"
    ended, record = record_of(code)
    assert (ended, record["status"]) == (exit_code, status)


def test_guest_program_by_path():
    assert belljar("run", GUESTS / "describe_jar.py").returncode == 0
