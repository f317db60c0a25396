"""Many programs in one call."""

import json

import pytest

from support_binary import environment, wait_until
from support_mcp import StdioServer, initialize, request
from support_processes import guests_of

SLEEP = "import time; time.sleep(1000)"


def batch(server, runs, **arguments):
    answer = server.request("POST", "/v1/runs:batch", {"runs": runs, **arguments})
    assert answer.status == 200, answer
    return answer.json


def states(result):
    return [element["state"] for element in result["results"]]


def test_results_are_in_order(open_server):
    result = batch(open_server, [{"code": f"print({number})\n{number}"} for number in range(64)])
    assert result["success"] and result["succeeded"] == 64
    assert [element["index"] for element in result["results"]] == list(range(64))
    assert [element["result"]["result"] for element in result["results"]] == list(range(64))


def test_errors_stand_in_their_place(open_server):
    runs = [{"code": "1"}, {"code": 2}, {"code": "1/0"}, {"code": "1", "language": "klingon"}, 7,
            {"code": "1", "timeout": 0}, {"code": "'last'"}]
    result = batch(open_server, runs)
    assert states(result) == ["ran", "refused", "ran", "refused", "refused", "refused", "ran"]
    assert result["results"][2]["result"]["error"]["type"] == "ZeroDivisionError"
    assert "klingon" in result["results"][3]["error"]
    assert result["results"][6]["result"]["result"] == "last"
    counts = {name: result[name] for name in ("succeeded", "failed", "refused", "skipped")}
    assert counts == {"succeeded": 2, "failed": 1, "refused": 4, "skipped": 0}
    assert result["success"] is False


def test_stop_on_error_skips_the_rest(open_server):
    runs = [{"code": "1"}, {"code": "raise SystemExit(3)"}] + [{"code": "1"}] * 20
    result = batch(open_server, runs, stop_on_error=True, parallel=1)
    assert states(result) == ["ran", "ran"] + ["skipped"] * 20
    assert batch(open_server, runs)["succeeded"] == 21


def test_stop_on_error_ends_what_runs_behind_it(open_server):
    runs = [{"code": "import time; time.sleep(0.5)\n'before'"}, {"code": "1/0"}, {"code": SLEEP},
            {"code": SLEEP}]
    result = batch(open_server, runs, stop_on_error=True)
    assert result["results"][0]["result"]["result"] == "before"
    for element in result["results"][2:]:
        assert element["state"] == "skipped" or element["result"]["status"] == "cancelled"


def test_small_queue_fails_nobody(own_server):
    server = own_server("--auth", "none", env=environment(
        BELLJAR_LIMITS_CONCURRENT_RUNS="1", BELLJAR_LIMITS_QUEUED_RUNS="1",
        BELLJAR_LIMITS_BATCH_PARALLEL="8"))
    result = batch(server, [{"code": str(number)} for number in range(12)])
    assert [element["result"]["result"] for element in result["results"]] == list(range(12))


def test_only_a_few_run_at_once(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_LIMITS_BATCH_PARALLEL="2"))
    connection = server.connect()
    body = {"runs": [{"code": SLEEP}] * 6}
    connection.sendall(post_bytes(server, body))
    wait_until(lambda: len(guests_of(server.pid)) == 2, "two programs run")
    assert server.execute("6*7")["result"] == 42
    wait_until(lambda: len(guests_of(server.pid)) == 2, "the program between them has ended")
    connection.close()
    wait_until(lambda: not guests_of(server.pid), "the client has gone, and so have they", 10)


def post_bytes(server, body):
    content = json.dumps(body).encode()
    lines = ["POST /v1/runs:batch HTTP/1.1", f"Host: {server.address}",
             "Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@pytest.mark.parametrize("body", [
    {}, [], "x", {"runs": []}, {"runs": [{"code": "1"}] * 65}, {"runs": {"code": "1"}},
    {"runs": [{"code": "1"}], "parallel": 0}, {"runs": [{"code": "1"}], "parallel": 1e9},
    {"runs": [{"code": "1"}], "stop_on_error": "yes"}, {"runs": [{"code": "1"}], "extra": 1}])
def test_bad_batches_are_refused(open_server, body):
    answer = open_server.request("POST", "/v1/runs:batch", body)
    assert answer.status == 400 and answer.json["error"], answer


def test_batch_of_a_model():
    server = StdioServer()
    server.ask(initialize())
    arguments = {"runs": [{"code": "6*7"}, {"code": "1/0"}]}
    result = server.ask(request(2, "tools/call", name="execute_batch", arguments=arguments))
    result = result["result"]
    assert result["isError"] is True
    assert result["structuredContent"]["results"][0]["result"]["result"] == 42
    text = result["content"][0]["text"]
    assert "[1 of 2: ok]\n=> 42" in text and "[2 of 2: error]" in text and "ZeroDivision" in text
    wrong = server.ask(request(3, "tools/call", name="execute_batch", arguments={"runs": 1}))
    assert wrong["result"]["isError"] and "\"runs\"" in wrong["result"]["content"][0]["text"]
    assert server.finish()[0] == 0


def test_output_of_all_is_bounded(open_server):
    runs = [{"code": "print('x' * 900000)"}] * 64
    result = batch(open_server, runs)
    for element in result["results"]:
        assert element["result"]["stdout_truncated"]
        assert len(element["result"]["stdout"]) < 140 * 1024
        assert element["result"]["stdout_bytes"] == 900001
