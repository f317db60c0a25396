"""start_run, poll_run and cancel_run: long runs for clients that cannot wait."""

import time

import pytest

from support_binary import environment, wait_until
from support_mcp import StdioServer, initialize, request
from support_mcp_client import CLIENTS, ModernClient
from test_metrics import value

TOKENS = {"one": "bj_token_of_one", "two": "bj_token_of_two"}
FOREVER = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.1)"


@pytest.fixture(params=CLIENTS)
def client(request, server):
    opened = CLIENTS[request.param](server)
    yield opened
    opened.close()


def start(client, code, **arguments):
    result = client.tool("start_run", code=code, **arguments)
    assert not result["isError"], result
    assert result["structuredContent"]["status"] == "running"
    return result["structuredContent"]["run_id"]


def poll(client, run_id, **arguments):
    return client.tool("poll_run", run_id=run_id, **arguments)["structuredContent"]


def poll_until(client, run_id, done):
    """Looks again and again until the answer is as it should be; gives that answer."""
    found = []

    def look():
        found[:] = [poll(client, run_id, wait_seconds=0.2)]
        return done(found[0])

    wait_until(look, "the run is as it should be")
    return found[0]


def test_they_are_listed(client):
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["tools"]}
    for name in ("start_run", "poll_run", "cancel_run"):
        tool = tools[name]
        assert tool["title"] and tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
    assert "one hour" in tools["start_run"]["description"]
    assert tools["start_run"]["inputSchema"] == tools["execute_code"]["inputSchema"]


def test_the_result_is_that_of_execute_code(client):
    answer = poll(client, start(client, "print('hi')\n6*7"), wait_seconds=50)
    assert answer["status"] == "ended"
    assert (answer["result"]["stdout"], answer["result"]["result"]) == ("hi\n", 42)
    assert answer["result"]["execution_id"] == answer["execution_id"]


def test_output_comes_while_it_runs(client):
    run_id = start(client, FOREVER)
    answer = poll_until(client, run_id, lambda one: one.get("output"))
    assert (answer["status"], answer["output"]) == ("running", "begun\n")
    again = poll(client, run_id, since=answer["next"], wait_seconds=0)
    assert again["output"] == "" and again["next"] == answer["next"]
    ended = client.tool("cancel_run", run_id=run_id)
    assert not ended["isError"]
    record = ended["structuredContent"]["result"]
    assert (record["status"], record["stdout"]) == ("cancelled", "begun\n")
    assert poll(client, run_id)["result"]["status"] == "cancelled"


def test_waiting_ends_with_the_run(client):
    run_id = start(client, "import time\ntime.sleep(0.5)")
    begun = time.monotonic()
    assert poll(client, run_id, wait_seconds=50)["status"] == "ended"
    assert time.monotonic() - begun < 30


def test_failures_are_told(client):
    result = client.tool("poll_run", run_id=start(client, "1/0"), wait_seconds=50)
    assert result["isError"] and "ZeroDivisionError" in result["content"][0]["text"]
    assert client.tool("start_run", code=5)["isError"]


@pytest.mark.parametrize("name", ["poll_run", "cancel_run"])
def test_an_unknown_run_says_what_to_do(client, name):
    result = client.tool(name, run_id="0" * 32)
    assert result["isError"] and "start_run" in result["content"][0]["text"]


@pytest.mark.parametrize("arguments", [{}, {"run_id": 5}, {"run_id": "x", "wait_seconds": 51},
                                       {"run_id": "x", "since": -1}, {"run_id": "x", "y": 1}])
def test_bad_arguments_are_told(client, arguments):
    result = client.tool("poll_run", **arguments)
    assert result["isError"] and len(result["content"][0]["text"]) > 20


def test_a_run_is_its_principals_alone(own_server):
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    server = own_server(env=environment(BELLJAR_AUTH_TOKENS=tokens))
    one, two = (ModernClient(server, token) for token in TOKENS.values())
    run_id = start(one, FOREVER)
    for name in ("poll_run", "cancel_run"):
        assert two.tool(name, run_id=run_id)["isError"]
    assert poll(one, run_id, wait_seconds=0)["status"] == "running"
    assert not one.tool("cancel_run", run_id=run_id)["isError"]


def test_nothing_is_left_when_the_server_stops(own_server):
    server = own_server()
    client = ModernClient(server)
    for _ in range(3):
        start(client, FOREVER, timeout=300)
    wait_until(lambda: value(server, "belljar_runs_running") == 3, "all of them run")
    assert server.stop() == 0


def test_stdio_ends_them_with_itself():
    stdio = StdioServer()
    stdio.ask(initialize())
    answer = stdio.ask(request(2, "tools/call", name="start_run",
                               arguments={"code": FOREVER, "timeout": 300}))
    run_id = answer["result"]["structuredContent"]["run_id"]
    output = None
    while not output:
        polled = stdio.ask(request(3, "tools/call", name="poll_run",
                                   arguments={"run_id": run_id, "wait_seconds": 0.2}))
        output = polled["result"]["structuredContent"]["output"]
    assert stdio.finish() == (0, [])
