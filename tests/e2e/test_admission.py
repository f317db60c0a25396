"""Who may run when: bounds, turns between principals, and refusals that say when to try again."""

import concurrent.futures
import os
import time

import pytest

from support_binary import belljar, environment, run_code, wait_until
from support_mcp import LEGACY, StdioServer, call, initialize
from support_unprivileged import Unprivileged
from test_mcp_http import ACCEPT, post_modern
from test_metrics import value

TOKENS = {"noisy": "bj_token_of_noisy", "quiet": "bj_token_of_quiet"}
LONGEST_HINT = 60


def settings(**limits):
    """The environment of a server with two further tokens."""
    named = {f"BELLJAR_LIMITS_{name.upper()}": str(limit) for name, limit in limits.items()}
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    return environment(BELLJAR_AUTH_TOKENS=tokens, **named)


def execute(server, principal, code, **arguments):
    headers = {"Authorization": f"Bearer {TOKENS[principal]}"} if principal else {}
    return server.request("POST", "/execute", {"code": code, **arguments}, headers)


def sleep_for(seconds):
    return f"import time\ntime.sleep({seconds})"


class Crowd:
    """Runs that go on while the test does; each is given as a future of its answer."""

    def __init__(self, server):
        self.server = server
        self.workers = concurrent.futures.ThreadPoolExecutor(64)
        self.connections = []

    def add(self, principal, code, count=1):
        return [self.workers.submit(execute, self.server, principal, code) for _ in range(count)]

    def hold(self, code, count=1):
        """Runs of the principal without a name that end when the test does."""
        self.connections += [self.server.start_run(code) for _ in range(count)]

    def waits_for(self, running, waiting=0):
        wait_until(lambda: value(self.server, "belljar_runs_running") == running
                   and value(self.server, "belljar_runs_waiting") == waiting,
                   f"{running} run and {waiting} wait")

    def end(self):
        for connection in self.connections:
            connection.close()
        self.workers.shutdown(cancel_futures=True)
        self.waits_for(0)


@pytest.fixture
def crowded(own_server):
    """Starts a server with the given limits; what runs on it is ended after the test."""
    crowds = []

    def start(*options, env=None, **limits):
        crowds.append(Crowd(own_server(*options, env=env or settings(**limits))))
        return crowds[-1].server, crowds[-1]

    yield start
    for crowd in crowds:
        crowd.end()


def hint_of(answer):
    """The seconds of a refusal, which says them twice."""
    seconds = int(answer.headers["Retry-After"])
    assert 1 <= seconds <= LONGEST_HINT
    assert answer.json["error"].endswith(f"; try again in {seconds} s"), answer
    return seconds


def test_one_principal_cannot_take_every_place(crowded):
    server, crowd = crowded(concurrent_runs=4)
    noisy = crowd.add("noisy", sleep_for(8), 6)
    crowd.waits_for(running=3, waiting=3)
    start = time.monotonic()
    assert execute(server, "quiet", "6*7").json["result"] == 42
    assert time.monotonic() - start < 6, "it need not wait for the end of another's run"
    assert not any(run.done() for run in noisy)


def test_places_go_around_between_principals(crowded):
    server, crowd = crowded(concurrent_runs=1, queued_runs=40, queued_runs_per_principal=30)
    noisy = crowd.add("noisy", sleep_for(0.5), 20)
    crowd.waits_for(running=1, waiting=19)
    assert execute(server, "quiet", "6*7").json["result"] == 42
    assert sum(run.done() for run in noisy) < 10, "it waited behind all that came before"
    assert all(run.result().status == 200 for run in noisy), "and nobody was forgotten"


def test_a_full_share_is_429_and_others_are_still_served(crowded):
    server, crowd = crowded(concurrent_runs=4, queued_runs=8, queued_runs_per_principal=2)
    crowd.add("noisy", sleep_for(8), 5)
    crowd.waits_for(running=3, waiting=2)
    start = time.monotonic()
    refused = execute(server, "noisy", "1")
    assert time.monotonic() - start < 5, "the answer does not wait"
    assert refused.status == 429
    hint_of(refused)
    assert execute(server, "quiet", "6*7").status == 200
    assert execute(server, None, "6*7").status == 200, "the token without a name is one, too"
    assert value(server, "belljar_admission_refused_total", reason="share_full") == 1
    assert value(server, "belljar_runs_refused_total", code="quota_reached") == 1


def test_a_full_server_is_503(crowded):
    server, crowd = crowded("--auth", "none", env=environment(
        BELLJAR_LIMITS_CONCURRENT_RUNS="2", BELLJAR_LIMITS_QUEUED_RUNS="1"))
    crowd.hold(sleep_for(30), 3)
    crowd.waits_for(running=2, waiting=1)
    refused = server.request("POST", "/execute", {"code": "1"})
    assert refused.status == 503
    hint_of(refused)
    assert value(server, "belljar_admission_refused_total", reason="queue_full") == 1


def test_waiting_has_a_deadline_of_its_own(crowded):
    server, crowd = crowded(concurrent_runs=1, queue_time="400ms")
    crowd.hold(sleep_for(30))
    crowd.waits_for(running=1)
    start = time.monotonic()
    refused = execute(server, "quiet", "1", timeout=300)
    assert 0.4 <= time.monotonic() - start < 10
    assert refused.status == 503
    hint_of(refused)
    assert value(server, "belljar_admission_refused_total", reason="queue_time") == 1


def test_the_wait_is_not_part_of_the_runs_own_time(crowded):
    server, crowd = crowded(concurrent_runs=1)
    crowd.add("noisy", sleep_for(2))
    crowd.waits_for(running=1)
    answer = execute(server, "quiet", "6*7", timeout=1)
    assert answer.json["status"] == "ok"
    assert answer.json["usage"]["wall_seconds"] < 1
    assert value(server, "belljar_wait_seconds_count") == 2
    assert value(server, "belljar_wait_seconds_sum") > 0.5


def test_who_hangs_up_gives_its_place_in_the_queue_back(crowded):
    server, crowd = crowded(concurrent_runs=1, queued_runs=1)
    crowd.hold(sleep_for(30))
    crowd.waits_for(running=1)
    waiting = server.start_run("1")
    crowd.waits_for(running=1, waiting=1)
    waiting.close()
    crowd.waits_for(running=1, waiting=0)


def test_who_is_blocked_does_not_run_when_its_turn_comes(crowded):
    server, crowd = crowded(concurrent_runs=1)
    [first] = crowd.add("noisy", sleep_for(60))
    crowd.waits_for(running=1)
    queued = crowd.add("noisy", "1", 2)
    crowd.waits_for(running=1, waiting=2)
    block = {"principal": "noisy", "seconds": 600, "reason": "looked odd"}
    assert server.request("POST", "/v1/admin/blocks", block).status == 201
    [going] = server.request("GET", "/v1/admin/runs?state=running").json["runs"]
    server.request("DELETE", f"/v1/admin/runs/{going['execution_id']}")
    assert first.result().json["status"] == "cancelled"
    assert [run.result().status for run in queued] == [403, 403]
    assert execute(server, "quiet", "6*7").json["result"] == 42


def check_tool_error(result):
    assert result["isError"] is True
    assert "structuredContent" not in result
    seconds = result["_meta"]["belljar/retry_after_seconds"]
    assert 1 <= seconds <= LONGEST_HINT
    assert result["content"][0]["text"].endswith(f"; try again in {seconds} s")


def test_a_model_is_told_when_to_try_again(crowded):
    server, crowd = crowded(concurrent_runs=1, queued_runs=0)
    crowd.hold(sleep_for(30))
    crowd.waits_for(running=1)
    for revision in LEGACY:
        answer = server.request("POST", "/mcp", call(1, "1"),
                                {**ACCEPT, "MCP-Protocol-Version": revision})
        assert answer.status == 200
        check_tool_error(answer.json["result"])
    result = post_modern(server, call(1, "1")).json["result"]
    check_tool_error(result)
    assert "io.modelcontextprotocol/serverInfo" in result["_meta"]


def test_stdio_is_one_principal_with_all_places():
    server = StdioServer(env=settings(concurrent_runs=2, queued_runs=0))
    server.ask(initialize(1))
    for number in (2, 3):
        server.send(call(number, sleep_for(3)))
    refused = server.ask(call(4, "1"))
    assert refused["id"] == 4
    check_tool_error(refused["result"])
    assert {server.receive()["id"] for _ in range(2)} == {2, 3}
    assert server.finish() == (0, [])


@pytest.mark.parametrize("tokens", ["quiet", ":bj_secret", "quiet:", "a b:bj_secret", "a/b:bj_x"])
def test_a_malformed_token_stops_the_start_and_is_not_shown(tokens):
    ended = belljar("serve", "--listen", "127.0.0.1:0", env=environment(BELLJAR_AUTH_TOKENS=tokens))
    assert ended.returncode != 0
    assert b"auth.tokens" in ended.stderr and b"name:secret" in ended.stderr
    assert b"bj_" not in ended.stderr + ended.stdout


def test_health_is_answered_while_guests_take_every_processor(crowded):
    server, crowd = crowded("--auth", "none", env=environment())
    crowd.hold("while True: pass", 4 * (os.cpu_count() or 1))
    crowd.waits_for(running=4 * (os.cpu_count() or 1))
    times = []
    for _ in range(50):
        start = time.monotonic()
        assert server.request("GET", "/health").status == 200
        times.append(time.monotonic() - start)
    assert sorted(times)[len(times) // 2] < 0.25, times


NICE = "import os\nprint(os.nice(0), os.nice(0) == os.getpriority(os.PRIO_PROCESS, 0))"


def test_where_no_cgroup_shares_the_processor_guests_are_nice(place):
    assert run_code(NICE).stdout == b"0 True\n"
    user = Unprivileged(place / "user")
    ended = user.run([user.programs / "belljar", "run", "-"],
                     {"BELLJAR_ISOLATION_REQUIRE": "basic"}, stdin=NICE.encode())
    assert ended.stdout == b"19 True\n", ended
