"""The limits that the kernel keeps: on memory, processes and shares of the processor."""

import concurrent.futures
import pathlib
import textwrap

import pytest

from support_binary import wait_until
from support_processes import guests_of

ROOT = pathlib.Path("/sys/fs/cgroup")
LONG = 60  # seconds; who gets here was not ended by what is tested

TAKE_MEMORY = "hoard = [bytearray(b'x') * (1 << 20) for _ in range(4096)]"
# Each leaves the bomb to a child, and has itself no reason to end.
SURVIVORS = {
    "child": f"""
        import os, time
        if os.fork() == 0:
            {TAKE_MEMORY}
        time.sleep({LONG})
        """,
    "waited for": f"""
        import subprocess, sys, time
        ended = subprocess.run([sys.executable, "-c", "{TAKE_MEMORY}"])
        time.sleep({LONG})
        """,
    "daemon": f"""
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                {TAKE_MEMORY}
            os._exit(0)
        os.wait()
        time.sleep({LONG})
        """,
}


def control(pid, *names):
    """The content of the first of these files that is in a cgroup of the process."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for place in [ROOT, ROOT / "unified"] if not controllers else [ROOT / controllers]:
            for name in names:
                file = pathlib.Path(f"{place}{path}") / name
                if file.exists():
                    return file.read_text().strip()
    return None


@pytest.fixture
def guest(open_server):
    """A program that runs with the limits of the configuration."""
    before = {process.identity for process in guests_of(open_server.pid)}
    connection = open_server.start_run("import time; time.sleep(1000)")
    found = wait_until(lambda: [process for process in guests_of(open_server.pid)
                                if process.identity not in before], "the program runs")
    yield found[0].pid
    connection.close()
    wait_until(lambda: {process.identity for process in guests_of(open_server.pid)} <= before,
               "the program is gone")


@pytest.mark.parametrize("program", SURVIVORS.values(), ids=SURVIVORS.keys())
def test_memory_bomb_in_a_child_ends_the_whole_run(open_server, program):
    record = open_server.execute(textwrap.dedent(program), memory_limit="96m", timeout=LONG)
    assert record["status"] == "memory"
    assert record["denials"][0]["rule"] == "limits.memory"
    assert record["usage"]["wall_seconds"] < LONG / 2


def test_memory_bomb_is_the_matter_of_its_own_run(open_server):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        calm = pool.submit(open_server.execute, "import time; time.sleep(3); 'calm'")
        bombs = [pool.submit(open_server.execute, TAKE_MEMORY, memory_limit="64m")
                 for _ in range(4)]
        assert [bomb.result()["status"] for bomb in bombs] == ["memory"] * 4
        record = calm.result()
    assert (record["status"], record["result"]) == ("ok", "calm")


def test_use_close_to_the_limit_is_no_offence(open_server):
    code = "hoard = bytearray(b'x') * (64 << 20); len(hoard)"
    record = open_server.execute(code, memory_limit="128m")
    assert (record["status"], record["result"]) == ("ok", 64 << 20)
    assert 64 << 20 <= record["usage"]["memory_peak_bytes"] <= 128 << 20


def test_files_beyond_the_limit_are_told_as_memory(open_server):
    code = "open('/workspace/x', 'wb').write(b'x' * (100 << 20))"
    assert open_server.execute(code, memory_limit="64m")["status"] == "memory"


def test_limits_stand_in_the_cgroups_of_a_running_program(guest):
    assert control(guest, "memory.max", "memory.limit_in_bytes") == str(256 << 20)
    assert control(guest, "pids.max") == "64"
    assert control(guest, "cpu.weight", "cpu.shares") in ("50", "512")
    # Those that know a share for input and output have half of the default, as for the processor.
    weight = control(guest, "io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight")
    assert weight in ("default 50", "50", "250", None)


def test_no_memory_goes_to_swap(guest):
    # Version 1 limits memory and swap together; without this file swap is not counted.
    together = control(guest, "memory.memsw.limit_in_bytes")
    apart = control(guest, "memory.swap.max")
    swap_of_host = pathlib.Path("/proc/swaps").read_text().splitlines()[1:]
    assert together == str(256 << 20) or apart == "0" or not swap_of_host


@pytest.mark.parametrize("code", [
    "import threading, time\n"
    "for _ in range(200): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()",
    "import os, time\nfor _ in range(200):\n if os.fork() == 0: time.sleep(60)",
], ids=["threads", "processes"])
def test_too_many_processes_are_told(open_server, code):
    record = open_server.execute(code, memory_limit="1g", timeout=LONG)
    assert record["status"] == "processes"
    assert record["denials"][0]["rule"] == "limits.processes"
    assert record["usage"]["processes_peak"] <= 64
    assert open_server.execute("6*7")["result"] == 42


def test_a_greedy_run_leaves_its_neighbour_its_share(open_server):
    greedy = ("import os\nfor _ in range(32): os.fork() or exec('while True: pass')\n"
              "while True: pass")
    work = ("import time\nend = time.process_time() + 0.2\n"
            "while time.process_time() < end: pass\n'done'")

    def crowd():
        return len(guests_of(open_server.pid)) > 16

    with open_server.start_run(greedy):
        wait_until(crowd, "the greedy one is at work")
        record = open_server.execute(work)
        assert (record["status"], record["result"]) == ("ok", "done")
        assert crowd(), "both ran at the same time"
    wait_until(lambda: not crowd(), "the greedy one is gone")
