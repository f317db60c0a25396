"""docs/API.md: every line of curl in it works as it stands."""

import json
import os
import re
import subprocess

import pytest

from support_binary import COMMAND_SECONDS, ROOT

TEXT = (ROOT / "docs" / "API.md").read_text()


def commands():
    blocks = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


def test_there_are_some():
    assert len(commands()) >= 7


@pytest.mark.parametrize("command", commands(), ids=lambda line: line.split()[2])
def test_a_line_works(server, command):
    ended = subprocess.run(
        ["sh", "-c", command.replace("curl -s", "curl -sf")], capture_output=True, check=True,
        timeout=COMMAND_SECONDS,
        env={**os.environ, "BELLJAR": f"http://{server.address}", "TOKEN": server.token})
    answer = json.loads(ended.stdout)
    if "session_id" in answer:
        server.request("DELETE", f"/v1/sessions/{answer['session_id']}")
