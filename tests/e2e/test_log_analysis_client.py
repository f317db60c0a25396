"""What a client of a log-analysis gateway sends to POST /mcp/v1, one request after the other, with
the answers that its documents show."""

import gzip
import json
import subprocess

import pytest

from support_binary import BINARY, COMMAND_SECONDS, environment
from support_server import Server
from support_tools import make_token

LINE = ("User john@example.com at 192.168.1.1 called 123-456-7890 ssn 123-45-6789 "
        "cc 4532-1234-5678-9010")
CLEAN = ("User [EMAIL_REDACTED] at [IP_REDACTED] called [PHONE_REDACTED] ssn [SSN_REDACTED] "
         "cc [CC_REDACTED]")
ALLOWED = sorted("""log_store privacy workspace skills tool_discovery json re math datetime
collections itertools functools operator string textwrap unicodedata statistics random hashlib
base64 copy pprint enum dataclasses typing time csv""".split())
TOOLS = {"execute_code", "get_available_tools", "log_store", "privacy", "workspace",
         "get_workspace_info", "skills", "list_skills", "run_skill", "tool_discovery",
         "list_available_tools", "search_tools"}


@pytest.fixture(scope="module")
def gateway(session_place):
    logs = session_place / "gateway-logs"
    logs.mkdir()
    (logs / "payment-service.log").write_text(
        "".join(f"2099-01-01T00:00:{second:02d}Z {level} {text}\n" for second, level, text in [
            (1, "INFO", "started"), (2, "ERROR", f"PaymentTimeout: {LINE}"),
            (3, "WARN", "slow"), (4, "ERROR", "KeyError: amount")]))
    with gzip.open(logs / "payment-service.log.1.gz", "wt") as file:
        file.write("2098-12-31T00:00:00Z ERROR PaymentTimeout: older\n")
    env = environment(BELLJAR_TOOLS_LOGS_PATH=str(logs), BELLJAR_TOOLS_DIALECTS="log-analysis")
    server = Server(session_place / "gateway", env=env)
    server.settle()
    yield server
    assert server.stop() == 0


class Client:
    """As the documents have it: one POST for each request, and nothing besides the token."""

    def __init__(self, server, token=None, path="/mcp/v1"):
        self.server, self.path, self.count = server, path, 0
        self.headers = {"Authorization": f"Bearer {token or server.token}",
                        "Content-Type": "application/json"}

    def ask(self, method, **params):
        self.count += 1
        body = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        answer = self.server.request("POST", self.path, body, self.headers, token=False)
        assert answer.status == 200, answer
        assert answer.json["jsonrpc"] == "2.0" and answer.json["id"] == self.count
        return answer.json

    def result(self, tool, /, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def text(self, tool, /, **arguments):
        result = self.result(tool, **arguments)
        assert not result.get("isError"), result
        block = result["content"][0]
        assert block["type"] == "text"
        return block["text"]

    def value(self, tool, /, **arguments):
        """What a function returned that is no text."""
        return json.loads(self.text(tool, **arguments))

    def error(self, tool, /, **arguments):
        result = self.result(tool, **arguments)
        assert result["isError"] is True, result
        return result["content"][0]["text"]

    def run(self, code, **arguments):
        told = self.value("execute_code", code=code, **arguments)
        assert told.keys() == {"success", "output", "error", "truncated"}
        return told


@pytest.fixture
def client(gateway):
    return Client(gateway)


def test_the_whole_conversation(client):
    began = client.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                       clientInfo={"name": "log-analysis-client", "version": "1.0.0"})["result"]
    assert began.keys() >= {"protocolVersion", "capabilities", "serverInfo"}
    assert "tools" in began["capabilities"]
    listed = client.ask("tools/list")["result"]["tools"]
    assert {tool["name"] for tool in listed} >= TOOLS
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in listed)
    search_logs(client)
    scrub(client)
    keep_files(client)
    keep_checkpoints(client)
    keep_skills(client)
    discover(client)
    run_programs(client)
    assert client.ask("resources/nonsense")["error"]["code"] == -32601
    assert client.ask("tools/call", name="make_coffee", arguments={})["error"]["code"] == -32602
    assert client.count >= 50


def search_logs(client):
    found = client.value("log_store", function="search_logs", service_name="payment-service",
                         keyword="error", limit=2)
    assert [line.split()[1:3] for line in found] == [["ERROR", "PaymentTimeout:"],
                                                     ["ERROR", "KeyError:"]]
    # search_logs is what log_store does without a function.
    assert len(client.value("log_store", service_name="payment-service", keyword="ERROR")) == 3
    assert client.value("log_store", service_name="payment-service", keyword="xyzzy") == [
        "No logs found for service 'payment-service' matching 'xyzzy'"]
    assert client.value("log_store", service_name="payment-service", keyword="", limit=5,
                        log_level="WARNING") == ["2099-01-01T00:00:03Z WARN slow"]
    told = client.value("log_store", function="get_error_summary",
                        service_name="payment-service", hours=24)
    assert told == {"service": "payment-service", "time_range_hours": 24, "total_errors": 3,
                    "errors_by_type": {"PaymentTimeout": 2, "KeyError": 1},
                    "most_frequent_error": "PaymentTimeout", "error_rate_per_hour": 0.12}
    tail = client.value("log_store", function="tail_logs", service_name="payment-service", lines=1)
    assert tail == ["2099-01-01T00:00:04Z ERROR KeyError: amount"]
    assert "ValueError" in client.error("log_store", service_name="../etc/passwd", keyword="x")


def scrub(client):
    assert client.text("privacy", text=LINE) == CLEAN
    assert client.text("privacy", function="scrub_emails", text="a@b.de", replacement="*") == "*"
    for function, text, clean in [
            ("scrub_phone_numbers", "call 123-456-7890", "call [PHONE_REDACTED]"),
            ("scrub_ssn", "ssn 123-45-6789", "ssn [SSN_REDACTED]"),
            ("scrub_credit_cards", "cc 4532-1234-5678-9010", "cc [CC_REDACTED]"),
            ("scrub_ip_addresses", "at 192.168.1.1", "at [IP_REDACTED]")]:
        assert client.text("privacy", function=function, text=text) == clean
    report = client.value("privacy", function="create_privacy_report", original=LINE,
                          scrubbed=CLEAN)
    assert report.keys() >= {"original_length", "scrubbed_length", "emails_removed",
                             "redaction_count", "safety_check"}
    text, names = client.value("privacy", function="anonymize_names", text="Ada Lovelace left")
    assert text == "User-A left" and list(names.values()) == ["User-A"]


def keep_files(client):
    info = client.value("get_workspace_info")
    assert info.keys() == {"workspace_path", "exists", "file_count", "directory_count",
                           "used_bytes", "max_bytes", "used_percent", "max_file_size",
                           "allowed_extensions"}
    assert (info["max_file_size"], info["max_bytes"]) == (10 << 20, 100 << 20)
    client.value("workspace", function="write_file", filepath="notes/a.md", content="kept")
    assert client.text("workspace", function="read_file", filepath="notes/a.md") == "kept"
    assert client.value("workspace", function="list_files", recursive=True) == ["notes/a.md"]
    assert client.value("workspace", function="file_exists", filepath="notes/a.md") is True
    assert "FileExistsError" in client.error("workspace", function="write_file", overwrite=False,
                                             filepath="notes/a.md", content="again")
    assert "PermissionError" in client.error("workspace", function="read_file",
                                             filepath="../../etc/passwd")
    assert "ValueError" in client.error("workspace", function="write_file", filepath="x.exe",
                                        content="x")
    client.value("workspace", function="create_directory", directory="results")
    assert client.value("workspace")["directory_count"] == 2
    client.value("workspace", function="delete_file", filepath="notes/a.md")
    assert client.value("workspace", function="file_exists", filepath="notes/a.md") is False


def keep_checkpoints(client):
    client.value("workspace", function="save_checkpoint", name="step1", data={"done": [1, 2]})
    assert client.value("workspace", function="load_checkpoint", name="step1") == {"done": [1, 2]}
    assert client.value("workspace", function="list_checkpoints") == ["step1"]
    client.value("workspace", function="delete_checkpoint", name="step1")
    assert client.value("workspace", function="list_checkpoints") == []
    assert "FileNotFoundError" in client.error("workspace", function="load_checkpoint",
                                               name="step1")


def keep_skills(client):
    client.value("skills", function="save_skill", name="top_errors", description="Counts errors",
                 code="def top_errors(service):\n    import log_store\n"
                      "    return log_store.get_error_summary(service)['total_errors']\n")
    listed = client.value("list_skills")
    assert listed == [{"name": "top_errors", "description": "Counts errors", "version": "1.0.0"}]
    assert client.value("run_skill", name="top_errors", service="payment-service") == 3
    assert client.value("skills", function="search_skills", query="counts") == listed
    client.value("skills", function="update_skill", name="top_errors", version="1.1.0")
    skill = client.value("skills", function="get_skill", name="top_errors")
    assert skill["version"] == "1.1.0" and skill["code"].startswith("def top_errors")
    assert "ValueError" in client.error("skills", function="save_skill", name="../x", code="1")
    client.value("skills", function="delete_skill", name="top_errors")
    assert client.value("skills") == []


def discover(client):
    told = client.value("list_available_tools")
    assert told.keys() == {"tools", "total_functions", "stubs_generated"}
    assert set(told["tools"]) == {"log_store", "privacy", "workspace", "skills", "tool_discovery"}
    assert client.value("get_available_tools")["total_functions"] == told["total_functions"]
    found = client.value("search_tools", query="scrub email")
    assert found[0].keys() == {"module", "name", "signature", "description"}
    assert ("privacy", "scrub_emails") in {(one["module"], one["name"]) for one in found}
    info = client.value("tool_discovery", function="get_tool_info", module="log_store",
                        name="search_logs")
    assert info["signature"].startswith("search_logs(service_name: str, keyword: str, limit: int=")
    client.value("tool_discovery", function="generate_tool_stubs")
    paths = client.value("workspace", function="list_files", directory="tools", recursive=True)
    assert {"tools/index.py", "tools/privacy/__init__.py", "tools/privacy/scrub_emails.py",
            "tools/.tool_stubs_generated"} <= set(paths)
    assert client.value("tool_discovery")["stubs_generated"] is True


def run_programs(client):
    assert client.run("print(6 * 7)") == {"success": True, "output": "42\n", "error": None,
                                          "truncated": False}
    # The modules are there without an import, with one, and as parts of a package.
    told = client.run("import tools.log_store as logs\nfrom privacy import scrub_all_pii\n"
                      "for line in logs.search_logs('payment-service', 'ERROR', limit=2)[:1]:\n"
                      "    print(scrub_all_pii(line), len(log_store.list_services()))")
    assert told["output"] == f"2099-01-01T00:00:02Z ERROR PaymentTimeout: {CLEAN} 1\n", told
    for code, error in [
            ("", "No code provided"),
            ("import os", "Import error: Import of 'os' is not allowed. Allowed modules: "
                          + ", ".join(ALLOWED)),
            ("from subprocess import run", "Import error: Import of 'subprocess' is not allowed. "
                                           "Allowed modules: " + ", ".join(ALLOWED)),
            ("x ==", "Syntax error at line 1: invalid syntax"),
            ("1 / 0", "ZeroDivisionError: division by zero")]:
        told = client.run(code)
        assert told["success"] is False and told["error"] == error
    told = client.run("print('begun')\nwhile True: pass", timeout=1)
    assert (told["output"], told["error"]) == ("begun\n",
                                               "Code execution timed out after 1 seconds")
    told = client.run("print('x' * 150_000)")
    assert told["truncated"] is True and told["output"].endswith(
        "\n... [OUTPUT TRUNCATED - exceeded 100000 chars]")
    # Modules reach the jar and nothing else: there the original gave a shell of its pod.
    told = client.run("print(log_store._os.popen('id -u').read())")
    assert told["output"].strip() == "1000"


def test_the_same_answers_at_the_root(gateway):
    client = Client(gateway, path="/")
    assert client.run("print(privacy.scrub_emails('a@b.de'))")["output"] == "[EMAIL_REDACTED]\n"


def test_at_the_endpoint_execute_code_is_our_own(gateway):
    answer = Client(gateway, path="/mcp").result("execute_code", code="import os\n6 * 7")
    assert answer["content"][0]["text"] == "=> 42"
    told = json.loads(Client(gateway, path="/mcp").text("log_analysis.execute_code",
                                                        code="print(skills.list_skills())"))
    assert told["output"] == "[]\n"


def test_bodies_that_are_none(gateway):
    for body, code in ((b"{", -32700), (b"{}", -32600), (b'{"jsonrpc": "2.0", "id": 1}', -32600)):
        answer = gateway.request("POST", "/mcp/v1", body, {"Content-Type": "application/json"})
        assert answer.json["error"]["code"] == code, answer


def test_who_shows_no_token_is_told_so(gateway):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert gateway.request("POST", "/mcp/v1", body, token=False).status == 401
    wrong = {"Authorization": "Bearer demo-token-12345"}
    assert gateway.request("POST", "/mcp/v1", body, wrong, token=False).status == 401


def test_a_role_counts_when_a_tool_is_called(gateway):
    auditor = Client(gateway, make_token(gateway, "auditor", "auditor"))
    assert "execute_code" not in {tool["name"] for tool in
                                  auditor.ask("tools/list")["result"]["tools"]}
    for tool, arguments in (("execute_code", {"code": "1"}), ("privacy", {"text": "x"}),
                            ("workspace", {}), ("search_tools", {"query": "x"})):
        assert "needs the right run:exec" in auditor.error(tool, **arguments)


def test_an_expired_or_revoked_token_is_none(gateway):
    token = make_token(gateway, "shortly", "user")
    client = Client(gateway, token)
    assert client.run("1")["success"]
    subprocess.run([str(BINARY), "token", "revoke", "shortly", "--data-dir",
                    gateway.data_directory], env=environment(), timeout=COMMAND_SECONDS,
                   check=True, capture_output=True)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert gateway.request("POST", "/mcp/v1", body, client.headers, token=False).status == 401


def test_callers_do_not_see_each_others_files(gateway):
    ada, bob = (Client(gateway, make_token(gateway, name, "user")) for name in ("ada", "bob"))
    ada.value("workspace", function="write_file", filepath="mine.txt", content="ada's")
    assert bob.value("workspace", function="list_files") == []
    assert ada.text("workspace", function="read_file", filepath="mine.txt") == "ada's"
