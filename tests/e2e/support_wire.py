"""MCP over HTTP as it goes over the wire: a POST, a legacy session, HTTP+SSE of 2024-11-05."""

import http.client
import json
import typing

from support_binary import COMMAND_SECONDS
from support_mcp import LEGACY, MODERN, initialize

ACCEPT = {"Accept": "application/json, text/event-stream"}
META = "io.modelcontextprotocol/"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
            "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def cancelled(number):
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def enveloped(message, revision=MODERN, capabilities=None, **meta):
    """The message with the _meta of the newest revision; further keys of it may be given."""
    params = message.get("params", {})
    envelope = {f"{META}protocolVersion": revision, f"{META}clientCapabilities": capabilities or {},
                **meta, **params.get("_meta", {})}
    return {**message, "params": {**params, "_meta": envelope}}


def modern_headers(message, **changed):
    """What must stand in the headers of a modern message; None takes one away."""
    headers = {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    key = NAMED_BY.get(message["method"])
    if key and key in message.get("params", {}):
        headers["Mcp-Name"] = message["params"][key]
    for name, value in changed.items():
        headers.pop(name.replace("_", "-"), None)
        if value is not None:
            headers[name.replace("_", "-")] = value
    return headers


class Reply(typing.NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def kind(self):
        return self.headers.get_content_type()

    @property
    def messages(self):
        """Every JSON-RPC message of the body, in order, whatever its form."""
        if self.kind == "text/event-stream":
            return [json.loads(data) for data in event_data(self.body.decode())]
        parsed = json.loads(self.body)
        return parsed if isinstance(parsed, list) else [parsed]

    @property
    def answer(self):
        """The one response; on a stream it is the last message."""
        return self.messages[-1]

    @property
    def code(self):
        return self.answer["error"]["code"]

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


def event_data(text):
    """The data of each event; comments and events without data are passed over."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n")
                 if line.startswith("data:")]
        if any(lines):
            yield "\n".join(lines)


def send(server, body, headers=None, method="POST", path="/mcp", token=True):
    answer = server.request(method, path, body, {**ACCEPT, **(headers or {})}, token)
    return Reply(answer.status, answer.headers, answer.body)


def post_modern(server, message, meta=None, capabilities=None, **changed):
    return send(server, enveloped(message, capabilities=capabilities, **(meta or {})),
                modern_headers(message, **changed))


class Stream:
    """An answer that goes on: events are read one by one, on a connection of its own."""

    def __init__(self, server, body=None, headers=None, path="/mcp"):
        self.connection = http.client.HTTPConnection(server.host, server.port,
                                                     timeout=COMMAND_SECONDS)
        sent = {**server.headers(), "Accept": "text/event-stream", **(headers or {})}
        content = None
        if body is not None:
            sent = {**sent, **ACCEPT, "Content-Type": "application/json"}
            content = json.dumps(body)
        self.connection.request("POST" if body is not None else "GET", path, content, sent)
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers

    def next_event(self):
        """The fields of the next event; None at the end."""
        fields = {}
        while line := self.response.readline().decode():
            line = line.rstrip("\r\n")
            if line and not line.startswith(":"):
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            elif not line and fields:
                return fields
        return None

    def next(self):
        """The next JSON-RPC message; None at the end."""
        while (event := self.next_event()) is not None:
            if event.get("data") and event.get("event", "message") == "message":
                return json.loads(event["data"])
        return None

    def answer_to(self, number):
        while (message := self.next()) is not None:
            if message.get("id") == number and "method" not in message:
                return message
        raise AssertionError(f"the stream ended without the answer to {number!r}")

    def close(self):
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session:
    """A legacy session: the handshake is done, and every request carries its id."""

    def __init__(self, server, revision=LEGACY[-1], capabilities=None):
        self.server, self.revision = server, revision
        message = initialize(0, revision)
        message["params"]["capabilities"] = capabilities or {}
        self.opening = send(server, message)
        assert self.opening.status == 200, self.opening
        self.id = self.opening.headers["Mcp-Session-Id"]
        assert self.id, f"no session: {self.opening.headers}"
        accepted = self.post(INITIALIZED)
        assert (accepted.status, accepted.body) == (202, b""), accepted

    @property
    def headers(self):
        return {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.revision}

    def post(self, body, **changed):
        return send(self.server, body, {**self.headers, **changed})

    def stream(self, body):
        return Stream(self.server, body, self.headers)

    def listen(self, **headers):
        return Stream(self.server, headers={**self.headers, **headers})

    def delete(self):
        return send(self.server, None, self.headers, method="DELETE")


class OldSession:
    """HTTP+SSE: answers come on the stream that was opened first."""

    def __init__(self, server, revision="2024-11-05"):
        self.server = server
        self.stream = Stream(server, path="/mcp/sse")
        assert self.stream.status == 200, self.stream.status
        event = self.stream.next_event()
        assert event["event"] == "endpoint", event
        self.path = event["data"]
        self.ask(initialize(0, revision))
        self.post(INITIALIZED)

    def post(self, body):
        reply = send(self.server, body, path=self.path)
        assert reply.status == 202, reply

    def ask(self, message):
        self.post(message)
        return self.stream.answer_to(message["id"])

    def close(self):
        self.stream.close()
