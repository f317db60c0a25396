"""The fixtures of every test that starts a real Belljar; each conftest.py takes them over."""

import os
import pathlib
import shutil
import tempfile

import pytest

from support_binary import BINARY, wait_until
from support_processes import adopt_orphans, reap_adopted
from support_server import Server
from support_traces import Traces

SECONDS_TO_CLEAN_UP = 10


def pytest_sessionstart():
    if not os.access(BINARY, os.X_OK):
        pytest.exit(f"{BINARY} is not there; ./dev build, or set BELLJAR_BINARY", 3)
    if os.geteuid() != 0:
        pytest.exit("jars can be made only by root; start the tests as root", 3)
    adopt_orphans()


def make_place():
    place = pathlib.Path(tempfile.mkdtemp(prefix="e2e-"))
    place.chmod(0o755)
    return place


def leftovers(before):
    reap_adopted({server.pid for server in Server.running})
    found = Traces().since(before.traces)
    for server in Server.running:
        counts = before.descriptors.get(server.pid)
        if counts is not None and server.process.poll() is None:
            now = server.descriptor_counts()
            found += [f"process {pid} had {count} descriptors and has {now.get(pid)}"
                      for pid, count in counts.items() if now.get(pid, count) > count]
    return found


class Before:
    def __init__(self):
        self.traces = Traces()
        self.descriptors = {server.pid: server.descriptor_counts() for server in Server.running}


def check_nothing_left(before):
    found = []

    def clean():
        found[:] = leftovers(before)
        return not found

    try:
        wait_until(clean, "nothing is left", SECONDS_TO_CLEAN_UP)
    except AssertionError:
        pytest.fail("left behind:\n  " + "\n  ".join(found), pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def leaves_nothing_at_the_end():
    before = Before()
    yield
    check_nothing_left(before)


@pytest.fixture(autouse=True)
def leaves_nothing():
    """After each test the host is as before it."""
    before = Before()
    yield
    check_nothing_left(before)


@pytest.fixture
def place():
    """A directory that is gone after the test."""
    directory = make_place()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def session_place(leaves_nothing_at_the_end):
    del leaves_nothing_at_the_end  # asked for, so that it looks after the servers have ended
    directory = make_place()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def server(session_place):
    """One server with a token for all tests that do not end or change it."""
    started = Server(session_place / "server")
    started.settle()
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="session")
def open_server(session_place):
    """The same without authentication."""
    started = Server(session_place / "open", "--auth", "none")
    started.settle()
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="session")
def fixture_server(session_place):
    """The same with the tools, resources and prompts of the conformance suite."""
    started = Server(session_place / "fixtures", "--conformance", "--auth", "none")
    started.settle()
    yield started
    assert started.stop() == 0


@pytest.fixture
def own_server(place):
    """Starts servers that the test may end as it likes; what still runs is ended after it."""
    started = []

    def start(*options, **settings):
        started.append(Server(place / f"server-{len(started)}", *options, **settings))
        return started[-1]

    yield start
    for one in started:
        one.stop()
