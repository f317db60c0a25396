"""`belljar run`: the program's own input and output."""

import hashlib
import json
import subprocess

import pytest

from support_binary import (BINARY, COMMAND_SECONDS, GUESTS, belljar, environment, run_code,
                            wait_until)
from support_processes import guests_of


def write_program(place, text, name="program.py"):
    file = place / name
    file.write_text(text)
    return file


def test_program_from_standard_input():
    ended = run_code("print(6*7)")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"42\n", b"")


def test_program_from_a_file(place):
    ended = belljar("run", write_program(place, "print('from a file')"))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"from a file\n", b"")


def test_empty_program_is_a_program():
    ended = run_code("")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_arguments_reach_the_program(place):
    program = write_program(place, "import sys; print(sys.argv[1:])")
    ended = belljar("run", program, "one", "two words", "-x", "--timeout", "")
    assert ended.stdout == b"['one', 'two words', '-x', '--timeout', '']\n"


def test_arguments_after_standard_input_program():
    ended = belljar("run", "-", "a", "b", stdin=b"import sys; print(sys.argv[1:])")
    assert ended.stdout == b"['a', 'b']\n"


@pytest.mark.parametrize(("language", "code", "arguments", "said"), [
    ("python", b"pass\nprint('\xff')", [], b"line 2 of the program is not valid UTF-8"),
    ("js", b"console.log('\xe9')", [], b"line 1 of the program is not valid UTF-8"),
    ("typescript", b"// \xe9", [], b"line 1 of the program is not valid UTF-8"),
    ("python", b"print(1)", [b"fine", b"\xe9"], b"argument 2 of the program is not valid UTF-8"),
    ("javascript", b"1", [b"\xe9"], b"argument 1 of the program is not valid UTF-8")])
def test_what_is_no_text_is_refused_in_words(language, code, arguments, said):
    ended = subprocess.run([BINARY, "run", "--language", language, "-", *arguments], input=code,
                           capture_output=True, env=environment(), timeout=COMMAND_SECONDS,
                           check=False)
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert ended.stderr.startswith(b"belljar: " + said), ended.stderr
    assert b"Traceback" not in ended.stderr


def test_bytes_reach_a_program_that_is_a_file():
    ended = subprocess.run([BINARY, "run", "--language", "bash", "-", b"\xe9"],
                           input=b"echo \xff $1", capture_output=True, env=environment(),
                           timeout=COMMAND_SECONDS, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"\xff \xe9\n"), ended.stderr


def test_standard_input_reaches_the_program(place):
    program = write_program(place, "import sys; print(sys.stdin.read()[::-1])")
    assert belljar("run", program, stdin=b"abc").stdout == b"cba\n"


def test_large_standard_input_reaches_the_program_exactly(place):
    program = write_program(
        place, "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())")
    data = bytes(range(256)) * 16384
    ended = belljar("run", program, stdin=data)
    assert ended.stdout.decode().strip() == hashlib.sha256(data).hexdigest()


def test_standard_input_that_nobody_reads_does_no_harm(place):
    ended = belljar("run", write_program(place, "print('done')"), stdin=b"x" * 4_000_000)
    assert (ended.returncode, ended.stdout) == (0, b"done\n")


def test_megabytes_of_output_are_exact():
    code = "import sys; sys.stdout.write(''.join(f'{n}\\n' for n in range(1_000_000)))"
    ended = run_code(code)
    assert ended.returncode == 0
    assert ended.stdout == "".join(f"{n}\n" for n in range(1_000_000)).encode()


def test_binary_output_is_exact():
    ended = run_code("import sys; sys.stdout.buffer.write(bytes(range(256)) * 12288)")
    assert ended.stdout == bytes(range(256)) * 12288


def test_both_streams_are_kept_apart():
    ended = run_code("import sys; print('out'); print('err', file=sys.stderr)")
    assert (ended.stdout, ended.stderr) == (b"out\n", b"err\n")


def test_ordinary_programs_just_run():
    code = """
import concurrent.futures, subprocess, sqlite3, tempfile, sys
sys.setrecursionlimit(20000)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
class Box:
    def __init__(self, value): self.value = value
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    total = sum(pool.map(lambda n: n * n, range(100)))
said = subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout.strip()
with tempfile.NamedTemporaryFile() as file:
    row = sqlite3.connect(file.name).execute("select 40 + 2").fetchone()[0]
print(depth(5000), Box(3).value, total, said, row)
"""
    ended = run_code(code)
    assert (ended.stdout, ended.stderr) == (b"5000 3 328350 hello 42\n", b"")


def test_children_left_behind_die():
    ended = belljar("run", GUESTS / "leave_children.py")
    assert (ended.returncode, ended.stdout) == (0, b"left\n")
    wait_until(lambda: not guests_of(), "the children are gone", 5)


def test_fork_bomb_ends():
    # With room for 64 interpreters, or the memory limit would come first.
    ended = belljar("run", "--json", "--memory", "2g", GUESTS / "fork_bomb.py")
    record = json.loads(ended.stdout)
    assert record["status"] == "processes"
    assert record["usage"]["processes_peak"] <= 64
    assert record["denials"][0]["rule"] == "limits.processes"
    assert run_code("print('the host is fine')").returncode == 0


def test_stubborn_fork_bomb_ends_in_time():
    ended = belljar("run", "--timeout", "2", GUESTS / "stubborn_fork_bomb.py")
    assert ended.returncode == 124
    wait_until(lambda: not guests_of(), "the bomb is gone", 5)
    assert run_code("print('the host is fine')").returncode == 0
