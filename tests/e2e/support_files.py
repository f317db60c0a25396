"""Talking to the files of one conversation over HTTP."""

import urllib.parse
import uuid

TOKENS = {"one": "bj_token_of_one_000000", "two": "bj_token_of_two_000000"}
SECRET = "a secret that both sides know"


def environment_for_files():
    """Two callers with names, and a secret that tests know."""
    listed = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    return {"BELLJAR_AUTH_TOKENS": listed, "FILE_SECRET": SECRET,
            "BELLJAR_FILES_LEGACY_URLS": "true"}


def as_caller(name):
    return {"Authorization": f"Bearer {TOKENS[name]}"}


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Files:
    """A conversation of its own, of the caller who is named, or of the one without a name."""

    def __init__(self, server, caller=None, name=None):
        self.server, self.caller = server, caller
        self.id = name or f"files {uuid.uuid4()}"
        self.top = f"/v1/conversations/{quoted(self.id)}"

    def ask(self, method, tail, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, bytes):
            named.setdefault("Content-Type", "application/octet-stream")
        if self.caller:
            named.update(as_caller(self.caller))
        return self.server.request(method, self.top + tail, body, named)

    def at(self, path):
        return "/files/" + urllib.parse.quote(path)

    def put(self, path, content, **headers):
        return self.ask("PUT", self.at(path), content, **headers)

    def get(self, path, **headers):
        return self.ask("GET", self.at(path), **headers)

    def delete(self, path, query="", **headers):
        return self.ask("DELETE", self.at(path) + query, **headers)

    def paths(self, query=""):
        answer = self.ask("GET", "/files" + query)
        assert answer.status == 200, answer
        return [file["path"] for file in answer.json["files"]]

    def sign(self, path, **wishes):
        answer = self.ask("POST", "/files:sign", {"path": path, **wishes})
        assert answer.status == 200, answer
        return answer.json

    def run(self, code, status="ok", **arguments):
        headers = as_caller(self.caller) if self.caller else None
        answer = self.server.request(
            "POST", "/execute", {"code": code, "conversation_id": self.id, **arguments}, headers)
        assert answer.status == 200, answer
        assert answer.json["status"] == status, answer
        return answer.json

    def upload(self, parts, query="", boundary="a-boundary"):
        return self.ask("POST", "/files" + query, form(parts, boundary),
                        Content_Type=f"multipart/form-data; boundary={boundary}")

    def load(self, archive, query=""):
        return self.ask("POST", "/import" + query, archive, Content_Type="application/zip")


def form(parts, boundary="a-boundary"):
    body = b""
    for name, content in parts:
        disposition = f'form-data; name="file"; filename="{name}"'
        body += (f"--{boundary}\r\nContent-Disposition: {disposition}\r\n"
                 "Content-Type: application/octet-stream\r\n\r\n").encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode()


def path_of(url):
    """What follows the host of an address."""
    return "/" + url.split("/", 3)[3]
