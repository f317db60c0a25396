"""Interpreters that stay: state from cell to cell, and only the cell lost when one goes wrong."""

import os
import signal
import threading

import pytest

from support_binary import environment, wait_until
from support_mcp import StdioServer, initialize, request
from support_processes import guests_of
from support_server import read_answer
from test_metrics import read

TOKENS = {"one": "bj_token_of_one", "two": "bj_token_of_two"}


class Session:
    """Of one server and caller; `ask` runs a cell."""

    def __init__(self, server, principal=None, **arguments):
        self.server, self.headers = server, headers_of(principal)
        first = self.post("/execute", {"code": "", "session": True, **arguments})
        self.id = first["session_id"]

    def post(self, path, body, status=200):
        answer = self.server.request("POST", path, body, self.headers)
        assert answer.status == status, answer
        return answer.json

    def ask(self, code, **arguments):
        return self.post("/execute", {"code": code, "session_id": self.id, **arguments})

    def value(self, code, **arguments):
        result = self.ask(code, **arguments)
        assert result["status"] == "ok", result
        return result["result"]

    def order(self, action, status=200, **arguments):
        return self.post(f"/v1/sessions/{self.id}/{action}", arguments, status)

    def diff(self, cells=1, status=200):
        answer = self.server.request("GET", f"/v1/sessions/{self.id}/diff?cells={cells}", None,
                                     self.headers)
        assert answer.status == status, answer
        return answer.json

    def fork(self):
        other = object.__new__(Session)
        other.server, other.headers, other.id = self.server, self.headers, ""
        other.id = self.order("fork")["session_id"]
        return other

    def end(self):
        answer = self.server.request("DELETE", f"/v1/sessions/{self.id}", None, self.headers)
        assert answer.status == 200, answer


def headers_of(principal):
    return {"Authorization": f"Bearer {TOKENS[principal]}"} if principal else {}


def listed(server, principal=None):
    answer = server.request("GET", "/v1/sessions", None, headers_of(principal))
    return [session["session_id"] for session in answer.json["sessions"]]


@pytest.fixture
def session(server):
    made = Session(server)
    yield made
    if made.id in listed(server):
        made.end()


def test_state_persists_between_cells(session):
    session.ask("import math\nx = 1\ndef double(n): return 2 * n")
    assert session.value("x += 1\nx") == 2
    assert session.value("double(x) + math.floor(0.5)") == 4
    result = session.ask("print(x)")
    assert result["stdout"] == "2\n" and result["session_id"] == session.id
    assert result["session"] == {"cell": 5, "state": "kept", "notes": []}
    assert result["variables"] == ["x", "double"]


def test_a_file_of_one_cell_is_there_in_the_next(session):
    session.ask("open('note.txt', 'w').write('kept')")
    assert session.value("open('note.txt').read()") == "kept"


@pytest.mark.parametrize("code, status, arguments", [
    ("x = 2\nimport os; os.abort()", "killed", {}),
    ("x = 2\nimport ctypes; ctypes.string_at(0)", "killed", {}),
    ("x = 2\nimport os; os._exit(3)", "error", {}),
    ("x = 2\nwhile True: pass", "timeout", {"timeout": 0.5}),
    ("x = 2\nheld = []\nwhile True: held.append(bytearray(1 << 24))", "memory", {}),
    ("x = 2\nwhile True: print('x' * (1 << 20))", "output", {}),
    ("x = 2\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", {}),
])
def test_what_goes_wrong_costs_only_the_cell(session, code, status, arguments):
    session.ask("x = 1; items = [1, 2]")
    result = session.ask(code, **arguments)
    assert result["status"] == status, result
    assert result["session"]["state"] == "rolled_back"
    assert "variables are as they were before it" in result["session"]["notes"][-1]
    assert session.value("[x, items]") == [1, [1, 2]]


def test_an_exception_keeps_what_was_done_before_it(session):
    result = session.ask("x = 5\nraise ValueError('no')")
    assert result["status"] == "error" and result["exit_code"] == 1
    assert result["error"]["type"] == "ValueError" and result["error"]["line"] == 2
    assert result["session"]["state"] == "kept"
    assert session.value("x") == 5


def test_sys_exit_ends_the_cell_and_not_the_session(session):
    result = session.ask("x = 7\nimport sys; sys.exit(4)")
    assert result["exit_code"] == 4 and result["session"]["state"] == "kept"
    assert session.value("x") == 7


def test_a_child_that_comes_to_the_end_of_a_cell_is_not_the_session(session):
    result = session.ask("import os\nx = 1\nif os.fork() == 0:\n    x = 2; print('child')\n"
                         "    raise SystemExit(7)\n"
                         "os.waitstatus_to_exitcode(os.wait()[1])")
    assert (result["result"], result["stdout"]) == (7, "child\n")
    assert session.value("x") == 1


def test_errors_show_the_lines_of_the_cell_they_are_in(session):
    session.ask("def divide(n):\n    return 1 / n")
    error = session.ask("\n\ndivide(0)")["error"]
    assert error["line"] == 3
    assert 'File "<cell 3>", line 3' in error["traceback"]
    assert "return 1 / n" in error["traceback"], "lines of earlier cells are shown too"


def test_a_thousand_cells_with_failures_between(session):
    """State is intact after each; processes do not add up."""
    session.ask("count = 0; log = []")
    bad = {250: ("import os; os.abort()", {}), 500: ("while True: pass", {"timeout": 0.3}),
           750: ("x = bytearray(1 << 30)\nx[::4096] = b'x' * len(x[::4096])", {})}
    for number in range(1, 1001):
        if number in bad:
            code, arguments = bad[number]
            assert session.ask("count = -1\n" + code, **arguments)["success"] is False
        assert session.value("count += 1; log.append(count)\ncount") == number
    assert session.value("[len(log), sum(log)]") == [1000, 500500]
    processes = int(session.value("import os\n"
                                  "len([n for n in os.listdir('/proc') if n.isdigit()])"))
    assert processes < 16


def test_undo_goes_back(session):
    for number in range(1, 6):
        session.ask(f"x = {number}; seen = list(range({number}))")
    session.order("undo")
    assert session.value("[x, len(seen)]") == [4, 4]
    session.order("undo", cells=3)
    assert session.value("[x, len(seen)]") == [2, 2]


def test_undo_reaches_the_beginning_and_not_beyond(session):
    session.ask("x = 1")
    session.order("undo", cells=2)
    assert session.ask("x")["error"]["type"] == "NameError"
    refusal = session.order("undo", cells=50, status=400)
    assert "cells back" in refusal["error"]


def test_states_that_are_too_old_are_not_kept(session):
    for number in range(20):
        session.ask(f"x = {number}")
    refusal = session.order("undo", cells=15, status=400)
    assert "only 7 cells back" in refusal["error"]
    session.order("undo", cells=7)
    assert session.value("x") == 12


def test_a_fork_has_the_same_state_and_goes_its_own_way(session):
    session.ask("x = 1; items = []")
    other = session.fork()
    session.ask("items.append('first'); x = 10")
    other.ask("items.append('second'); x = 20")
    assert session.value("[x, items]") == [10, ["first"]]
    assert other.value("[x, items]") == [20, ["second"]]
    other.order("undo", cells=2)
    assert other.value("[x, items]") == [1, []]
    assert session.value("x") == 10
    session.end()
    assert other.value("x") == 1, "it outlives what it was forked from"
    other.end()


def test_cells_of_a_fork_take_turns(session):
    other = session.fork()
    answers = {}

    def run(which, name):
        answers[name] = which.ask(f"import time; time.sleep(0.3); print('{name}')")

    threads = [threading.Thread(target=run, args=pair) for pair in
               ((session, "a"), (other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers["a"]["stdout"] == "a\n" and answers["b"]["stdout"] == "b\n"
    other.end()


def test_diff_says_what_cells_changed(session):
    session.ask("a = 1; b = [1]; c = 'same'; d = 2.5\ndef f(): return 1\n"
                "open('old.txt', 'w').write('1'); open('gone.txt', 'w').close()")
    session.ask("import os\nb.append(2); del d; e = {'new': 1}\ndef f(): return 2\n"
                "open('old.txt', 'a').write('2'); open('new.txt', 'w').close()\n"
                "os.remove('gone.txt')")
    diff = session.diff()["diff"]
    assert diff["variables"] == {"added": ["e"], "changed": ["b", "f"], "removed": ["d"]}
    assert diff["files"] == {"added": ["new.txt"], "changed": ["old.txt"],
                             "removed": ["gone.txt"]}
    assert session.diff(2)["diff"]["variables"]["added"] == ["a", "b", "c", "f", "e"]
    session.diff(50, status=400)


def test_reset_forgets_everything(session):
    session.ask("x = 1")
    session.order("reset")
    assert session.ask("x")["error"]["type"] == "NameError"


def test_each_cell_has_its_own_input(session):
    assert session.value("input() + input()", stdin="a\nb\n") == "ab"
    assert session.ask("input()")["error"]["type"] == "EOFError"
    assert session.value("import sys; sys.stdin.read()", stdin="öl") == "öl"
    assert session.value("import os; os.read(0, 9).decode()", stdin="raw") == "raw"


def test_random_goes_on_where_it_was(session):
    session.ask("import random; random.seed(1)")
    ours = [session.value("random.random()") for _ in range(2)]
    import random
    expected = random.Random(1)
    assert ours == [expected.random(), expected.random()]


def test_threads_that_stay_behind_are_named(session):
    started = session.ask("import threading, time\n"
                          "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
    assert started["session"]["state"] == "kept"
    notes = session.ask("1")["session"]["notes"]
    assert len(notes) == 1 and "threads are not copied" in notes[0]


def test_a_cell_that_waits_for_a_thread_of_an_earlier_one_is_told_so(session):
    session.ask("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
                "pool.submit(print, 1).result()")
    assert "threads are not copied" in session.ask("1")["session"]["notes"][0]
    assert session.ask("2")["session"]["notes"] == [], "it was said"
    result = session.ask("pool.submit(print, 2).result()", timeout=0.5)
    assert result["status"] == "timeout"
    notes = result["session"]["notes"]
    assert "ThreadPoolExecutor" in notes[0] and "threads are not copied" in notes[0]
    assert "variables are as they were before it" in notes[-1]


def test_processes_that_still_run_are_named(session):
    session.ask("import subprocess\nchildren = [subprocess.Popen(['sleep', '1000']), "
                "subprocess.Popen(['true'])]\nchildren[1].wait()\nchildren[0].pid")
    result = session.ask("children[0].pid")
    assert result["session"]["notes"] == [
        f"1 process(es) of an earlier cell still run (sleep, {result['result']}): a cell runs in a "
        "copy of the state, which is not their parent and cannot wait for them (returncode says "
        "nothing); wait in the cell that starts them"]


def test_open_sockets_are_named(session):
    notes = session.ask("import socket; pair = socket.socketpair()")["session"]["notes"]
    assert len(notes) == 1 and notes[0].startswith("2 open socket(s)")


def test_processes_of_a_cell_that_is_stopped_are_gone(session):
    session.ask("import subprocess\nchild = subprocess.Popen(['sleep', '1000'])", timeout=5)
    result = session.ask("import subprocess\nsubprocess.Popen(['sleep', '1001'])\n"
                         "while True: pass", timeout=0.5)
    assert result["status"] == "timeout"
    left = session.value("import os\n[open(f'/proc/{n}/cmdline').read() for n in "
                         "os.listdir('/proc') if n.isdigit()]")
    assert not [line for line in left if line.startswith("sleep")]


def test_a_cell_that_ends_when_its_time_does_leaves_the_session_whole(session):
    session.ask("import time; count = 0")
    kept = 0
    for number in range(40):
        delay = 0.1 + (number - 20) * 0.0005
        result = session.ask(f"time.sleep({delay}); count += 1", timeout=0.1)
        assert result["session"]["state"] in ("kept", "rolled_back"), result
        kept += result["session"]["state"] == "kept"
    assert session.value("count") == kept


def test_a_session_can_be_ended_while_it_runs(server):
    session = Session(server)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(session.ask("while True: pass")))
    thread.start()
    wait_until(lambda: any(one["busy"] for one in
                           server.request("GET", "/v1/sessions").json["sessions"]), "it runs")
    session.end()
    thread.join()
    assert answers[0]["status"] == "cancelled", answers
    assert session.id not in listed(server)


def test_ending_a_fork_does_not_disturb_the_other(server):
    session = Session(server)
    session.ask("x = 1")
    other = session.fork()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        session.ask("import time; time.sleep(1); x += 1")))
    thread.start()
    wait_until(lambda: any(one["busy"] for one in
                           server.request("GET", "/v1/sessions").json["sessions"]), "it runs")
    other.end()
    thread.join()
    assert answers[0]["status"] == "ok" and session.value("x") == 2
    session.end()


def test_a_client_that_leaves_ends_its_cell_only(session):
    session.ask("x = 1")
    connection = session.server.start_run("x = 2\nwhile True: pass", session_id=session.id)
    wait_until(lambda: any(one["busy"] for one in session.server.request(
        "GET", "/v1/sessions").json["sessions"]), "it runs")
    connection.close()
    assert session.value("x") == 1


def test_a_cell_may_be_left_at_once(session):
    session.ask("x = 1")
    for _ in range(20):
        session.server.start_run("x = 2\nwhile True: pass", session_id=session.id).close()
    assert session.value("x") == 1


def test_javascript_keeps_one_process(server):
    session = Session(server, language="javascript")
    session.ask("const x = 20; let y = 1; function f(n) { return n * 2; }")
    assert session.value("y += 1; f(x) + y") == 42
    result = session.ask("process.abort()")
    assert result["session"]["state"] == "lost" and result["status"] == "killed"
    gone = session.post("/execute", {"code": "1", "session_id": session.id}, 404)
    assert "took its sandbox along" in gone["error"]


def test_cells_that_wait_are_told_when_their_session_ends(server):
    session = Session(server, language="javascript")
    with server.start_run("await new Promise(r => setTimeout(r, 500)); process.abort()",
                          session_id=session.id) as first:
        wait_until(lambda: any(one["busy"] for one in
                               server.request("GET", "/v1/sessions").json["sessions"]), "it runs")
        waiting = [server.start_run("1", session_id=session.id) for _ in range(3)]
        assert read_answer(first).json["session"]["state"] == "lost"
        for connection in waiting:
            with connection:
                assert read_answer(connection).status == 404


def test_javascript_has_no_undo(server):
    session = Session(server, language="typescript")
    session.ask("enum Color { Red = 1 }; const x: number = Color.Red")
    assert session.value("x + 1") == 2
    refusal = session.order("undo", status=422)
    assert "no copies of its state" in refusal["error"]
    session.end()


def test_there_are_no_sessions_in_bash(server):
    answer = server.request("POST", "/execute",
                            {"code": "true", "language": "bash", "session": True})
    assert answer.status == 422 and "no sessions in bash" in answer.json["error"]


def test_figures_of_each_cell(session):
    session.ask("import matplotlib.pyplot as plt", timeout=60)
    for _ in range(2):
        outputs = session.ask("plt.plot([1, 2]); plt.show()", timeout=60)["outputs"]
        assert len(outputs) == 1 and "image/png" in outputs[0]
    assert session.ask("1")["outputs"] == []


def test_a_guest_that_breaks_the_functions_we_use_has_only_itself_to_blame(session):
    session.ask("import os, json, builtins, sys\nx = 3")
    result = session.ask("json.dumps = json.loads = None\nos.fork = os.read = None\n"
                         "sys.stdout = None\n")
    assert result["session"]["state"] == "kept", result
    again = session.ask("x")
    assert again["session"]["state"] in ("kept", "rolled_back", "lost")
    assert again["session_id"] == session.id


@pytest.mark.parametrize("code", [
    "import os, signal\nos.kill(os.getppid() or 2, signal.SIGKILL)",
    "import os, signal\n[os.kill(int(n), signal.SIGKILL) for n in os.listdir('/proc') "
    "if n.isdigit() and int(n) not in (1, os.getpid())]",
    "import os\nos.closerange(3, 4096)",
])
def test_a_guest_that_kills_its_own_session_is_told_so(server, code):
    session = Session(server)
    result = session.ask(code)
    assert result["session"]["state"] in ("kept", "rolled_back", "lost")
    wait_until(lambda: not server.execute("1")["denials"], "others go on")
    if session.id in listed(server):
        session.end()
    else:
        gone = session.post("/execute", {"code": "1", "session_id": session.id}, 404)
        assert "ended" in gone["error"]


def test_a_conversation_finds_its_session(server):
    arguments = {"session": True, "conversation_id": "talk-1"}
    first = server.execute("x = 1", **arguments)
    assert first["conversation_id"] == "talk-1"
    second = server.execute("x", **arguments)
    assert second["result"] == 1 and second["session_id"] == first["session_id"]
    other = server.execute("x", session=True, conversation_id="talk-2")
    assert other["error"]["type"] == "NameError"
    for identifier in (first["session_id"], other["session_id"]):
        assert server.request("DELETE", f"/v1/sessions/{identifier}").status == 200


def test_a_session_begins_without_a_cell_too(server):
    begun = server.request("POST", "/v1/sessions", {"language": "python"})
    assert begun.status == 201 and begun.json["language"] == "python"
    identifier = begun.json["session_id"]
    assert server.execute("x = 5; x", session_id=identifier)["result"] == 5
    assert server.request("DELETE", f"/v1/sessions/{identifier}").status == 200
    refused = server.request("POST", "/v1/sessions", {"language": "cobol"})
    assert refused.status == 422 and "usable here" in refused.json["error"]


def test_somebody_elses_session_does_not_exist(own_server):
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    server = own_server(env=environment(BELLJAR_AUTH_TOKENS=tokens))
    mine = Session(server, "one")
    nothing = {"code": "1", "session_id": "00000000-0000-4000-8000-000000000000"}
    stranger = headers_of("two")
    absent = server.request("POST", "/execute", nothing, stranger)
    present = server.request("POST", "/execute", {**nothing, "session_id": mine.id}, stranger)
    assert absent.status == present.status == 404 and absent.body == present.body
    for method, path in (("POST", "undo"), ("POST", "fork"), ("GET", "diff"), ("POST", "reset")):
        for identifier in (mine.id, nothing["session_id"]):
            answer = server.request(method, f"/v1/sessions/{identifier}/{path}", None, stranger)
            assert answer.status == 404, answer
    assert server.request("DELETE", f"/v1/sessions/{mine.id}", None, stranger).status == 404
    assert listed(server, "two") == [] and listed(server, "one") == [mine.id]
    assert mine.value("1") == 1


def test_idle_sessions_end_and_say_so(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_SESSIONS_IDLE="1s"))
    session = Session(server)
    wait_until(lambda: not listed(server), "the session expires", 20)
    wait_until(lambda: not guests_of(server.pid), "its jar is gone", 20)
    gone = session.post("/execute", {"code": "1", "session_id": session.id}, 404)
    assert "without a cell" in gone["error"]


def test_a_session_whose_caller_has_left_is_not_kept(own_server):
    server = own_server("--auth", "none", env=environment(
        BELLJAR_POOL_READY="0", BELLJAR_SESSIONS_IDLE="1s"))
    for _ in range(8):
        server.start_run("1", session=True).close()
    over = ("belljar_runs_total", "belljar_runs_refused_total")
    wait_until(lambda: sum(count for (name, _), count in read(server).items() if name in over) == 8,
               "all are over", 30)
    wait_until(lambda: not listed(server) and not guests_of(server.pid), "nothing is left of them")


def test_sessions_are_counted_against_a_quota(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_SESSIONS_MOST_EACH="2"))
    sessions = [Session(server), Session(server)]
    refusal = server.request("POST", "/execute", {"code": "1", "session": True})
    assert refusal.status == 429 and "end one first" in refusal.json["error"]
    sessions[0].order("fork", status=429)
    sessions[0].end()
    Session(server)


def test_a_restart_ends_sessions_with_a_clear_message(own_server, place):
    data = place / "kept-data"
    first = own_server("--auth", "none", data_directory=data)
    session = Session(first)
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    second = own_server("--auth", "none", data_directory=data)
    answer = second.request("POST", "/execute", {"code": "1", "session_id": session.id})
    assert answer.status == 404
    assert "ended when the server restarted" in answer.json["error"]
    assert listed(second) == []


@pytest.mark.parametrize("arguments, reason", [
    ({"session": "yes"}, "true or false"),
    ({"session_id": 5}, "must be a string"),
    ({"session_id": ""}, "letters, digits"),
    ({"session_id": "a b"}, "letters, digits"),
    ({"session_id": "x" * 129}, "letters, digits"),
    ({"conversation_id": "a\nb"}, "conversation_id"),
])
def test_bad_arguments_are_refused_in_words(server, arguments, reason):
    answer = server.request("POST", "/execute", {"code": "1", **arguments})
    assert 400 <= answer.status < 500, answer
    assert reason in answer.json["error"]


@pytest.mark.parametrize("method, path, status", [
    ("POST", "/v1/sessions/none/jump", 404),
    ("PUT", "/v1/sessions", 405),
    ("POST", "/v1/sessions/none", 405),
    ("PUT", "/v1/sessions/none", 405),
    ("GET", "/v1/sessions/none/undo", 405),
    ("GET", "/v1/sessions/none/diff?cells=x", 400),
    ("GET", "/v1/sessions/none/diff?cells=0", 400),
    ("GET", "/v1/sessions/none", 404),
])
def test_bad_paths(server, method, path, status):
    assert server.request(method, path).status == status


@pytest.mark.parametrize("body", [{"cells": 0}, {"cells": "2"}, {"cells": 1.5}, {"steps": 1}, []])
def test_bad_orders(session, body):
    answer = session.server.request("POST", f"/v1/sessions/{session.id}/undo", body)
    assert answer.status == 400, answer


def test_by_mcp():
    server = StdioServer()
    try:
        server.ask(initialize())

        def tool(name, **arguments):
            asked = request(2, "tools/call", name=name, arguments=arguments)
            return server.ask(asked)["result"]

        first = tool("execute_code", code="x = 41", session=True)
        identifier = first["structuredContent"]["session_id"]
        assert identifier in first["content"][0]["text"]
        second = tool("execute_code", code="x + 1", session_id=identifier)
        assert second["structuredContent"]["result"] == 42
        undone = tool("manage_session", action="undo", session_id=identifier, cells=2)
        assert undone["structuredContent"]["sessions"][0]["session_id"] == identifier
        third = tool("execute_code", code="x", session_id=identifier)
        assert third["isError"] and "NameError" in third["content"][0]["text"]
        shown = tool("manage_session", action="list")
        assert len(shown["structuredContent"]["sessions"]) == 1
        refused = tool("manage_session", action="jump")
        assert refused["isError"] and "undo" in refused["content"][0]["text"]
    finally:
        server.finish()


def test_nothing_is_left_of_a_session_whose_server_is_killed(own_server):
    server = own_server("--auth", "none")
    session = Session(server)
    session.ask("import subprocess; subprocess.Popen(['sleep', '1000'])")
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()
