"""Agents that people use list our tools over standard input and output.

Each runs in a network namespace where only loopback exists, so that what it does is all that it
needs. What it says to the server is recorded between the two.
"""

import json
import re
import subprocess

import pytest

from support_binary import BINARY, COMMAND_SECONDS, ROOT, environment

HERE = ROOT / "tests" / "clients"
MODULES = HERE / "node_modules"
CLAUDE = MODULES / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
OPENCODE = MODULES / "opencode-linux-x64-baseline" / "bin" / "opencode"
QUIET = {
    "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "NO_COLOR": "1"}
TROUBLE = re.compile(r"warn|error|fail|invalid|unsupported|deprecat", re.IGNORECASE)


class Agent:
    def __init__(self, place):
        self.place = place
        self.record = place / "lines"
        self.server = [str(HERE / "record_lines.py"), str(self.record), str(BINARY), "mcp"]
        self.settings = environment(
            **QUIET, HOME=str(place), TMPDIR=str(place), BELLJAR_POOL_READY="0",
            BELLJAR_SERVER_DATA_DIR=str(place / "data"),
            **{f"XDG_{kind}_HOME": str(place / kind.lower())
               for kind in ("CONFIG", "DATA", "STATE", "CACHE")})

    def run(self, *command):
        """What it printed, without a network and without a word of trouble."""
        alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        ended = subprocess.run([*alone, *map(str, command)], cwd=self.place, env=self.settings,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=2 * COMMAND_SECONDS, check=False)
        output = ended.stdout.decode()
        assert ended.returncode == 0 and not TROUBLE.search(output), output
        return output

    def exchange(self):
        """(request, answer) for every request that was answered, by method."""
        asked, found = {}, {}
        for line in self.record.read_text().splitlines():
            message = json.loads(line[2:])
            if line.startswith("> ") and "method" in message and "id" in message:
                asked[json.dumps(message["id"])] = message
            elif line.startswith("< ") and "method" not in message:
                request = asked[json.dumps(message["id"])]
                found[request["method"]] = (request, message)
        return found


@pytest.fixture
def agent(place):
    return Agent(place)


def check_tools(exchange):
    _, answer = exchange["tools/list"]
    assert "execute_code" in {tool["name"] for tool in answer["result"]["tools"]}
    assert not [answer for _, answer in exchange.values() if "error" in answer]


def test_claude_code(agent):
    agent.run(CLAUDE, "mcp", "add", "--scope", "user", "belljar", "--", *agent.server)
    assert re.search(r"belljar: .* Connected", agent.run(CLAUDE, "mcp", "list"))
    exchange = agent.exchange()
    check_tools(exchange)
    assert "server/discover" in exchange


def test_opencode(agent):
    settings = {"autoupdate": False, "share": "disabled", "mcp": {
        "belljar": {"type": "local", "command": agent.server, "enabled": True}}}
    (agent.place / "opencode.json").write_text(json.dumps(settings))
    assert re.search(r"belljar .*connected", agent.run(OPENCODE, "mcp", "list"))
    exchange = agent.exchange()
    check_tools(exchange)
    assert "initialize" in exchange
