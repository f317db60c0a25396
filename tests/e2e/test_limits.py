"""How much one caller may ask for: rates, quotas, and what each token may have of its own."""

import concurrent.futures
import itertools
import json
import re

import pytest

from support_binary import environment, wait_until
from support_mcp import call
from support_server import Server
from test_authorization import ask, make_token, token_command
from test_mcp_http import post_modern
from test_metrics import value

RATE = 30  # in a minute: none comes back while a test looks
SECONDS_OF_DAY = 24 * 3600


def settings(**limits):
    return environment(**{f"BELLJAR_LIMITS_{name.upper()}": str(limit)
                          for name, limit in limits.items()})


@pytest.fixture(scope="module")
def limited(session_place):
    """A few requests for each token, and fewer for who has none."""
    server = Server(session_place / "limited", env=settings(
        requests_per_minute=RATE, request_burst=5, unknown_requests_per_minute=10))
    yield server
    assert server.stop() == 0


def get(server, token, path="/v1/runners"):
    return ask(server, token, "GET", path)


def check_refusal(answer, policy, quota):
    assert answer.status == 429, answer
    seconds = int(answer.headers["Retry-After"])
    assert 1 <= seconds <= 60
    assert answer.headers["RateLimit-Policy"] == f'"{policy}";q={quota};w=60'
    assert re.fullmatch(rf'"{policy}";r=0;t=\d+', answer.headers["RateLimit"])
    assert f"try again in {seconds} s" in answer.body.decode()


def test_who_asks_too_much_is_told_when_to_come_again(limited):
    token = make_token(limited.data_directory, "eager")
    left = []
    for _ in range(5):
        answer = get(limited, token)
        assert answer.status == 200, answer
        assert answer.headers["RateLimit-Policy"] == f'"principal";q={RATE};w=60'
        left.append(int(re.fullmatch(r'"principal";r=(\d+);t=\d+',
                                     answer.headers["RateLimit"]).group(1)))
    # A slow machine gives time for one to come back.
    assert left[0] == 4 and all(before - after in (0, 1)
                                for before, after in itertools.pairwise(left)), left
    refused = next(answer for answer in (get(limited, token) for _ in range(20))
                   if answer.status != 200)
    check_refusal(refused, "principal", RATE)
    assert refused.headers["Content-Type"] == "application/problem+json"
    check_refusal(ask(limited, token), "principal", RATE)


def test_a_noisy_principal_takes_nothing_from_another(limited):
    noisy = make_token(limited.data_directory, "noisy")
    quiet = make_token(limited.data_directory, "quiet")
    statuses = [get(limited, noisy).status for _ in range(20)]
    assert statuses.count(200) in (5, 6) and set(statuses) == {200, 429}
    assert get(limited, quiet).status == 200
    assert ask(limited, quiet).json["result"] == 42


def test_mcp_and_rest_are_one_account(limited):
    token = make_token(limited.data_directory, "both")
    message = call(1, "6*7")
    for _ in range(3):
        assert post_modern(limited, message, Authorization=f"Bearer {token}").status == 200
    assert get(limited, token).status == get(limited, token).status == 200
    check_refusal(post_modern(limited, message, Authorization=f"Bearer {token}"),
                  "principal", RATE)


def test_a_refused_body_is_not_read(limited):
    token = make_token(limited.data_directory, "large")
    while get(limited, token).status == 200:
        pass
    with limited.connect() as connection:
        connection.sendall(
            f"POST /execute HTTP/1.1\r\nHost: {limited.address}\r\nContent-Length: 10000000\r\n"
            f"Authorization: Bearer {token}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 429 ")


def test_a_token_may_have_its_own_rate(limited):
    slow = make_token(limited.data_directory, "slow", "--requests-per-minute", 2)
    free = make_token(limited.data_directory, "free", "--requests-per-minute", 0)
    assert [get(limited, slow).status for _ in range(3)] == [200, 200, 429]
    answers = [get(limited, free) for _ in range(12)]
    assert {answer.status for answer in answers} == {200}
    assert "RateLimit" not in answers[0].headers


def test_health_is_never_refused(limited):
    assert {limited.request("GET", path, token=False).status
            for _ in range(30) for path in ("/health", "/ready")} == {200}


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(own_server):
    server = own_server(env=settings(unknown_requests_per_minute=6))
    statuses = [get(server, "bj_wrong").status for _ in range(10)]
    assert statuses == [401] * 6 + [429] * 4
    check_refusal(server.request("GET", "/v1/runners", token=False), "address", 6)
    assert server.request("GET", "/v1/runners").status == 200
    assert value(server, "belljar_http_rate_limited_total") == 5


def test_all_together_have_a_limit(own_server):
    server = own_server(env=settings(global_requests_per_minute=6))
    statuses = [get(server, server.token).status for _ in range(8)]
    assert statuses == [200] * 6 + [429] * 2
    check_refusal(get(server, server.token), "server", 6)


def test_by_default_nobody_meets_a_limit(server):
    answers = [server.request("GET", "/v1/runners") for _ in range(30)]
    assert {answer.status for answer in answers} == {200}
    assert "RateLimit" not in answers[0].headers


# Places


def test_tokens_that_come_later_have_shares(own_server):
    """One caller alone may have all places; from its first named neighbour on it may not."""
    server = own_server(env=settings(concurrent_runs=4))
    sleeper = "import time\ntime.sleep(60)"
    held = [server.start_run(sleeper) for _ in range(4)]
    wait_until(lambda: value(server, "belljar_runs_running") == 4, "all places are taken")
    for connection in held:
        connection.close()
    wait_until(lambda: value(server, "belljar_runs_running") == 0, "they have ended")
    late = make_token(server.data_directory, "late", "--concurrent-runs", 1)
    held = [server.start_run(sleeper) for _ in range(4)]
    wait_until(lambda: value(server, "belljar_runs_waiting") == 1, "the fourth has to wait")
    assert value(server, "belljar_runs_running") == 3
    assert ask(server, late).json["result"] == 42, "a place is left for others"
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        both = [workers.submit(ask, server, late, body={
            "code": "import time\ntime.sleep(1)\ntime.time()"}) for _ in range(2)]
        ends = sorted(one.result().json["result"] for one in both)
    assert ends[1] - ends[0] > 0.9, "its own limit is one at a time"
    for connection in held:
        connection.close()


# Quotas of a day


def test_runs_of_a_day_are_counted_beyond_a_restart(place):
    env = settings(runs_per_day=3)
    server = Server(place / "first", env=env)
    try:
        assert [ask(server, server.token).status for _ in range(2)] == [200, 200]
        more = make_token(server.data_directory, "more", "--runs-per-day", 5)
    finally:
        assert server.stop() == 0
    again = Server(place / "second", env=env, data_directory=server.data_directory)
    try:
        assert ask(again, again.token).status == 200
        refused = ask(again, again.token)
        assert refused.status == 429, refused
        assert 0 < int(refused.headers["Retry-After"]) <= SECONDS_OF_DAY
        assert "3 runs" in refused.json["error"]
        told = post_modern(again, call(1, "6*7")).json["result"]
        assert told["isError"] and "3 runs" in told["content"][0]["text"]
        assert [ask(again, more).status for _ in range(6)] == [200] * 5 + [429]
        quota = again.request("GET", "/v1/admin/quota?principal=more").json
        assert quota["limits"]["runs_per_day"] == 5 and quota["today"]["runs"] == 5
        usage = again.request("GET", "/v1/admin/usage").json["usage"]
        assert {one["principal"]: one["runs"] for one in usage} == {"": 3, "more": 5}
    finally:
        assert again.stop() == 0


def test_a_run_of_a_day_is_counted_once_while_it_runs(own_server):
    server = own_server(env=settings(runs_per_day=2))
    with server.start_run("import time\ntime.sleep(60)"):
        wait_until(lambda: server.request("GET", "/v1/admin/runs?state=running").json["runs"],
                   "it runs")
        assert ask(server, server.token).status == 200
        refused = ask(server, server.token)
        assert refused.status == 429 and "2 runs" in refused.json["error"], refused


def test_cpu_seconds_of_a_day_end_it(own_server):
    server = own_server(env=settings(cpu_seconds_per_day=1))
    busy = "import time\nend = time.process_time() + 1.1\nwhile time.process_time() < end: pass"
    assert ask(server, server.token, body={"code": busy, "cpu": 1}).status == 200
    refused = ask(server, server.token)
    assert refused.status == 429 and "1 CPU seconds" in refused.json["error"]


# What the command shows


def test_tokens_show_their_limits(place):
    make_token(place, "ada", "--role", "user", "--requests-per-minute", 7, "--concurrent-runs", 2,
               "--runs-per-day", 9, "--cpu-seconds-per-day", 100, "--storage", "5m")
    [one] = json.loads(token_command(place, "list", "--json").stdout)["tokens"]
    assert one["limits"] == {"requests_per_minute": 7, "concurrent_runs": 2, "runs_per_day": 9,
                             "cpu_seconds_per_day": 100, "storage_bytes": 5 * 2 ** 20}
    assert b"runs_per_day=9" in token_command(place, "list").stdout


def test_a_file_from_before_there_were_limits_is_read(own_server):
    server = own_server()
    token = make_token(server.data_directory, "old")
    file = server.data_directory / "tokens" / "tokens.json"
    kept = json.loads(file.read_text())
    for one in kept["tokens"]:
        del one["limits"]
    file.write_text(json.dumps(kept))
    assert ask(server, token).status == 200
