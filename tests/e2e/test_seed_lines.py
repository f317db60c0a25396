"""Lines of curl that the documents of other services show, with this server's address and token."""

import json
import re
import subprocess

import pytest

from support_binary import COMMAND_SECONDS

EXECUTE = r"""curl -X POST "http://localhost:8001/execute" \
  -H "Content-Type: application/json" \
  -d '{
    "code": "import math\nprint(f\"π = {math.pi}\")",
    "timeout": 10
  }'"""

HELLO = r"""curl -X POST http://localhost:8001/execute \
  -H "Content-Type: application/json" \
  -d '{"code": "print(\"Hello from sandbox!\")"}'"""

INSTALL = r"""curl -X POST "http://localhost:8001/pip_install" \
  -H "Content-Type: application/json" \
  -d '{
    "package": "requests",
    "version": "latest"
  }'"""

BLOCKED = r"""curl -X POST http://localhost:8001/pip_install \
  -d '{"package": "suspicious-package"}'"""

HEALTH = "curl http://localhost:8001/health"

EVENTS = "curl http://localhost:8001/mcp/sse"

TOOL = r"""curl -X POST http://localhost:8080/mcp \
  -H "Authorization: Bearer $MCP_API_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc": "2.0",
    "id": "1",
    "method": "tools/call",
    "params": {
      "name": "sandbox.run_code",
      "arguments": {
        "conversationId": "test",
        "language": "python",
        "code": "print(\"Hello!\")"
      }
    }
  }'"""


@pytest.fixture
def run(server):
    """What a line answers."""
    def start(line, *options, code=0):
        line = re.sub(r"http://localhost:\d+", f"http://{server.address}", line)
        if "Authorization" not in line:
            line += ' -H "Authorization: Bearer $MCP_API_TOKEN"'
        done = subprocess.run(["bash", "-c", f"{line} -s {' '.join(options)}"],
                              env={"MCP_API_TOKEN": server.token, "PATH": "/usr/bin:/bin"},
                              capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        assert done.returncode == code, done
        return done.stdout
    return start


def test_programs_are_run(run):
    answer = json.loads(run(EXECUTE))
    assert answer["stdout"] == "π = 3.141592653589793\n" and answer["stderr"] == ""
    assert answer["exit_code"] == 0 and answer["success"] is True and answer["execution_time"] > 0
    assert json.loads(run(HELLO))["stdout"] == "Hello from sandbox!\n"


@pytest.mark.parametrize("line", [INSTALL, BLOCKED], ids=["install", "blocked"])
def test_packages_are_answered_for(run, line):
    answer = json.loads(run(line))
    assert {"success", "message", "installed_version", "installation_time"} <= answer.keys()
    assert answer["success"] or "not enabled" in answer["message"]


def test_health_is_told(run):
    assert json.loads(run(HEALTH)) == {"status": "healthy"}


def test_a_stream_of_events_begins(run):
    timed_out = 28
    assert run(EVENTS, "--max-time", "2", code=timed_out).startswith("event: endpoint\n")


def test_a_tool_is_called_without_a_handshake(run):
    answer = json.loads(run(TOOL))
    assert answer["id"] == "1" and answer["jsonrpc"] == "2.0"
    told = json.loads(answer["result"]["content"][0]["text"])
    assert told == {"success": True, "output": "Hello!\n", "files": []}
