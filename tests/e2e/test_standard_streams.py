"""Commands that are started without some of the standard streams, or stopped by a signal."""

import os
import select
import signal
import subprocess

import pytest

from support_binary import BINARY, COMMAND_SECONDS, environment, wait_until
from support_processes import guests_of

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"]


def in_shell(command, redirections):
    """Runs it with streams closed; what is open goes to pipes."""
    return subprocess.run(["bash", "-c", f'exec "$0" {command} {redirections}', str(BINARY)],
                          stdin=subprocess.DEVNULL, capture_output=True, env=environment(),
                          timeout=20, check=False)


@pytest.mark.parametrize("closed", CLOSED)
def test_run_without_some_streams(place, closed):
    program = place / "program.py"
    program.write_text("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)")
    ended = in_shell(f"run {program}", closed)
    assert ended.returncode == 3, ended.stderr.decode()
    assert ended.stdout == (b"" if ">&-" in closed.replace("2>&-", "") else b"out\n")
    assert ended.stderr == (b"" if "2>&-" in closed else b"err\n")


def test_output_never_reaches_the_warden(place):
    """With standard output closed, no descriptor of Belljar's own may take its number."""
    program = place / "program.py"
    program.write_text("import os\nfor size in range(1, 4000, 7): os.write(1, bytes(size))")
    ended = in_shell(f"run {program}", ">&-")
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_doctor_without_some_streams():
    assert in_shell("doctor", "<&- >&-").returncode == 0


def test_mcp_without_input_ends():
    assert in_shell("mcp", "<&-").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_run(place, number):
    program = place / "program.py"
    program.write_text("import time; print('started', flush=True); time.sleep(1000)")
    with subprocess.Popen([str(BINARY), "run", str(program)], stdout=subprocess.PIPE,
                          env=environment()) as process:
        assert process.stdout.readline() == b"started\n"
        process.send_signal(number)
        assert process.wait(timeout=COMMAND_SECONDS) == 137
    wait_until(lambda: not guests_of(), "the program is gone", 5)


def start_unread(program, *options, stream="stdout"):
    """A run with a stream into a pipe that nobody reads; what it writes has filled that."""
    reading, writing = os.pipe()
    streams = {"stdout": subprocess.DEVNULL, stream: writing}
    process = subprocess.Popen([str(BINARY), "run", *options, str(program)], env=environment(),
                               **streams)
    wait_until(lambda: not select.select([], [writing], [], 0)[1], "the pipe is full")
    os.close(writing)
    return process, reading


def end_unread(process, reading, number):
    """The exit code. Without a reader it ends in any case."""
    try:
        process.send_signal(number)
        return process.wait(timeout=10)
    finally:
        os.close(reading)
        process.wait(timeout=COMMAND_SECONDS)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_run_whose_output_nobody_reads(place, number, stream):
    program = place / "program.py"
    program.write_text(f"import sys\nwhile True: print('x' * 1000, file=sys.{stream})")
    process, reading = start_unread(program, stream=stream)
    assert end_unread(process, reading, number) == 137
    wait_until(lambda: not guests_of(), "the program is gone", 5)


def test_signal_ends_a_run_whose_record_nobody_reads(place):
    program = place / "program.py"
    program.write_text("print('x' * 500_000)")
    process, reading = start_unread(program, "--json")
    assert end_unread(process, reading, signal.SIGTERM) == -signal.SIGTERM
