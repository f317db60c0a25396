"""Jars made ahead: each waits for one run, and is as fresh and as limited as any other."""

import os
import signal
import threading

import pytest

import test_metrics
from support_binary import ROOT, environment, wait_until
from support_processes import descendants, guests_of, user_of
from support_traces import Traces, wait_until_gone

READY = 2
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
# Fails where anybody has been before.
MARK = """
for place in ("/tmp", "/workspace", "/dev/shm"):
    open(place + "/mark", "x").close()
"""


def pool_environment(**settings):
    return environment(**{"BELLJAR_POOL_READY": str(READY), **settings})


def ready(server):
    return test_metrics.value(server, "belljar_jars_ready", language="python")


def taken(server, found="ready"):
    return test_metrics.value(server, "belljar_jars_taken_total", language="python", found=found)


def lost(server):
    return test_metrics.value(server, "belljar_jars_lost_total", language="python")


def lost_of_all(server):
    return sum(test_metrics.value(server, "belljar_jars_lost_total", language=language)
               for language in ("python", "javascript", "typescript"))


def await_ready(server, count=READY):
    """There may be more: a run that found none doubles their number."""
    wait_until(lambda: ready(server) >= count, f"{count} jars are ready", 60)


@pytest.fixture
def pool_server(own_server):
    server = own_server("--auth", "none", env=pool_environment())
    await_ready(server)
    wait_until(lambda: len(guests_of(server.pid)) == READY, "no zygote is tried out")
    return server


def run_in_ready_jar(server, code, **arguments):
    await_ready(server)
    result = server.execute(code, debug=True, **arguments)
    assert result["debug"]["jar_ready"] is True, result["debug"]
    return result


def test_a_run_takes_a_jar_that_waits(pool_server):
    result = run_in_ready_jar(pool_server, "print(6*7)")
    assert result["stdout"] == "42\n" and result["status"] == "ok"
    assert taken(pool_server) == 1 and taken(pool_server, "none") == 0
    await_ready(pool_server)
    assert test_metrics.value(pool_server, "belljar_jars_made_ahead_total",
                              language="python") == READY + 1
    assert lost(pool_server) == 0


def test_debug_tells_where_the_time_went(pool_server):
    debug = run_in_ready_jar(pool_server, "import time; time.sleep(0.3)")["debug"]
    assert debug["jar_milliseconds"] == 0
    assert 300 <= debug["run_milliseconds"] < 5000
    assert 0 <= debug["admission_milliseconds"] < 5000
    assert debug["guest_start_milliseconds"] == 0
    assert 0 <= debug["collect_milliseconds"] < 10_000
    assert 0 <= debug["record_milliseconds"] < 10_000
    for step in ("admission", "jar", "guest_start", "run", "collect", "record"):
        assert test_metrics.value(pool_server, "belljar_step_seconds_count", step=step) == 1
    assert "debug" not in pool_server.execute("1")
    refused = pool_server.request("POST", "/execute", {"code": "1", "debug": "yes"})
    assert refused.status == 400 and b"debug" in refused.body


def test_without_a_pool_every_jar_is_made_for_its_run(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_POOL_READY="0"))
    debug = server.execute("1", debug=True)["debug"]
    assert debug["jar_ready"] is False and debug["jar_milliseconds"] > 0
    assert debug["guest_start_milliseconds"] > 0
    wait_until(lambda: not guests_of(server.pid), "no jar waits, no zygote is tried out")
    assert "belljar_jars_ready{" not in server.request("GET", "/metrics").body.decode()


def test_a_jar_serves_one_run(pool_server):
    for _ in range(3):
        await_ready(pool_server)
        before = {guest.identity for guest in guests_of(pool_server.pid)}
        assert run_in_ready_jar(pool_server, MARK)["status"] == "ok"
        await_ready(pool_server)
        wait_until(lambda: len(guests_of(pool_server.pid)) == READY, "the used one is gone")
        after = {guest.identity for guest in guests_of(pool_server.pid)}
        assert len(before & after) == READY - 1, "one was used up, one is new"


def test_no_two_jars_share_anything(pool_server):
    connections = [pool_server.start_run("import time; time.sleep(1000)") for _ in range(2)]
    await_ready(pool_server)
    wait_until(lambda: len(guests_of(pool_server.pid)) == READY + 2, "two run and two wait")
    guests = guests_of(pool_server.pid)
    assert len({user_of(guest.pid) for guest in guests}) == len(guests)
    for name in NAMESPACES:
        found = {os.readlink(f"/proc/{guest.pid}/ns/{name}") for guest in guests}
        assert len(found) == len(guests), name
        assert os.readlink(f"/proc/self/ns/{name}") not in found
    for connection in connections:
        connection.close()


def test_a_jar_made_ahead_holds_like_any_other(pool_server):
    self_test = (ROOT / "guest" / "python" / "self_test.py").read_text()
    missing = pool_server.execute("1")["isolation"]["missing"]
    result = run_in_ready_jar(pool_server, self_test, args=missing)
    assert result["status"] == "ok", result["error"]


TAKE = "block = b'x' * ({} << 20); print(len(block) >> 20)"


def test_a_run_has_the_memory_that_it_asked_for(pool_server):
    assert run_in_ready_jar(pool_server, TAKE.format(400), memory_limit="1g")["stdout"] == "400\n"
    assert run_in_ready_jar(pool_server, TAKE.format(400))["status"] == "memory"
    assert run_in_ready_jar(pool_server, TAKE.format(100), memory_limit="64m")["status"] == "memory"
    assert run_in_ready_jar(pool_server, TAKE.format(20), memory_limit="64m")["stdout"] == "20\n"


def test_a_run_has_the_time_that_it_asked_for(own_server):
    server = own_server("--auth", "none",
                        env=pool_environment(BELLJAR_LIMITS_TIMEOUT="3s"))
    result = run_in_ready_jar(server, "import time; time.sleep(3.5); print(1)", timeout=20)
    assert result["stdout"] == "1\n", "longer than the time with which the jar was made"
    result = run_in_ready_jar(server, "while True: pass", timeout=0.3)
    assert result["status"] == "timeout"
    assert 0.3 <= result["usage"]["wall_seconds"] < 3
    assert run_in_ready_jar(server, "while True: pass")["status"] == "timeout"


def test_files_arguments_and_a_large_request_arrive(pool_server):
    text = "x" * (3 << 20)
    result = run_in_ready_jar(
        pool_server, "import os, sys\nprint(len(open('data/in').read()), sys.argv[1:], "
        "os.environ['A'], sys.stdin.read())",
        files={"data/in": text}, args=["one"], env={"A": "b"}, stdin="typed")
    assert result["stdout"] == f"{len(text)} ['one'] b typed\n"


def test_a_killed_jar_is_replaced(pool_server):
    killed = guests_of(pool_server.pid)
    for guest in killed:
        os.kill(guest.pid, signal.SIGKILL)
    wait_until(lambda: lost(pool_server) == READY, "both are known to be lost")
    assert pool_server.execute("6*7")["result"] == 42
    await_ready(pool_server)
    assert not {guest.pid for guest in guests_of(pool_server.pid)} & {one.pid for one in killed}
    inits = {one.pid for one in descendants(pool_server.pid) if one.name == "belljar-jar"}
    for init in inits:
        os.kill(init, signal.SIGKILL)
    wait_until(lambda: lost_of_all(pool_server) >= READY + len(inits), "these too")
    assert run_in_ready_jar(pool_server, "6*7")["result"] == 42


def test_a_burst_is_served_and_leaves_more_jars_ready(own_server):
    server = own_server("--auth", "none", env=pool_environment(
        BELLJAR_POOL_READY="1", BELLJAR_POOL_MOST="4", BELLJAR_POOL_IDLE="2s"))
    await_ready(server, 1)
    results = []
    runs = [threading.Thread(target=lambda: results.append(server.execute("6*7")["result"]))
            for _ in range(12)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert results == [42] * len(runs)
    assert taken(server) + taken(server, "none") == len(runs) and taken(server, "none") > 0
    await_ready(server, 2)
    wait_until(lambda: ready(server) == 1, "demand was forgotten", 60)


def test_nothing_is_left_after_the_end(own_server):
    before = Traces()
    server = own_server("--auth", "none", env=pool_environment())
    await_ready(server)
    assert server.stop() == 0
    wait_until_gone(before, 5)


@pytest.mark.parametrize("helper", [None, "belljar-warden", "belljar-keeper"])
def test_nothing_is_left_after_a_kill(own_server, helper):
    before = Traces()
    server = own_server("--auth", "none", env=pool_environment())
    await_ready(server)
    os.kill(server.helper(helper) if helper else server.pid, signal.SIGKILL)
    server.process.wait(20)
    wait_until_gone(before, 10)


@pytest.mark.parametrize("settings", [
    {"BELLJAR_POOL_READY": "5", "BELLJAR_POOL_MOST": "4"}, {"BELLJAR_POOL_READY": "-1"},
    {"BELLJAR_POOL_IDLE": "0s"}, {"BELLJAR_POOL_MEMORY": "much"}])
def test_bad_settings_are_refused(own_server, settings):
    with pytest.raises(AssertionError, match="pool"):
        own_server(env=pool_environment(**settings))


def test_memory_bounds_the_pool(own_server):
    server = own_server("--auth", "none", env=pool_environment(
        BELLJAR_POOL_READY="8", BELLJAR_POOL_MEMORY="8m"))
    await_ready(server, 1)
    assert server.execute("6*7")["result"] == 42
    await_ready(server, 1)
    wait_until(lambda: len(guests_of(server.pid)) == 1, "no more than one")
