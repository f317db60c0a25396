"""`POST /execute`: what the record says about a run."""

import base64

import pytest

OUTPUT_LIMIT = 1 << 20


def test_output_and_status(open_server):
    record = open_server.execute("import sys; print('out'); print('err', file=sys.stderr)")
    assert (record["stdout"], record["stderr"]) == ("out\n", "err\n")
    assert (record["stdout_bytes"], record["stderr_bytes"]) == (4, 4)
    assert (record["status"], record["success"], record["exit_code"]) == ("ok", True, 0)
    assert "error" not in record and "signal" not in record


@pytest.mark.parametrize(("code", "result", "shown"), [
    ("6*7", 42, "42"),
    ("x = [1, 2]\nx", [1, 2], "[1, 2]"),
    ("{'a': None, 'b': [True, 1.5, 'ü']}", {"a": None, "b": [True, 1.5, "ü"]},
     "{'a': None, 'b': [True, 1.5, 'ü']}"),
    ("result = 'named'", "named", "'named'"),
    ("result = 1\n2", 2, "2"),
    ("object.__class__", None, "<class 'type'>"),
    ("1j", None, "1j"),
    ("float('nan')", None, "nan"),
    ("print(1)", None, None),
    ("x = 5", None, None),
    ("2 ** 64", 2 ** 64, str(2 ** 64)),
    ("100 * 1.1", 110.00000000000001, "110.00000000000001"),
    ("[0.1 + 0.2, 1 / 3, 2 / 3 * 1e-5]", [0.1 + 0.2, 1 / 3, 2 / 3 * 1e-5],
     "[0.30000000000000004, 0.3333333333333333, 6.666666666666667e-06]"),
    ("[5e-324, 1.7976931348623157e308]", [5e-324, 1.7976931348623157e308],
     "[5e-324, 1.7976931348623157e+308]"),
    ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "awaited", "'awaited'"),
])
def test_value_of_the_last_expression(open_server, code, result, shown):
    record = open_server.execute(code)
    assert record["status"] == "ok", record["stderr"]
    assert record["result_repr"] == shown
    assert record["result"] == result


@pytest.mark.parametrize("code", [
    "2 ** 1024", "-3 ** 900", "[1, {'inner': 7 ** 500}]", "{'ü' * 40_000: 1}"])
def test_value_that_the_record_cannot_hold_is_shown(open_server, code):
    record = open_server.execute(f"x = {code}\nx")
    assert (record["status"], record["variables"]) == ("ok", ["x"])
    assert (record["result"], record["result_repr"]) == (None, repr(eval(code)))


def test_value_that_is_too_large_is_left_out(open_server):
    record = open_server.execute("'x' * 10_000_000")
    assert record["status"] == "ok" and record["result"] is None
    assert len(record["result_repr"]) < 1 << 20


def test_value_that_cannot_be_shown_does_no_harm(open_server):
    code = "class Odd:\n    def __repr__(self): raise ValueError('no')\nOdd()"
    record = open_server.execute(code)
    assert record["status"] == "ok" and "ValueError" in record["result_repr"]


@pytest.mark.parametrize("depth", [60, 70, 500])
def test_deeply_nested_value_does_no_harm(open_server, depth):
    record = open_server.execute(f"x = []\nfor _ in range({depth}): x = [x]\nx")
    assert record["status"] == "ok"
    assert record["result_repr"] == "[" * (depth + 1) + "]" * (depth + 1)
    assert "x" in record["variables"]


def test_a_child_that_comes_to_the_end_of_the_program_does_not_report(open_server):
    code = ("import os\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait()\n    x = 1\n"
            "x")
    record = open_server.execute(code)
    assert (record["status"], record["stdout"]) == ("ok", "child\n")
    assert (record["result"], record["variables"]) == (1, ["x"])


def test_half_a_character_in_a_value_does_no_harm(open_server):
    record = open_server.execute("x = 'a' + chr(0xd800)\nx")
    assert record["status"] == "ok"
    assert record["result_repr"] == r"'a\ud800'"
    assert record["variables"] == ["x"]


def test_half_a_character_in_an_error_does_no_harm(open_server):
    record = open_server.execute("raise ValueError('a' + chr(0xd800))")
    assert record["status"] == "error"
    assert record["error"]["type"] == "ValueError"
    assert record["error"]["message"].startswith("a")
    assert record["error"]["line"] == 1


def test_variables_are_named(open_server):
    record = open_server.execute("import os\na = 1\n_hidden = 2\ndef f(): pass\nclass C: pass")
    assert record["variables"] == ["a", "f", "C"]


def test_error_says_where(open_server):
    code = "def f(x):\n    return 1 / x\n\nprint('before')\nf(0)"
    record = open_server.execute(code)
    assert (record["status"], record["success"], record["exit_code"]) == ("error", False, 1)
    error = record["error"]
    assert (error["type"], error["message"]) == ("ZeroDivisionError", "division by zero")
    assert error["line"] == 2
    assert error["traceback"].startswith("Traceback (most recent call last):\n")
    assert "return 1 / x" in error["traceback"]
    assert record["stdout"] == "before\n" and record["stderr"] == error["traceback"]


def test_syntax_error_says_where(open_server):
    error = open_server.execute("x = 1\ndef (:\n")["error"]
    assert (error["type"], error["line"]) == ("SyntaxError", 2)


def test_chosen_exit_is_no_exception(open_server):
    record = open_server.execute("import sys; sys.exit(3)")
    assert (record["status"], record["exit_code"]) == ("error", 3)
    assert "error" not in record


def test_standard_input(open_server):
    record = open_server.execute("print(input(), input())", stdin="one\ntwo\n")
    assert record["stdout"] == "one two\n"


def test_no_standard_input_is_an_empty_one(open_server):
    assert open_server.execute("import sys; sys.stdin.read()")["result"] == ""


def test_standard_input_may_hold_nul(open_server):
    assert open_server.execute("import sys; sys.stdin.read()", stdin="a\0b")["result"] == "a\0b"


def test_arguments(open_server):
    record = open_server.execute("import sys; sys.argv[1:]", args=["a b", "ü", "", "--x"])
    assert record["result"] == ["a b", "ü", "", "--x"]


def test_environment(open_server):
    code = "import os; [os.environ['GREETING'], os.environ['HOME'], os.environ.get('PWD')]"
    record = open_server.execute(code, env={"GREETING": "hellö"})
    assert record["result"] == ["hellö", "/workspace", None]


def test_files(open_server):
    data = bytes(range(256))
    files = {"a.txt": "text ü", "deep/er/b.bin": {"base64": base64.b64encode(data).decode()},
             "module.py": "value = 7"}
    code = ("import module\n[open('a.txt').read(), list(open('deep/er/b.bin', 'rb').read()),"
            " module.value]")
    assert open_server.execute(code, files=files)["result"] == ["text ü", list(data), 7]


@pytest.mark.parametrize("language", ["python", "py", "python3", "Python"])
def test_names_of_the_language(open_server, language):
    assert open_server.execute("6*7", language=language)["language"] == "python"


def test_defaults_may_be_spelled_out(open_server):
    record = open_server.execute("6*7", network=False, session=False, use_container=False,
                                 capture_output=True, profile="standard", output="compact")
    assert record["result"] == 42


def test_timeout(open_server):
    record = open_server.execute("print('before')\nwhile True: pass", timeout=1)
    assert (record["status"], record["success"]) == ("timeout", False)
    assert record["stdout"] == "before\n"
    assert 1 <= record["usage"]["wall_seconds"] < 20
    denial = record["denials"][0]
    assert denial["rule"] == "limits.timeout" and "1 second" in denial["what"] and denial["hint"]


def test_memory_limit(open_server):
    record = open_server.execute("x = bytearray(b'x') * (1 << 29)", memory_limit="64m")
    assert record["status"] == "memory"
    assert record["denials"][0]["rule"] == "limits.memory"
    assert record["usage"]["memory_peak_bytes"] <= 64 << 20


def test_usage_is_measured(open_server):
    code = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    usage = open_server.execute(code)["usage"]
    assert 0.3 <= usage["cpu_seconds"] < 5
    assert usage["wall_seconds"] >= 0.3


def test_disk_usage_is_measured(open_server):
    usage = open_server.execute("open('/workspace/x', 'wb').write(b'x' * 3_000_000)")["usage"]
    assert 3_000_000 <= usage["disk_written_bytes"] < 4_000_000


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_large_output_is_cut_exactly(open_server, stream):
    lines = 400_000
    code = (f"import sys\nsys.{stream}.write(''.join(f'{{n:08}}\\n' for n in range({lines})))\n"
            f"sys.{stream}.flush()")
    record = open_server.execute(code)
    text = record[stream]
    whole = "".join(f"{n:08}\n" for n in range(lines))
    assert record["status"] == "ok"
    assert record[f"{stream}_truncated"] is True
    assert record[f"{stream}_bytes"] == len(whole) == 9 * lines
    head, _, rest = text.partition("\n[... ")
    omitted, _, tail = rest.partition(" bytes omitted ...]\n")
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head) + int(omitted) + len(tail) == len(whole)
    assert len(head) + len(tail) == OUTPUT_LIMIT


def test_output_at_the_limit_is_whole(open_server):
    record = open_server.execute(f"import sys; _ = sys.stdout.write('x' * {OUTPUT_LIMIT})")
    assert record["stdout_truncated"] is False
    assert record["stdout"] == "x" * OUTPUT_LIMIT


def test_cut_keeps_characters_whole(open_server):
    record = open_server.execute("print('a' + '€' * 1_000_000)")
    assert record["stdout_truncated"] is True
    assert record["stdout_bytes"] == 3_000_002
    assert "\ufffd" not in record["stdout"]


def test_output_that_is_not_text_is_replaced(open_server):
    record = open_server.execute(r"import sys; _ = sys.stdout.buffer.write(b'a\xff\xc3(\xe2\x82b')")
    assert record["stdout"].startswith("a\ufffd") and record["stdout"].endswith("b")
    assert record["stdout_bytes"] == 7
    assert record["stdout_truncated"] is False


def test_control_characters_in_output_arrive(open_server):
    text = "".join(map(chr, range(128)))
    record = open_server.execute("import sys; _ = sys.stdout.write(''.join(map(chr, range(128))))")
    assert record["stdout"] == text


def test_flood_of_output_ends_the_run(open_server):
    record = open_server.execute("while True: print('x' * 100_000)")
    assert record["status"] == "output"
    assert record["denials"][0]["rule"] == "limits.output_flood"


def test_isolation_is_told(open_server):
    isolation = open_server.execute("1")["isolation"]
    assert isolation["grade"] in ("basic", "standard", "full")
    assert isolation["tier"] == "kernel"
    assert isinstance(isolation["missing"], list)
