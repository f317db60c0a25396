"""MCP messages, and a `belljar mcp` process to send them to line by line."""

import json
import queue
import subprocess
import threading

from support_binary import BINARY, COMMAND_SECONDS, service_environment

MODERN = "2026-07-28"
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(number=1, revision=LEGACY[-1]):
    return request(number, "initialize", protocolVersion=revision, capabilities={},
                   clientInfo={"name": "e2e", "version": "1"})


def call(number, code, **arguments):
    return request(number, "tools/call", name="execute_code", arguments={"code": code, **arguments})


def modern(message, revision=MODERN):
    """The same request with the envelope of the newest revision."""
    meta = {"io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {}}
    return {**message, "params": {**message["params"], "_meta": meta}}


class StdioServer:
    def __init__(self, env=None, options=()):
        self.process = subprocess.Popen([str(BINARY), "mcp", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=service_environment(env))
        self.lines = queue.Queue()
        self.log = queue.Queue()
        self.readers = [threading.Thread(target=pass_on, args=pair) for pair in (
            (self.process.stdout, self.lines), (self.process.stderr, self.log))]
        for reader in self.readers:
            reader.start()

    def send(self, message):
        """Bytes are sent as they are, anything else as one line of JSON."""
        if not isinstance(message, bytes):
            message = json.dumps(message).encode() + b"\n"
        self.process.stdin.write(message)
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.lines.get(timeout=COMMAND_SECONDS))

    def ask(self, message):
        self.send(message)
        return self.receive()

    def finish(self):
        """Closes its input; gives the exit code and the lines that were not received."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(timeout=COMMAND_SECONDS)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        rest = []
        while not self.lines.empty():
            rest.append(json.loads(self.lines.get()))
        return code, rest


def pass_on(stream, lines):
    for line in stream:
        lines.put(line)


def tool_answer(server, message):
    """The answer to a modern request over HTTP."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN,
               "Mcp-Method": message["method"]}
    if message["method"] == "tools/call":
        headers["Mcp-Name"] = message["params"]["name"]
    answer = server.request("POST", "/mcp", modern(message), headers)
    assert answer.status == 200, answer
    return answer.json


def call_tool(server, tool, /, **arguments):
    """The result of a tool."""
    message = request(1, "tools/call", name=tool, arguments=arguments)
    return tool_answer(server, message)["result"]


def list_tools(server):
    """The definitions of all listed tools, by name."""
    tools = tool_answer(server, request(1, "tools/list"))["result"]["tools"]
    return {tool["name"]: tool for tool in tools}
