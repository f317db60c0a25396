"""Every operation of /openapi.json against every kind of caller, and callers against each other."""

import json
import subprocess
import uuid

import pytest

from support_binary import BINARY, COMMAND_SECONDS, environment, wait_until
from support_description import operations_of
from support_server import Server

USER = {"run:exec", "files:read", "files:write", "sessions", "packages"}
RIGHTS = {
    "user": USER,
    "operator": USER | {"metrics:read", "operate"},
    "auditor": {"metrics:read", "audit:read"},
    "admin": USER | {"metrics:read", "operate", "audit:read", "admin"},
    "some-tools": set(),  # a tool set: only what needs no right at all
}
# Not asked for by those who may: it would end the work of the tests that share the server.
ENDS_WORK = {"setDrain"}
# Needs no token, but a signature.
SIGNED = {"getSignedFile"}
# Streams do not end by themselves: the head of the answer is enough.
HEAD_SECONDS = 20


def make_token(server, name, *options):
    ended = subprocess.run(
        [str(BINARY), "token", "create", name, *options, "--data-dir", server.data_directory],
        capture_output=True, env=environment(), timeout=COMMAND_SECONDS, check=True)
    return ended.stdout.decode().strip()


class Asker:
    def __init__(self, server, token):
        self.server, self.token = server, token

    def ask(self, method, path, body=None, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        return self.server.request(method, path, body, sent, token=False)

    def status(self, operation):
        """Of an answer that may be a stream without an end."""
        body = b"{}" if operation.has_body else b""
        lines = [f"{operation.method} {operation.at()} HTTP/1.1", f"Host: {self.server.address}",
                 f"Content-Length: {len(body)}", "Content-Type: application/json",
                 "Accept: application/json, text/event-stream"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        with self.server.connect() as connection:
            connection.settimeout(HEAD_SECONDS)
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            received = b""
            while b"\r\n" not in received:
                received += connection.recv(4096)
        return int(received.split(b" ", 2)[1])


@pytest.fixture(scope="module")
def shared(session_place):
    started = Server(session_place / "matrix")
    started.settle()
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def operations(shared):
    return operations_of(shared)


@pytest.fixture(scope="module")
def askers(shared):
    brief = make_token(shared, "brief", "--expires", "1s")
    found = {role: Asker(shared, make_token(shared, f"of-{role}", "--role", role))
             for role in RIGHTS}
    expired = Asker(shared, brief)
    wait_until(lambda: expired.ask("GET", "/v1/runners").status == 401, "the token expires", 20)
    return found | {"nobody": Asker(shared, None), "liar": Asker(shared, "wrong"),
                    "late": expired}


@pytest.mark.parametrize("who", ["nobody", "liar", "late"])
def test_without_a_token_nothing_guarded_answers(operations, askers, who):
    for operation in operations:
        status = askers[who].status(operation)
        if operation.id in SIGNED:
            assert status == 403, (operation, status)
        elif operation.open:
            assert status not in (401, 403), (operation, status)
        else:
            assert status == 401, (operation, status)


@pytest.mark.parametrize("role", RIGHTS)
def test_a_role_may_do_what_its_rights_say(operations, askers, role):
    for operation in operations:
        allowed = operation.rights <= RIGHTS[role]
        if allowed and operation.id in ENDS_WORK or operation.id in SIGNED:
            continue
        status = askers[role].status(operation)
        assert (status == 403) == (not allowed), (role, operation, status)
        assert status != 401 and status < 500, (role, operation, status)
    if "sessions" in RIGHTS[role]:
        for one in askers[role].ask("GET", "/v1/sessions").json["sessions"]:
            assert askers[role].ask("DELETE", f"/v1/sessions/{one['session_id']}").status == 200


def test_refusals_have_the_shape_of_their_path(operations, askers):
    for operation in operations:
        if operation.open:
            continue
        answer = askers["nobody"].ask(operation.method, operation.at())
        native = operation.path.startswith("/v1/")
        assert answer.headers["Content-Type"] == (
            "application/problem+json" if native else "application/json"), operation
        assert isinstance(answer.json["error"], str)
        if native:
            assert answer.json["status"] == 401 and answer.json["code"] == "unauthenticated"


# What is one caller's is nobody else's


class Belongings:
    """One of everything, made by one caller."""

    def __init__(self, asker):
        self.conversation_id = f"secret {uuid.uuid4()}"
        run = self.made(asker.ask("POST", "/v1/runs", {
            "code": "open('a.txt', 'w').write('mine')\nprint('x' * 3_000_000)",
            "conversation_id": self.conversation_id}))
        assert run["full_output"] and run["files"], run
        self.run_id = run["execution_id"]
        self.session_id = self.made(asker.ask("POST", "/v1/sessions", {}))["session_id"]
        begun = self.made(asker.ask("POST", "/v1/runs", {
            "code": "import time\ntime.sleep(240)", "timeout": 240, "background": True}))
        self.background_id = begun["execution_id"]
        self.key = str(uuid.uuid4())
        self.first = self.made(asker.ask("POST", "/v1/runs", {"code": "1"},
                                         Idempotency_Key=self.key))["execution_id"]

    @staticmethod
    def made(answer):
        assert answer.status in (200, 201, 202), answer
        return answer.json

    def values(self):
        quoted = self.conversation_id.replace(" ", "%20")
        return [{"run_id": self.run_id, "session_id": self.session_id,
                 "conversation_id": quoted, "path": "a.txt"},
                {"run_id": self.background_id, "session_id": self.session_id,
                 "conversation_id": quoted, "path": "a.txt"}]


INVENTED = {"run_id": str(uuid.uuid4()), "session_id": str(uuid.uuid4()),
            "conversation_id": f"secret%20{uuid.uuid4()}", "path": "a.txt"}


@pytest.fixture(scope="module")
def both(shared):
    owner = Asker(shared, make_token(shared, "ann"))
    other = Asker(shared, make_token(shared, "ben"))
    things = Belongings(owner)
    yield owner, other, things
    owner.ask("POST", f"/v1/runs/{things.background_id}/cancel")
    wait_until(lambda: owner.ask("GET", f"/v1/runs/{things.background_id}").json["state"]
               == "ended", "the run ends", 30)
    owner.ask("DELETE", f"/v1/sessions/{things.session_id}")


def seen(answer):
    headers = {name: value for name, value in answer.headers.items() if name != "Date"}
    return answer.status, headers, answer.body


def test_what_belongs_to_another_does_not_exist(operations, both):
    _, other, things = both
    asked = set()
    for operation in operations:
        named = set(operation.variables) & set(INVENTED)
        makes = operation.method == "PUT" or operation.id in MAKES
        if not named or makes or operation.rights - USER:
            continue
        asked.add(operation.id)
        body = {} if operation.has_body else None
        absent = other.ask(operation.method, operation.at(**INVENTED), body)
        assert 400 <= absent.status < 500, (operation, absent)
        for values in things.values():
            answer = other.ask(operation.method, operation.at(**values), body)
            assert seen(answer) == seen(absent), operation
    assert {"getFile", "deleteFile", "moveFile", "listFiles", "archiveFiles"} <= asked
    assert {"getRun", "cancelRun", "followRun", "listOutput", "getStdout", "getSession",
            "endSession", "forkSession", "getConversation", "deleteConversation"} <= asked


# Operations that make what they name, for whoever asks: in the caller's own place.
MAKES = {"uploadFiles", "importArchive", "makeDirectory", "signFile"}


def test_lists_hold_nothing_of_another(both):
    _, other, things = both
    for path in ("/v1/runs", "/v1/sessions", "/v1/conversations",
                 f"/v1/runs?session_id={things.session_id}"):
        answer = other.ask("GET", path)
        assert answer.status == 200, answer
        for text in (things.run_id, things.session_id, things.conversation_id,
                     things.background_id, "ann"):
            assert text not in answer.body.decode(), (path, text)


def test_a_key_of_another_says_nothing(both):
    owner, other, things = both
    again = owner.ask("POST", "/v1/runs", {"code": "1"}, Idempotency_Key=things.key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json["execution_id"] == things.first
    own = other.ask("POST", "/v1/runs", {"code": "1"}, Idempotency_Key=things.key)
    assert own.status == 200 and own.headers["Idempotency-Replayed"] is None
    assert own.json["execution_id"] != things.first


def test_the_same_conversation_id_is_another_conversation(both):
    owner, other, things = both
    listing = {"code": "import os\nos.listdir('.')", "conversation_id": things.conversation_id}
    assert other.ask("POST", "/v1/runs", listing).json["result"] == []
    assert owner.ask("POST", "/v1/runs", listing).json["result"] == ["a.txt"]
    path = "/v1/conversations/" + things.conversation_id.replace(" ", "%20")
    assert other.ask("DELETE", path).status in (204, 404)
    assert owner.ask("POST", "/v1/runs", listing).json["result"] == ["a.txt"]


def test_a_session_of_another_cannot_be_entered(both):
    _, other, things = both
    refused = [other.ask("POST", "/v1/runs", {"code": "1", "session_id": one})
               for one in (things.session_id, INVENTED["session_id"])]
    assert refused[0].status == 404 and seen(refused[0]) == seen(refused[1])


def test_everything_is_still_there_for_its_owner(both):
    owner, _, things = both
    for path in (f"/v1/runs/{things.run_id}", f"/v1/runs/{things.run_id}/output/stdout",
                 f"/v1/sessions/{things.session_id}"):
        assert owner.ask("GET", path).status == 200, path
    running = owner.ask("GET", f"/v1/runs/{things.background_id}")
    assert running.json["state"] in ("queued", "running"), json.dumps(running.json)
