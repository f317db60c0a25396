"""A killed process of Belljar takes everything with it, and the next start works."""

import os
import signal
import subprocess

import pytest

from support_binary import BINARY, environment, wait_until
from support_processes import (all_processes, descendants, guests_of, is_zygote,
                               reap_adopted)
from support_server import Server
from support_traces import Traces, wait_until_gone

SECONDS_TO_CLEAN_UP = 5
RUNS = 3
# One that sleeps, one that works and one that has children.
PROGRAMS = ["import time; time.sleep(1000)", "while True: pass",
            "import os, time\nos.fork()\ntime.sleep(1000)"]


class Running:
    """A server with programs running on it, and the host as it was before."""

    def __init__(self, own_server):
        self.before = Traces()
        self.server = own_server()
        self.connections = [self.server.start_run(code) for code in PROGRAMS]
        wait_until(lambda: len(guests_of(self.server.pid)) == RUNS + 1, "the programs run")
        self.pids = {"server": self.server.pid,
                     "warden": self.server.helper("belljar-warden"),
                     "keeper": self.server.helper("belljar-keeper")}

    def close(self):
        for connection in self.connections:
            connection.close()

    def wait_until_gone(self):
        self.server.process.wait(SECONDS_TO_CLEAN_UP)
        wait_until_gone(self.before, SECONDS_TO_CLEAN_UP)


@pytest.fixture
def running(own_server):
    started = Running(own_server)
    yield started
    started.close()


def assert_next_start_works(own_server, running):
    again = own_server(data_directory=running.server.data_directory)
    assert again.token == running.server.token
    assert again.execute("6*7")["result"] == 42
    assert again.stop() == 0


@pytest.mark.parametrize("victim", ["server", "warden", "keeper"])
def test_kill_leaves_nothing(own_server, running, victim):
    os.kill(running.pids[victim], signal.SIGKILL)
    running.wait_until_gone()
    assert_next_start_works(own_server, running)


@pytest.mark.parametrize("victim", ["warden", "keeper"])
def test_server_says_that_its_warden_is_gone(running, victim):
    os.kill(running.pids[victim], signal.SIGKILL)
    assert running.server.process.wait(timeout=20) == 1
    assert "the warden" in running.server.errors


@pytest.mark.parametrize("first", ["server", "warden", "keeper"])
def test_kill_of_all_leaves_no_process_and_the_next_start_removes_the_rest(
        own_server, running, first):
    pids = sorted(running.pids.values(), key=lambda pid: pid != running.pids[first])
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # or one might still clean up after the other
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    running.server.process.wait()
    wait_until(lambda: not new_processes(running), "no process is left", SECONDS_TO_CLEAN_UP)
    assert_next_start_works(own_server, running)
    running.wait_until_gone()


def new_processes(running):
    # An init ends when its guest is reaped: pid 1's work, if we had not adopted the orphans.
    reap_adopted({running.server.pid, *(server.pid for server in Server.running)})
    known = {one.identity for one in running.before.processes}
    return [one for one in descendants() if one.identity not in known and not is_zygote(one)]


def test_killed_init_of_a_jar_ends_only_its_run(own_server):
    server = own_server()
    connection = server.start_run("import time; time.sleep(1000)")
    guest = wait_until(lambda: guests_of(server.pid), "the program runs")[0]
    os.kill(all_processes()[guest.parent].pid, signal.SIGKILL)
    with connection:
        assert b'"status":"killed"' in connection.recv(65536)
    assert server.execute("6*7")["result"] == 42


def test_kill_of_a_command_leaves_nothing(place):
    program = place / "program.py"
    program.write_text("import time; time.sleep(1000)")
    before = Traces()
    with subprocess.Popen([str(BINARY), "run", str(program)], env=environment()) as process:
        wait_until(lambda: guests_of(process.pid), "the program runs")
        process.kill()
    wait_until_gone(before, SECONDS_TO_CLEAN_UP)
