"""Clients of both eras over HTTP that ask one thing at a time, each with a principal's token."""

import json

from support_events import Event, EventStream
from support_mcp import MODERN, initialize, modern, request

ACCEPT = {"Accept": "application/json, text/event-stream"}
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def token_headers(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


class MessageStream(EventStream):
    """Passes over events that only give the client an id to come back with."""

    def next(self):
        while (block := self.next_block()) is not None:
            data = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
            if data and data[0]:
                return Event("message", json.loads(data[0]), "")
        return None


class ModernClient:
    """Every request stands alone."""

    def __init__(self, server, token=None):
        self.server, self.token = server, token

    def headers(self, method, params):
        named = {"Mcp-Name": params[NAMED_BY[method]]} if method in NAMED_BY else {}
        return {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named,
                **token_headers(self.token)}

    def send(self, method, params):
        return self.server.request("POST", "/mcp", modern(request(1, method, **params)),
                                   self.headers(method, params)).json

    def ask(self, method, **params):
        answer = self.send(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def refusal(self, method, **params):
        answer = self.send(method, params)
        assert "error" in answer, answer
        return answer["error"]

    def tool(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)

    def listen(self, **wishes):
        """A stream whose first message, which says that it is heard, has been read."""
        params = {"notifications": wishes}
        stream = EventStream(self.server, modern(request(9, "subscriptions/listen", **params)),
                             path="/mcp", headers=self.headers("subscriptions/listen", params))
        first = stream.next().data
        assert first["method"] == "notifications/subscriptions/acknowledged", first
        return stream

    def close(self):
        pass


class LegacyClient(ModernClient):
    """One session."""

    def __init__(self, server, token=None):
        super().__init__(server, token)
        self.session = None
        answer = server.request("POST", "/mcp", initialize(),
                                {**ACCEPT, **token_headers(token)})
        self.session = answer.headers["Mcp-Session-Id"]

    def headers(self, method, params):
        del method, params
        return {**ACCEPT, "Mcp-Session-Id": self.session, **token_headers(self.token)}

    def send(self, method, params):
        answer = self.server.request("POST", "/mcp", request(1, method, **params),
                                     self.headers(method, params))
        if answer.headers["Content-Type"] == "application/json":
            return answer.json
        events = [line[6:] for line in answer.body.decode().split("\n")
                  if line.startswith("data: ") and len(line) > 6]
        return json.loads(events[-1])

    def listen(self, resourceSubscriptions=(), **wishes):
        del wishes  # a session is told of its lists without asking
        for uri in resourceSubscriptions:
            self.ask("resources/subscribe", uri=uri)
        return MessageStream(self.server, path="/mcp", headers=self.headers("", {}))

    def close(self):
        self.server.request("DELETE", "/mcp", headers=self.headers("", {}))


CLIENTS = {"modern": ModernClient, "legacy": LegacyClient}
