"""Policy files, and programs that the scanner is measured on."""

import os
import pathlib
import re

from support_binary import wait_until

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "policy"
LANGUAGES = ("python", "javascript", "typescript")


def programs(kind):
    """(language, name, code) of every program of tests/policy/KIND."""
    found = []
    for language in LANGUAGES:
        text = (PROGRAMS / kind / f"{language}.txt").read_text(encoding="utf-8")
        for part in re.split(r"^### ", text, flags=re.M)[1:]:
            name, _, code = part.partition("\n")
            found.append((language, name, code))
    return found


def write_policy(path, text):
    """As an editor does it: the file is whole at any time."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def policy_of(server):
    answer = server.request("GET", "/v1/policy")
    assert answer.status == 200, answer
    return answer.json


def await_policy(server, test, what):
    wait_until(lambda: test(policy_of(server)), what, 20)
    return policy_of(server)


def validate(server, code, **arguments):
    answer = server.request("POST", "/v1/policy/validate", {"code": code, **arguments})
    assert answer.status == 200, answer
    return answer.json
