"""Who may talk to the server: tokens, host names, origins."""

import json
import os
import stat
import subprocess

import pytest

from support_binary import COMMAND_SECONDS, environment


def curl_line(greeting):
    return next(line.strip() for line in greeting.splitlines() if line.strip().startswith("curl "))


def run_curl(server):
    ended = subprocess.run(["bash", "-c", curl_line(server.greeting)], capture_output=True,
                           env=environment(), timeout=COMMAND_SECONDS, check=True)
    return json.loads(ended.stdout)


def assert_refused(answer, status):
    assert answer.status == status, answer
    assert answer.headers["Content-Type"] == "application/json"
    assert list(answer.json) == ["error"]
    assert len(answer.json["error"]) > 20


def test_printed_curl_line_works(own_server):
    server = own_server()
    assert server.token in server.greeting
    assert run_curl(server)["stdout"] == "42\n"


def test_printed_curl_line_works_without_authentication(open_server):
    assert "Authorization" not in open_server.greeting
    assert run_curl(open_server)["stdout"] == "42\n"


def test_printed_mcp_address_is_that_of_the_server(server):
    line = next(line for line in server.greeting.splitlines() if "claude mcp add" in line)
    assert f"http://{server.address}/mcp" in line
    assert "Authorization: Bearer " in line


def test_token_file_is_private(server):
    token_file = server.data_directory / "token"
    assert stat.S_IMODE(os.stat(token_file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(server.data_directory).st_mode) == 0o700
    assert len(server.token) >= 32


def test_token_is_printed_only_at_the_first_start(own_server):
    first = own_server()
    assert first.stop() == 0
    second = own_server(data_directory=first.data_directory)
    assert second.token == first.token
    assert second.token not in second.greeting + second.errors
    assert str(second.data_directory / "token") in second.greeting
    assert run_curl(second)["stdout"] == "42\n"


def test_token_is_never_in_the_log(own_server):
    server = own_server(env=environment(LOG_LEVEL="debug"))
    server.execute("1")
    server.request("GET", "/health", headers={"Authorization": "Bearer wrong"})
    assert server.token not in server.errors


def test_token_file_that_others_can_read_stops_the_start(own_server, place):
    data = place / "data"
    data.mkdir()
    (data / "token").write_text("x" * 40)
    (data / "token").chmod(0o644)
    with pytest.raises(AssertionError, match="chmod 600"):
        own_server(data_directory=data)


def test_token_from_the_environment(own_server):
    server = own_server(env=environment(MCP_API_TOKEN="a-token-of-the-operator"))
    assert "a-token-of-the-operator" not in server.greeting + server.errors
    server.token = "a-token-of-the-operator"
    assert server.execute("6*7")["result"] == 42


@pytest.mark.parametrize("authorization", [
    None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x",
    "Bearer {short}", "Bearer  {token}", "Bearer {token} {token}"])
@pytest.mark.parametrize(("method", "path"), [
    ("POST", "/execute"), ("POST", "/mcp"), ("GET", "/nothing")])
def test_wrong_token_is_refused(server, authorization, method, path):
    headers = {}
    if authorization is not None:
        headers["Authorization"] = authorization.format(token=server.token, short=server.token[:-1])
    answer = server.request(method, path, {"code": "1"}, headers, token=False)
    assert_refused(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_scheme_of_the_token_may_be_in_any_case(server):
    headers = {"Authorization": f"bEARER {server.token}"}
    answer = server.request("POST", "/execute", {"code": "1"}, headers, token=False)
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_health_needs_no_token(server, path):
    answer = server.request("GET", path, token=False)
    assert answer.status == 200
    assert answer.json["status"] in ("healthy", "ready")


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "",
    "localhost:{port}:80", "localhost@evil.example", "127.0.0.1:99999999", "[::1", "local host",
    "0x7f000001", "2130706433"])
@pytest.mark.parametrize("path", ["/health", "/execute"])
def test_foreign_host_is_refused(open_server, host, path):
    method = "GET" if path == "/health" else "POST"
    body = None if path == "/health" else {"code": "1"}
    answer = open_server.request(method, path, body, {"Host": host.format(port=open_server.port)})
    assert_refused(answer, 403)


@pytest.mark.parametrize("host", [
    "localhost", "LocalHost:{port}", "127.0.0.1", "127.0.0.1:{port}", "127.0.0.2", "[::1]:{port}",
    "[::1]", "10.1.2.3:80"])
def test_addresses_and_localhost_are_fine_hosts(open_server, host):
    headers = {"Host": host.format(port=open_server.port)}
    assert open_server.request("GET", "/health", None, headers).status == 200


@pytest.mark.parametrize("origin", [
    "http://evil.example", "https://evil.example:8080", "null", "", "file://", "localhost",
    "http://localhost.evil.example", "http://localhost@evil.example", "chrome-extension://abc"])
@pytest.mark.parametrize("path", ["/health", "/execute", "/mcp"])
def test_foreign_origin_is_refused(open_server, origin, path):
    method = "GET" if path == "/health" else "POST"
    answer = open_server.request(method, path, {"code": "1"}, {"Origin": origin})
    assert_refused(answer, 403)


@pytest.mark.parametrize("origin", [
    "http://localhost:1234", "http://localhost", "https://127.0.0.1:8443", "http://[::1]:3000"])
def test_origin_of_this_machine_is_fine(open_server, origin):
    answer = open_server.request("POST", "/execute", {"code": "6*7"}, {"Origin": origin})
    assert answer.status == 200 and answer.json["result"] == 42


def test_two_hosts_are_refused(open_server):
    head = (f"GET /health HTTP/1.1\r\nHost: {open_server.address}\r\nHost: evil.example\r\n"
            "Connection: close\r\n\r\n")
    assert open_server.raw(head.encode()).split(b" ", 2)[1] in (b"400", b"403")


def test_missing_host_is_refused(open_server):
    received = open_server.raw(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert received.split(b" ", 2)[1] in (b"400", b"403")


def test_two_origins_are_refused(open_server):
    head = (f"GET /health HTTP/1.1\r\nHost: {open_server.address}\r\nOrigin: http://localhost\r\n"
            "Origin: http://evil.example\r\nConnection: close\r\n\r\n")
    assert open_server.raw(head.encode()).split(b" ", 2)[1] in (b"400", b"403")


def test_allowed_host_is_fine(own_server):
    server = own_server(env=environment(BELLJAR_SERVER_ALLOWED_HOSTS="jars.example"))
    assert server.request("GET", "/health", headers={"Host": "jars.example"}).status == 200
    assert server.request("GET", "/health", headers={"Host": "evil.example"}).status == 403
