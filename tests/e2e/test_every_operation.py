"""Every operation of /openapi.json does its work at least once, on the real server."""

import io
import re
import typing
import zipfile

import pytest

from support_description import operations_of
from support_server import Server

JSON_RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
              "io.modelcontextprotocol/clientCapabilities": {}}}}
MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
       "Mcp-Method": "tools/list"}
EVENTS = {"Accept": "text/event-stream"}
BYTES = {"Content-Type": "application/octet-stream"}
FORM = {"Content-Type": "multipart/form-data; boundary=line"}
PARTS = (b'--line\r\nContent-Disposition: form-data; name="file"; filename="b.txt"\r\n\r\n'
         b"12345\r\n--line--\r\n")
ROOM = "/v1/conversations/{room}"


def archive():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("c.txt", "12345")
    return made.getvalue()


class Try(typing.NamedTuple):
    """One request, in the order of the list; {names} are what was made before."""

    operation: str
    path: str
    status: int = 200
    body: typing.Any = None
    headers: typing.Any = None
    keeps: typing.Any = {}  # name: member of the answer


TRIES = [
    Try("getHealth", "/health"),
    Try("getReadiness", "/ready"),
    Try("getMetrics", "/metrics"),
    Try("getDescription", "/openapi.json"),
    Try("getDocs", "/docs"),
    Try("getDocsStyle", "/docs/docs.css"),
    Try("getDocsScript", "/docs/docs.js"),
    # Its files have names that hold hashes; tests/web gets every one of them.
    Try("getWebFile", "/assets/none.js", 404),
    Try("getCaller", "/v1/caller"),
    Try("listRunners", "/v1/runners"),
    Try("getRunner", "/v1/runners/python"),
    # Without an authorization server there is nothing to tell; test_authorization.py has one.
    Try("getProtectedResource", "/.well-known/oauth-protected-resource", 404),
    Try("getProtectedMcp", "/.well-known/oauth-protected-resource/mcp", 404),
    Try("introduce", "/"),
    Try("execute", "/execute", body={"code": "6*7"}),
    Try("installPackage", "/pip_install", body={"package": "numpy"}),
    Try("installPackageAtOtherPath", "/pip/install", body={"package": "numpy"}),
    Try("runCodeAsSandboxFusion", "/run_code", body={"code": "1", "language": "python"}),
    Try("ping", "/v1/ping"),
    Try("listPistonRuntimes", "/api/v2/runtimes"),
    Try("executeAsPiston", "/api/v2/execute", body={
        "language": "python", "version": "*", "files": [{"content": "print(1)"}]}),
    Try("createRun", "/v1/runs", body={"code": "import sys\nprint('x' * 3_000_000)\n"
                                       "print('y' * 3_000_000, file=sys.stderr)"},
        keeps={"run": "execution_id"}),
    Try("createRuns", "/v1/runs:batch", body={"runs": [{"code": "1"}]}),
    Try("previewRun", "/v1/policy/preview", body={"code": "1"}),
    Try("getPolicy", "/v1/policy"),
    Try("validateCode", "/v1/policy/validate", body={"code": "import os"}),
    Try("approveCode", "/v1/policy/approvals", 201, {"code_sha256": "0" * 64}),
    Try("listRuns", "/v1/runs"),
    Try("getRun", "/v1/runs/{run}"),
    Try("followRun", "/v1/runs/{run}/events", headers=EVENTS),
    Try("listOutput", "/v1/runs/{run}/output"),
    Try("getStdout", "/v1/runs/{run}/output/stdout"),
    Try("getStderr", "/v1/runs/{run}/output/stderr"),
    Try("createRun", "/v1/runs", 202, {"code": "import time\ntime.sleep(30)", "background": True},
        keeps={"running": "execution_id"}),
    Try("cancelRun", "/v1/runs/{running}/cancel", 202),
    Try("queryAudit", "/v1/audit"),
    Try("listTrail", "/v1/audit/records"),
    Try("getTrailChain", "/v1/audit/chain"),
    Try("verifyTrail", "/v1/audit/verification", 202),
    Try("getTrailVerification", "/v1/audit/verification"),
    Try("getTrailKey", "/v1/audit/key"),
    Try("eraseFromTrail", "/v1/audit/erasures", body={"principal": "nobody"}),
    Try("createSession", "/v1/sessions", 201, {}, keeps={"session": "session_id"}),
    Try("createRun", "/v1/runs", body={"code": "1", "session_id": "{session}"}),
    Try("listSessions", "/v1/sessions"),
    Try("getSession", "/v1/sessions/{session}"),
    Try("compareSession", "/v1/sessions/{session}/diff"),
    Try("undoCells", "/v1/sessions/{session}/undo"),
    Try("forkSession", "/v1/sessions/{session}/fork", keeps={"fork": "session_id"}),
    Try("resetSession", "/v1/sessions/{session}/reset"),
    Try("endSession", "/v1/sessions/{session}"),
    Try("endSession", "/v1/sessions/{fork}"),
    Try("createConversation", "/v1/conversations", 201, {}, keeps={"room": "conversation_id"}),
    Try("listConversations", "/v1/conversations"),
    Try("getConversation", "/v1/conversations/{room}"),
    Try("getUsage", "/v1/usage"),
    Try("putFile", ROOM + "/files/a.txt", 201, b"12345", BYTES),
    Try("listFiles", ROOM + "/files"),
    Try("getFile", ROOM + "/files/a.txt"),
    Try("signFile", ROOM + "/files:sign", body={"path": "a.txt"}, keeps={"signed": "url"}),
    Try("getSignedFile", "{signed}"),
    Try("uploadFiles", ROOM + "/files", 201, PARTS, FORM),
    Try("importArchive", ROOM + "/import", 201, archive(), {"Content-Type": "application/zip"}),
    Try("archiveFiles", ROOM + "/archive"),
    Try("moveFile", ROOM + "/files/a.txt", body={"to": "d.txt"}),
    Try("deleteFile", ROOM + "/files/d.txt", 204),
    Try("deleteConversation", "/v1/conversations/{room}", 204),
    Try("createRun", "/v1/runs", 202, {"code": "import time\ntime.sleep(30)", "background": True},
        keeps={"other": "execution_id"}),
    Try("listAllRuns", "/v1/admin/runs"),
    Try("killRun", "/v1/admin/runs/{other}", 202),
    Try("createSession", "/v1/sessions", 201, {}, keeps={"alien": "session_id"}),
    Try("listAllSessions", "/v1/admin/sessions"),
    Try("killSession", "/v1/admin/sessions/{alien}", 204),
    Try("setDrain", "/v1/admin/drain", body={"draining": True}),
    Try("getDrain", "/v1/admin/drain"),
    Try("setDrain", "/v1/admin/drain", body={"draining": False}),
    Try("getQuota", "/v1/admin/quota"),
    Try("listUsage", "/v1/admin/usage"),
    Try("createToken", "/v1/admin/tokens", 201, {"name": "made"}),
    Try("listTokens", "/v1/admin/tokens"),
    Try("getToken", "/v1/admin/tokens/made"),
    Try("changeToken", "/v1/admin/tokens/made", body={"roles": ["auditor"]}),
    Try("revokeToken", "/v1/admin/tokens/made", 204),
    Try("listAlerts", "/v1/alerts"),
    Try("blockPrincipal", "/v1/admin/blocks", 201, {"principal": "made", "seconds": 60}),
    Try("listBlocks", "/v1/admin/blocks"),
    Try("liftBlock", "/v1/admin/blocks/made", 204),
    Try("putFile", "/v1/conversations/evidence/files/a.txt", 201, b"12345", BYTES),
    Try("quarantineConversation", "/v1/admin/quarantines", 201,
        {"principal": "", "conversation_id": "evidence"}),
    Try("listQuarantines", "/v1/admin/quarantines"),
    Try("listQuarantinedFiles", "/v1/admin/quarantines/-/evidence/files"),
    Try("getQuarantinedFile", "/v1/admin/quarantines/-/evidence/files/a.txt"),
    Try("liftQuarantine", "/v1/admin/quarantines/-/evidence", 204),
    Try("getConfiguration", "/v1/admin/config"),
    Try("getVersion", "/v1/admin/version"),
    Try("getDiagnostics", "/v1/admin/diagnostics"),
    Try("listAllConversations", "/v1/admin/conversations"),
    Try("applyRetention", "/v1/admin/retention", body={"mode": "dry_run"}),
    Try("postMcp", "/mcp", body=JSON_RPC, headers=MCP),
    Try("postMcpV1", "/mcp/v1", body=JSON_RPC, headers=MCP),
    Try("postMcpAtRoot", "/", body=JSON_RPC, headers=MCP),
    Try("postSseMessage", "/mcp/messages?sessionId=none", 404, JSON_RPC),
]
# Streams without an end, each with the file that reads one.
ELSEWHERE = {"watchRuns": "test_streaming.py", "listenMcp": "test_mcp_http.py",
             "listenMcpV1": "test_mcp_http.py", "listenSse": "test_mcp_http.py",
             "endMcp": "test_mcp_sessions.py", "endMcpV1": "test_mcp_sessions.py"}


def filled(value, world):
    """With what was made before in place of {names}."""
    if isinstance(value, dict):
        return {name: filled(one, world) for name, one in value.items()}
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: world[found.group(1)], value)
    return value


def matches(operation, path):
    pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(operation.path))
    return re.fullmatch(pattern, path.split("?")[0])


@pytest.fixture
def busy_server(place):
    started = Server(place / "server")
    started.settle()
    yield started
    assert started.stop() == 0


def test_every_operation_works(busy_server):
    known = {one.id: one for one in operations_of(busy_server)}
    assert set(known) <= {one.operation for one in TRIES} | set(ELSEWHERE)
    world = {}
    for one in (one for one in TRIES if one.operation in known):
        operation, path = known[one.operation], filled(one.path, world)
        path = path.removeprefix(f"http://{busy_server.address}")
        assert matches(operation, path), (one, path)
        answer = busy_server.request(operation.method, path, filled(one.body, world), one.headers)
        assert answer.status == one.status, (one, answer)
        world |= {name: answer.json[member] for name, member in one.keeps.items()}
