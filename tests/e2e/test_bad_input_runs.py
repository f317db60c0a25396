"""Absurd limits, huge programs, floods, and guests that do everything to outlive their run."""

import json
import signal
import time

import pytest

from support_binary import belljar, environment, run_code, sanitizer_options, wait_until
from support_mcp import StdioServer, call, initialize
from support_processes import guests_of, status_of

MEBIBYTE = 1 << 20
# Beyond a limit of time: to notice, to kill, and to read the last output on a busy machine.
SLACK_SECONDS = 3


@pytest.fixture(autouse=True)
def still_works(open_server):
    """Nothing of the guest is left, and the next one runs."""
    yield
    wait_until(lambda: not guests_of(open_server.pid), "no guest is left", 5)
    assert open_server.execute("6*7")["result"] == 42


def rules(record, source=None):
    return [denial["rule"] for denial in record["denials"]
            if source is None or denial["source"] == source]


# --- limits

BAD_LIMITS = [
    ("timeout", value) for value in (0, -1, -0.0, 1e-300, 86401, 1e308, 10 ** 40, "5", "soon", True,
                                     None, [], {})] + [
    ("memory_limit", value) for value in ("0", "-1", "-1m", "1", "15m", "999t", "9" * 100, "lots",
                                          "", "256mm", "0x10m", "1e9", " ", 0, -1, 256, True, [])
] + [
    ("cpu", value) for value in (0, -1, -0.0, 1e-300, 1025, 1e308, "1", True, None, [])] + [
    ("processes", value) for value in (0, -1, 1.5, 32769, 10 ** 40, "8", True, None, {})] + [
    ("max_output", value) for value in (0, -1, 1.5, "0", "-1", "2g", 10 ** 40, "lots", True, None)]
BAD_LIMIT_NAMES = [f"{name}={json.dumps(value)[:30]}" for name, value in BAD_LIMITS]


def is_refusal(text):
    return len(text) > 20 and "errno" not in text and "/work" not in text


@pytest.mark.parametrize(("name", "value"), BAD_LIMITS, ids=BAD_LIMIT_NAMES)
def test_bad_limit_over_http(open_server, name, value):
    answer = open_server.request("POST", "/execute", {"code": "print('ran')", name: value})
    assert answer.status == 400, answer
    assert is_refusal(answer.json["error"])


def test_bad_limits_over_mcp():
    server = StdioServer()
    server.ask(initialize())
    for number, (name, value) in enumerate(BAD_LIMITS, start=2):
        result = server.ask(call(number, "print('ran')", **{name: value}))["result"]
        assert result["isError"] and is_refusal(result["content"][0]["text"]), (name, value)
        assert "structuredContent" not in result
    assert server.finish()[0] == 0


@pytest.mark.parametrize("option", [
    "--timeout=0", "--timeout=-1", "--timeout=1e308", "--timeout=nan", "--timeout=-inf",
    "--timeout=soon", "--timeout=0x5", "--memory=0", "--memory=-1m", "--memory=1", "--memory=999t",
    "--memory=" + "9" * 100, "--memory=lots"])
def test_bad_limit_at_the_terminal(option):
    ended = run_code("print('ran')", option)
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert ended.stderr.startswith(b"belljar: ") and is_refusal(ended.stderr.decode())


@pytest.mark.parametrize(("key", "value"), [
    ("LIMITS_OUTPUT_FILE", "-1"), ("LIMITS_OUTPUT_FILE", "2t"), ("LIMITS_OUTPUT_FILE", "all"),
    ("FILES_OUTPUT_KEEP", "0"), ("FILES_OUTPUT_KEEP", "-1"), ("FILES_OUTPUT_KEEP", "many"),
    ("FILES_OUTPUT_SPACE", "-1"), ("FILES_OUTPUT_SPACE", "17t"), ("LIMITS_OUTPUT", "0")])
def test_bad_limit_in_the_settings(key, value):
    ended = belljar("run", "-", stdin=b"print('ran')", env=environment(**{f"BELLJAR_{key}": value}))
    assert ended.returncode not in (0, 1) and ended.stdout == b""
    assert f"BELLJAR_{key}".encode() in ended.stderr


# --- programs of 10 MB

LARGE_PROGRAM = "text = '" + "x" * 10_000_000 + "'\nlen(text)"


def test_large_program_is_refused_in_words(open_server, place):
    answer = open_server.request("POST", "/execute", {"code": LARGE_PROGRAM})
    assert answer.status == 413
    assert str(len(LARGE_PROGRAM)) in answer.json["error"]
    assert str(MEBIBYTE) in answer.json["error"]
    program = place / "large.py"
    program.write_text(LARGE_PROGRAM)
    ended = belljar("run", program)
    assert (ended.returncode, ended.stdout) == (125, b"") and b"limit" in ended.stderr


def test_large_program_is_refused_over_mcp():
    server = StdioServer()
    server.ask(initialize())
    result = server.ask(call(2, LARGE_PROGRAM))["result"]
    assert result["isError"] and str(len(LARGE_PROGRAM)) in result["content"][0]["text"]
    assert server.finish()[0] == 0


def test_large_program_runs_where_it_is_allowed(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_CODE="16m", BELLJAR_LIMITS_BODY="32m"))
    record = server.execute(LARGE_PROGRAM)
    assert (record["status"], record["result"]) == ("ok", 10_000_000)


# --- floods

TEN_GIGABYTES = "import os\nchunk = b'x' * 1_000_000\nfor _ in range(10_000): os.write({}, chunk)"


# A server that has just begun grows by itself, two megabytes at a time where pages are large. What
# passes through it here is at least four times this.
MOST_GROWTH = 16 * MEBIBYTE


def memory_peak(pid):
    return int(status_of(pid)["VmHWM"].split()[0]) << 10


def frugal(**settings):
    """AddressSanitizer keeps what was freed for a while, which here would look like growth."""
    if options := sanitizer_options().get("ASAN_OPTIONS"):
        settings["ASAN_OPTIONS"] = f"{options}:quarantine_size_mb=1"
    return environment(**settings)


@pytest.mark.parametrize(("descriptor", "stream"), [(1, "stdout"), (2, "stderr")])
def test_ten_gigabytes_are_ended_early(own_server, descriptor, stream):
    server = own_server(env=frugal())
    server.execute("print('x' * 2_000_000)")
    before = memory_peak(server.pid)
    record = server.execute(TEN_GIGABYTES.format(descriptor))
    assert (record["status"], record["signal"]) == ("output", 9)
    assert rules(record, "limit") == ["limits.output_flood"]
    # What was in the pipe and on its way when the limit was reached comes on top.
    assert 64 * MEBIBYTE < record[f"{stream}_bytes"] < 256 * MEBIBYTE
    assert record["usage"]["wall_seconds"] < 20
    assert memory_peak(server.pid) - before < MOST_GROWTH


def test_long_output_is_counted_exactly_in_flat_memory(own_server):
    server = own_server(env=frugal(BELLJAR_LIMITS_OUTPUT_FLOOD="1g"))
    server.execute("print('x' * 2_000_000)")
    before = memory_peak(server.pid)
    code = "import os\nsent = 0\nwhile sent < 300_000_000: sent += os.write(1, b'x' * 1_000_000)"
    record = server.execute(code, timeout=60)
    assert (record["status"], record["stdout_bytes"]) == ("ok", 300_000_000)
    (stream,) = server.request("GET", record["full_output"]).json["streams"]
    assert (stream["bytes"], stream["complete"]) == (64 * MEBIBYTE, False)
    assert memory_peak(server.pid) - before < MOST_GROWTH


@pytest.mark.parametrize("code", [
    "import os\nos.close(1)\nos.close(2)",
    "import os\nos.write(1, b'\\0\\x1b[2J\\xff' * 1000)",
    "import os\nfor _ in range(20_000): os.write(1, b'x')",
    "import os\nfor n in range(3, 64):\n    try: os.close(n)\n    except OSError: pass",
], ids=["closed", "controls", "byte by byte", "descriptors closed"])
def test_odd_writers_are_served(open_server, code):
    assert open_server.execute(code)["status"] == "ok"


# --- guests that do not want to end

IGNORES_EVERY_SIGNAL = """
import signal, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True: time.sleep(1)
"""

STOPS_ITSELF = "import os, signal\nprint('ready', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)"

STOPS_WITH_CHILDREN = """
import os, signal, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1000)
print("ready", flush=True)
time.sleep(1000)
"""

FORKS_FOR_EVER = """
import os
print("ready", flush=True)
while True:
    try: os.fork()
    except OSError: pass
"""


@pytest.mark.parametrize("code", [IGNORES_EVERY_SIGNAL, STOPS_ITSELF, STOPS_WITH_CHILDREN,
                                  FORKS_FOR_EVER],
                         ids=["ignores signals", "stops itself", "stops children", "forks"])
def test_stubborn_guest_ends_at_its_time(open_server, code):
    started = time.monotonic()
    record = open_server.execute(code, timeout=1, memory_limit="1g")
    assert time.monotonic() - started < 1 + SLACK_SECONDS
    assert record["status"] == "timeout" and record["signal"] == signal.SIGKILL
    assert record["stdout"].startswith("ready\n")
    assert rules(record)[0] == "limits.timeout"
    assert 1 <= record["usage"]["wall_seconds"] < 1 + SLACK_SECONDS


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3): os.close(number)
        time.sleep(1000)
    os._exit(0)
os.wait()
print("left")
"""

DAEMON_WITH_OUTPUT = """
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        print("daemon", flush=True)
        time.sleep(0.01)
print("left", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("code", [DAEMON, DAEMON_WITH_OUTPUT], ids=["silent", "writing"])
def test_daemon_ends_with_its_run(open_server, code):
    record = open_server.execute(code)
    assert record["status"] == "ok" and "left\n" in record["stdout"]
    assert record["usage"]["wall_seconds"] < 1 + SLACK_SECONDS


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGHUP])
def test_guest_cannot_end_its_init(open_server, number):
    code = f"import os\ntry: os.kill(1, {int(number)})\nexcept OSError: pass\nprint('still here')"
    record = open_server.execute(code)
    assert (record["status"], record["stdout"]) == ("ok", "still here\n")


def test_guest_that_kills_everything_it_can_gets_its_own_verdict(open_server):
    code = "import os\nif os.fork() == 0: os.kill(-1, 9)\nos.wait()\nprint('not reached')"
    record = open_server.execute(code, timeout=5)
    assert (record["status"], record["signal"], record["stdout"]) == ("killed", 9, "")


# --- verdicts that a guest would like to have

@pytest.mark.parametrize(("code", "status", "exit_code", "number"), [
    ("import os; os._exit(124)", "error", 124, None),
    ("import os; os._exit(137)", "error", 137, None),
    ("import os; os._exit(159)", "error", 159, None),
    ("import os; os.kill(os.getpid(), 9)", "killed", None, 9),
    ("import os; os.kill(os.getpid(), 24)", "killed", None, 24),
    ("import os; os.kill(os.getpid(), 14)", "killed", None, 14),
    ("raise MemoryError", "error", 1, None),
    ("raise TimeoutError", "error", 1, None),
    ("print('{\"status\": \"timeout\", \"exit_code\": 3}')", "ok", 0, None),
])
def test_forged_verdict_is_what_it_was(open_server, code, status, exit_code, number):
    record = open_server.execute(code)
    assert (record["status"], record["exit_code"]) == (status, exit_code)
    assert record.get("signal") == number
    assert rules(record, "limit") == [] and rules(record, "kernel") == []


def test_forged_report_is_only_the_guests_word(open_server):
    path = "/usr/\x1b[31m\n" + "x" * 999
    lie = {"status": "timeout", "exit_code": 9, "denials": [{"what": "x", "rule": "y"}],
           "error": {"type": "E", "message": "m", "errno": 30, "path": path}}
    code = f"import os\nos.write(5, {json.dumps(lie)!r}.encode())\nos._exit(0)"
    record = open_server.execute(code)
    assert (record["status"], record["exit_code"]) == ("ok", 0)
    assert record["report"] == "damaged", "it lacks the mark of its request"
    assert record["denials"] == [] and "error" not in record


def test_refusal_that_only_the_guest_tells_of_is_its_word(open_server):
    path = "/usr/\\x1b[31m\\n" + "x" * 999
    record = open_server.execute(f"raise OSError(30, 'no', '{path}')")
    (denial,) = record["denials"]
    assert (denial["rule"], denial["source"]) == ("files.read_only", "guest")
    assert len(denial["what"]) < 300 and denial["what"].isprintable()


# --- refusals in words

@pytest.mark.parametrize(("code", "rule", "named"), [
    ("open('/usr/x', 'w')", "files.read_only", "/usr/x"),
    ("import os; os.mkdir('/etc/new')", "files.read_only", "/etc/new"),
    ("open('/workspace/x', 'w').close()\nimport os; os.chmod('/usr', 0o777)", "files.read_only",
     "/usr"),
    ("files = [open('/dev/null') for _ in range(100_000)]", "limits.open_files", "files"),
    ("import socket; socket.create_connection(('192.0.2.1', 80), 5)", "network.off",
     "192.0.2.1:80"),
    ("import urllib.request; urllib.request.urlopen('http://example.invalid/', timeout=5)",
     "network.off", "name of a host"),
    ("x = bytearray(1 << 60)", "limits.memory", "memory"),
], ids=["file", "directory", "mode", "descriptors", "connection", "name", "memory"])
def test_refusal_is_explained(open_server, code, rule, named):
    record = open_server.execute(code, memory_limit="1g")
    assert record["status"] == "error" and record["error"]
    denial = next(one for one in record["denials"] if one["rule"] == rule)
    assert named in denial["what"] and denial["hint"].endswith(".")
    assert denial["source"] in ("guest", "kernel")


# --- files

def assert_full_disk(record):
    """By the kernel's word where that is known from outside, else by the guest's own."""
    assert record["status"] == ("disk" if "limits.workspace" in rules(record, "limit") else "error")
    assert {"limits.workspace", "limits.tmp"} & set(rules(record))


def test_sparse_terabytes_are_refused(open_server):
    record = open_server.execute("with open('big', 'wb') as file: file.truncate(1 << 40)")
    assert record["success"] is False and "limits.workspace" in rules(record)
    assert record["usage"]["disk_written_bytes"] < MEBIBYTE


def test_hundred_thousand_files_find_room(open_server):
    code = "for n in range(100_000): open(f'file-{n}', 'w').close()"
    assert open_server.execute(code, timeout=60)["status"] == "ok"


def test_more_files_than_the_workspace_can_count_are_refused(open_server):
    code = "for n in range(140_000): open(f'file-{n}', 'w').close()"
    assert_full_disk(open_server.execute(code, timeout=60))


@pytest.mark.parametrize("folder", ["/tmp", "/workspace", "/dev/shm"])
def test_full_disk_is_explained(own_server, folder):
    server = own_server(env=environment(BELLJAR_LIMITS_TMP="4m", BELLJAR_LIMITS_WORKSPACE="4m"))
    code = f"""
import os
for n in range(100):
    name = f'{folder}/{{n}}'
    with open(name, 'wb') as file:
        if os.write(file.fileno(), b'x' * 100_000) < 100_000: raise OSError(28, 'full', name)
"""
    assert_full_disk(server.execute(code))


def test_guest_that_copes_with_a_full_disk_went_well(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_TMP="4m"))
    code = ("try:\n    with open('/tmp/x', 'wb') as file:\n"
            "        while True: file.write(b'x' * 100_000)\n"
            "except OSError as error: print(error.errno)")
    record = server.execute(code)
    assert (record["status"], record["stdout"]) == ("ok", "28\n")


HOSTILE_FILES = """
import os, socket
os.symlink('/etc/passwd', 'link')
os.symlink('loop', 'loop')
os.symlink('../../../../..', 'up')
os.mkfifo('fifo')
socket.socket(socket.AF_UNIX).bind('socket')
open(b'\\xff\\xfe\\x80', 'w').close()
open(b'new\\nline\\x1b[2J', 'w').close()
open(b'n' * 255, 'w').close()
os.link(b'n' * 255, 'hard')
os.mkdir('closed', 0)
deep = b'd' * 255
for _ in range(20):
    os.mkdir(deep)
    os.chdir(deep)
try: open(b'/workspace/' + b'/'.join([deep] * 16), 'w')
except OSError as error: print(error.errno)
print(len(os.listdir('/workspace')))
"""


def test_hostile_files_do_no_harm(open_server):
    record = open_server.execute(HOSTILE_FILES)
    assert record["status"] == "ok", record["stderr"]
    assert record["stdout"].splitlines() == ["36", "11"]
    assert open_server.execute("import os; os.listdir('/workspace')")["result"] == []
