"""Limits that a caller chooses for one run, and what becomes of those beyond the operator's."""

import json

import pytest

from support_binary import belljar, environment, wait_until
from support_events import EventStream
from support_mcp import StdioServer, call, initialize
from support_processes import guests_of
from test_cgroups import control

COUNT_THREADS = """
import threading, time
started = 0
try:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
print(started)
"""


def test_number_of_processes_is_the_callers(open_server):
    few = open_server.execute(COUNT_THREADS, processes=10)
    many = open_server.execute(COUNT_THREADS, processes=200)
    assert int(few["stdout"]) < 10
    assert int(many["stdout"]) == 100
    assert "capped" not in few and "capped" not in many


def test_size_of_the_output_is_the_callers(open_server):
    for size in ("1k", 1024):
        record = open_server.execute("print('x' * 5000)", max_output=size)
        assert record["stdout_truncated"] and record["stdout_bytes"] == 5001
        assert len(record["stdout"]) < 1024 + 64
    record = open_server.execute("print('x' * 3000000)", max_output="4m")
    assert not record["stdout_truncated"] and len(record["stdout"]) == 3000001


@pytest.mark.parametrize("cpu, shares, weight", [(0.25, "256", "25"), (1, "1024", "100")])
def test_share_of_the_processor_is_the_callers(open_server, cpu, shares, weight):
    body = {"code": "import time\nprint('begun')\ntime.sleep(1000)", "cpu": cpu}
    with EventStream(open_server, body) as stream:
        assert [stream.next().name, stream.next().name] == ["started", "stdout"]
        (guest,) = guests_of(open_server.pid)
        assert control(guest.pid, "cpu.shares") == shares \
            or control(guest.pid, "cpu.weight") == weight
    wait_until(lambda: not guests_of(open_server.pid), "the program is gone", 10)


def test_what_is_beyond_the_operators_limits_is_lowered_and_told(own_server):
    server = own_server("--auth", "none", env=environment(
        BELLJAR_LIMITS_MAX_TIMEOUT="40s", BELLJAR_LIMITS_MAX_MEMORY="512m",
        BELLJAR_LIMITS_MAX_CPU="1", BELLJAR_LIMITS_MAX_PROCESSES="80",
        BELLJAR_LIMITS_MAX_OUTPUT="2m"))
    record = server.execute(COUNT_THREADS, timeout=41, memory_limit="1g", cpu=1.5, processes=500,
                            max_output="3m")
    assert record["capped"] == {
        "timeout": {"asked": 41, "given": 40},
        "memory_limit": {"asked": "1g", "given": "512m"},
        "cpu": {"asked": 1.5, "given": 1},
        "processes": {"asked": 500, "given": 80},
        "max_output": {"asked": "3m", "given": "2m"}}
    assert 64 < int(record["stdout"]) < 80
    exact = server.execute("1", timeout=40, memory_limit="512m", cpu=1, processes=80,
                           max_output="2m")
    assert "capped" not in exact


def test_lowered_timeout_ends_the_run(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_LIMITS_MAX_TIMEOUT="1s"))
    record = server.execute("while True: pass", timeout=60)
    assert record["status"] == "timeout" and record["usage"]["wall_seconds"] < 5
    assert record["capped"]["timeout"] == {"asked": 60, "given": 1}


def test_model_is_told_of_lowered_limits():
    server = StdioServer()
    server.ask(initialize())
    result = server.ask(call(2, "6*7", timeout=1000))["result"]
    assert "[capped] timeout: 1000 asked, 300 given." in result["content"][0]["text"]
    assert result["structuredContent"]["capped"] == {"timeout": {"asked": 1000, "given": 300}}
    assert server.finish()[0] == 0


def test_terminal_has_the_same_limits(place):
    program = place / "program.py"
    program.write_text(COUNT_THREADS)
    ended = belljar("run", "--json", "--processes", "10", "--cpu", "0.25", "--max-output", "1k",
                    "--timeout", "1000", program)
    record = json.loads(ended.stdout)
    assert int(record["stdout"]) < 10
    assert record["capped"] == {"timeout": {"asked": 1000, "given": 300}}


@pytest.mark.parametrize("options", [
    ("--cpu", "0"), ("--cpu", "nan"), ("--cpu", "many"), ("--cpu=-1",), ("--processes", "0"),
    ("--processes", "1.5"), ("--processes=-1",), ("--max-output", "0"), ("--max-output", "lots")])
def test_terminal_refuses_bad_limits(options):
    ended = belljar("run", *options, "-", stdin=b"print('ran')")
    assert ended.returncode == 125 and not ended.stdout
    assert b"must be" in ended.stderr or b"--" in ended.stderr
