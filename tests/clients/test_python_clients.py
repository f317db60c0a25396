"""Clients in Python, each in an environment of its own: both lines of the official SDK, FastMCP."""

import json
import subprocess
import typing

import pytest

from support_binary import BINARY, COMMAND_SECONDS, ROOT, environment
from support_programs import PRINTED, TICKS, ConversationFile, EndlessProgram

HERE = ROOT / "tests" / "clients" / "python"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
TOOLS = {"execute_code", "get_sandbox_info", "list_files", "read_file"}


class Kind(typing.NamedTuple):
    library: str  # the environment in build/python
    program: str
    transport: str
    mode: str
    revision: str

    def __str__(self):
        return f"{self.library}-{self.transport}-{self.mode}"


def both_eras(library, program):
    return [Kind(library, program, transport, mode, revision)
            for transport in ("http", "stdio")
            for mode, revision in (("auto", MODERN), (MODERN, MODERN), ("legacy", LEGACY))]


KINDS = [
    *(Kind("sdk_v1", "sdk_v1.py", transport, "legacy", LEGACY)
      for transport in ("http", "sse", "stdio")),
    *both_eras("sdk_v2", "sdk_v2.py"), Kind("sdk_v2", "sdk_v2.py", "sse", "legacy", LEGACY),
    *both_eras("fastmcp", "fastmcp_client.py"),
    Kind("fastmcp", "fastmcp_client.py", "sse", "legacy", LEGACY),
]


class Client:
    """A process that is asked line by line."""

    def __init__(self, kind, server, directory):
        self.kind = kind
        self.log = directory / f"{kind}.log"
        python = ROOT / "build" / "python" / kind.library / "bin" / "python"
        settings = environment(HOME=str(directory), PYTHONDONTWRITEBYTECODE="1",
                               FASTMCP_CHECK_FOR_UPDATES="off", OTEL_SDK_DISABLED="true")
        path = "/mcp/sse" if kind.transport == "sse" else "/mcp"
        target = {"transport": kind.transport, "mode": kind.mode, "headers": server.headers(),
                  "url": f"http://{server.address}{path}", "command": [str(BINARY), "mcp"],
                  "environment": environment(BELLJAR_POOL_READY="0")}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(python), str(HERE / kind.program), json.dumps(target)], cwd=directory,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=settings)

    def ask(self, do, **details):
        self.process.stdin.write(json.dumps({"do": do, **details}).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the client ended: {self.log.read_text()[-3000:]}"
        answer = json.loads(line)
        assert "error" not in answer, f"{answer['error']}\n{self.log.read_text()[-3000:]}"
        return answer

    def call(self, name, arguments, **details):
        return self.ask("call", name=name, arguments=arguments, **details)["answer"]

    def close(self):
        self.process.stdin.close()
        try:
            return self.process.wait(timeout=COMMAND_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@pytest.fixture(scope="module", params=KINDS, ids=str)
def client(request, server, session_place):
    started = Client(request.param, server, session_place)
    yield started
    assert started.close() == 0, started.log.read_text()[-3000:]


def test_agrees_on_the_revision(client):
    assert client.ask("connected")["revision"] == client.kind.revision


def test_lists(client):
    tools = {tool["name"]: tool for tool in client.ask("list")["tools"]}
    assert TOOLS <= set(tools)
    assert tools["execute_code"]["inputSchema"]["required"] == ["code"]


def test_calls(client):
    answer = client.call("execute_code", {"code": "print(6 * 7)\n'value'"})
    assert not answer.get("isError") and answer["content"][0]["text"].startswith("42\n")
    assert answer["structuredContent"]["result"] == "value"


def test_is_told_of_failures(client):
    answer = client.call("execute_code", {"code": "1 / 0"})
    assert answer["isError"] and "ZeroDivisionError" in answer["content"][0]["text"]


def test_streams(client):
    found = client.ask("call", name="execute_code", arguments={"code": TICKS}, listen=True)
    assert found["answer"]["structuredContent"]["stdout"] == PRINTED
    heard = found["heard"]
    progress = [one["progress"] for one in heard]
    assert len(heard) >= 2 and progress == sorted(set(progress))
    assert "".join(one["message"] or "" for one in heard) == PRINTED


def test_cancels(client):
    program = EndlessProgram()
    client.ask("start", name="execute_code", arguments=program.arguments)
    program.wait_for_start()
    client.ask("give_up")
    program.wait_for_end()
    assert client.call("execute_code", {"code": "6 * 7"})["structuredContent"]["result"] == 42


def test_reads_a_file(client):
    file = ConversationFile()
    assert client.call("execute_code", file.arguments)["structuredContent"]["result"] == "written"
    contents = client.ask("read", uri=file.uri)["contents"]
    assert [(part["uri"], part["text"]) for part in contents] == [(file.uri, file.text)]
    answer = client.call("read_file", file.read_arguments)
    assert not answer.get("isError") and file.text in answer["content"][0]["text"]
