"""Reading server-sent events off a raw connection, so that a test decides when it reads."""

import http.client
import json
import socket
import typing

from support_binary import COMMAND_SECONDS


class Event(typing.NamedTuple):
    name: str
    data: object
    id: str


def parse_event(block):
    fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
    if not fields:
        return None
    return Event(fields["event"], json.loads(fields["data"]), fields.get("id", ""))


class EventStream:
    """The answer to one request, as it comes. A body is posted; without one it is a GET."""

    def __init__(self, server, body=None, path="/v1/runs", connection=None, version="HTTP/1.1",
                 receive_buffer=None, headers=None):
        self.connection = connection or self.connect(server, receive_buffer)
        self.connection.sendall(self.request_bytes(server, body, path, version, headers or {}))
        self.response = http.client.HTTPResponse(self.connection)
        self.response.begin()
        self.status, self.headers = self.response.status, self.response.headers
        self.pending = ""

    @staticmethod
    def connect(server, receive_buffer):
        connection = socket.socket()
        connection.settimeout(COMMAND_SECONDS)
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.connect((server.host, server.port))
        return connection

    @staticmethod
    def request_bytes(server, body, path, version, headers):
        content = json.dumps(body).encode() if body is not None else b""
        sent = {"Host": server.address, "Accept": "text/event-stream", **server.headers(),
                **headers}
        if body is not None:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        method = "GET" if body is None else "POST"
        lines = [f"{method} {path} {version}", *(f"{key}: {sent[key]}" for key in sent)]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.response.close()
        self.connection.close()

    def next_block(self):
        """The text up to the next empty line; None at the end."""
        while True:
            line = self.response.readline().decode()
            if not line:
                return None
            if line == "\n":
                block, self.pending = self.pending, ""
                return block.rstrip("\n")
            self.pending += line

    def next(self):
        """The next event; comments are passed over. None at the end."""
        while (block := self.next_block()) is not None:
            event = parse_event(block)
            if event:
                return event
        return None

    def rest(self):
        return list(iter(self.next, None))

    def rest_raw(self):
        blocks = iter(self.next_block, None)
        return "".join(block + "\n\n" for block in blocks)
