"""`POST /mcp`: both eras over HTTP."""

import base64

import pytest

from support_mcp import LEGACY, MODERN, call, initialize, modern, request

ACCEPT = {"Accept": "application/json, text/event-stream"}


def headers_for(message, **changed):
    headers = {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    if message["method"] == "tools/call":
        headers["Mcp-Name"] = message["params"]["name"]
    for name, value in changed.items():
        name = name.replace("_", "-")
        headers.pop(name, None)
        if value is not None:
            headers[name] = value
    return headers


def post_modern(server, message, revision=MODERN, **changed):
    headers = headers_for(message, **changed)
    return server.request("POST", "/mcp", modern(message, revision), headers)


def test_discovery(server):
    answer = post_modern(server, request(1, "server/discover"))
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    result = answer.json["result"]
    assert MODERN in result["supportedVersions"]
    assert "tools" in result["capabilities"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "belljar"


def test_modern_list(server):
    result = post_modern(server, request("a", "tools/list")).json["result"]
    assert {"execute_code", "get_sandbox_info"} <= {tool["name"] for tool in result["tools"]}


def test_modern_call(server):
    answer = post_modern(server, call(2, "print(6*7)"))
    assert answer.json["id"] == 2
    assert answer.json["result"]["structuredContent"]["stdout"] == "42\n"


def test_name_header_may_be_encoded(server):
    encoded = base64.b64encode(b"execute_code").decode()
    answer = post_modern(server, call(2, "6*7"), Mcp_Name=f"=?base64?{encoded}?=")
    assert answer.json["result"]["structuredContent"]["result"] == 42


@pytest.mark.parametrize("changed", [
    {"MCP_Protocol_Version": None}, {"MCP_Protocol_Version": LEGACY[-1]}, {"Mcp_Method": None},
    {"Mcp_Method": "tools/list"}, {"Mcp_Name": None}, {"Mcp_Name": "get_sandbox_info"},
    {"Mcp_Name": "=?base64?!!?="}], ids=str)
def test_headers_that_do_not_agree_are_refused(server, changed):
    answer = post_modern(server, call(2, "6*7"), **changed)
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32020
    assert answer.json["id"] == 2


def test_unknown_modern_revision_names_the_known(server):
    answer = post_modern(server, request(1, "server/discover"), revision="2099-01-01",
                         MCP_Protocol_Version="2099-01-01")
    assert answer.status == 400
    error = answer.json["error"]
    assert error["code"] == -32022
    assert MODERN in error["data"]["supported"] and error["data"]["requested"] == "2099-01-01"


def test_unknown_modern_method_is_404(server):
    answer = post_modern(server, request(1, "nonsense"))
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize("revision", LEGACY)
def test_legacy_conversation(server, revision):
    first = server.request("POST", "/mcp", initialize(1, revision), ACCEPT)
    assert (first.status, first.json["result"]["protocolVersion"]) == (200, revision)
    headers = {**ACCEPT, "MCP-Protocol-Version": revision}
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    accepted = server.request("POST", "/mcp", done, headers)
    assert (accepted.status, accepted.body) == (202, b"")
    tools = server.request("POST", "/mcp", request(2, "tools/list"), headers).json["result"]
    assert "execute_code" in {tool["name"] for tool in tools["tools"]}
    result = server.request("POST", "/mcp", call(3, "print(6*7)"), headers).json["result"]
    assert "42" in result["content"][0]["text"]
    assert not result.get("isError")


@pytest.mark.parametrize(("body", "code"), [
    (b"nonsense", -32700), (b"", -32700), (b"[" * 10_000, -32700), (b"\xff", -32700),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700), (b"5", -32600), (b"{}", -32600),
    (b"[]", -32600), (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600)])
def test_bad_message_is_a_json_rpc_error(server, body, code):
    answer = server.request("POST", "/mcp", body, ACCEPT)
    assert answer.status == 400
    assert answer.json["error"]["code"] == code
    assert answer.json["id"] is None
    assert len(answer.json["error"]["message"]) > 20


def test_other_content_is_415(server):
    answer = server.request("POST", "/mcp", b"{}", {**ACCEPT, "Content-Type": "text/plain"})
    assert answer.status == 415


def test_oversize_message_is_413(server):
    answer = server.request("POST", "/mcp", b'"' + b"x" * (16 << 20) + b'"', ACCEPT)
    assert answer.status == 413


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_other_methods_are_405(server, method):
    answer = server.request(method, "/mcp", headers={"Accept": "text/event-stream"})
    assert answer.status == 405 and answer.headers["Allow"] == "POST"


def test_failure_of_the_code_is_a_result(server):
    result = post_modern(server, call(1, "1/0")).json["result"]
    assert result["isError"] is True


def test_record_is_the_same_as_that_of_execute(server):
    record = post_modern(server, call(1, "6*7")).json["result"]["structuredContent"]
    assert set(record) == set(server.execute("6*7"))
