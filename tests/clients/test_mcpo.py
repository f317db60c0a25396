"""mcpo, which offers our tools as an OpenAPI service, in front of both of our HTTP transports."""

import http.client
import json
import socket
import subprocess
import threading

import pytest

from support_binary import COMMAND_SECONDS, ROOT, environment, wait_until
from support_programs import PRINTED, TICKS, ConversationFile, EndlessProgram

PROGRAM = ROOT / "build" / "python" / "mcpo" / "bin" / "mcpo"
TARGETS = {"sse": "/mcp/sse", "streamable-http": "/mcp"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Mcpo:
    def __init__(self, kind, server, directory):
        self.port = free_port()
        self.log = directory / f"mcpo-{kind}.log"
        command = [str(PROGRAM), "--host", "127.0.0.1", "--port", str(self.port), "--type", kind,
                   "--header", json.dumps(server.headers()), "--",
                   f"http://{server.address}{TARGETS[kind]}"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory,
                env=environment(HOME=str(directory), PYTHONDONTWRITEBYTECODE="1"))
        try:
            wait_until(self.answers, "mcpo answers", COMMAND_SECONDS)
        except BaseException:
            self.stop()
            raise

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        try:
            return "execute_code" in json.dumps(self.request("GET", "/openapi.json")["paths"])
        except OSError:
            return False

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=COMMAND_SECONDS)
        try:
            connection.request(method, path, body and json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status == 200, f"{answer.status} {text}\n{self.log.read_text()[-3000:]}"
            return json.loads(text)
        finally:
            connection.close()

    def call(self, tool, arguments):
        return self.request("POST", f"/{tool}", arguments)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        finally:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module", params=TARGETS)
def mcpo(request, server, session_place):
    started = Mcpo(request.param, server, session_place)
    yield started
    started.stop()


def test_lists(mcpo):
    paths = mcpo.request("GET", "/openapi.json")["paths"]
    assert {"/execute_code", "/get_sandbox_info", "/read_file"} <= set(paths)


def test_calls(mcpo):
    assert "42" in json.dumps(mcpo.call("execute_code", {"code": "print(6 * 7)"}))


def test_streams(mcpo):
    """It passes on nothing before the end, but the answer comes on a stream to it."""
    assert json.dumps(PRINTED)[1:-1] in json.dumps(mcpo.call("execute_code", {"code": TICKS}))


def test_reads_a_file(mcpo):
    file = ConversationFile()
    mcpo.call("execute_code", file.arguments)
    answer = mcpo.call("read_file", file.read_arguments)
    assert "second: \u00e9\u65e5" in json.dumps(answer, ensure_ascii=False)


@pytest.mark.parametrize("kind", TARGETS)
def test_cancels(kind, server, place):
    """It knows no cancellation. With its stream of events ends whatever runs for it; a request of
    the other transport outlives its connection, and the program has its time but no more."""
    mcpo = Mcpo(kind, server, place)
    program = EndlessProgram()
    if kind != "sse":
        program.arguments["timeout"] = 4
    waiting = threading.Thread(target=call_in_vain, args=(mcpo, program))
    waiting.start()
    try:
        program.wait_for_start()
    finally:
        mcpo.process.kill()
        mcpo.stop()
        waiting.join()
    wait_until(lambda: not program.processes(), "no process is left")


def call_in_vain(mcpo, program):
    try:
        mcpo.call("execute_code", program.arguments)
    except (OSError, http.client.HTTPException, AssertionError):
        pass
