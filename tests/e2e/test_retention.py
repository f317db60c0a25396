"""What a caller may keep in all, and what becomes of what nobody uses."""

import json
import os
import time

import pytest

from support_binary import belljar, environment
from support_mcp import call_tool
from support_server import Server

SPACE = 1_000_000


@pytest.fixture(scope="module")
def small(session_place):
    """A server that gives each caller a megabyte."""
    started = Server(session_place / "small",
                     env=environment(BELLJAR_STORAGE_PRINCIPAL_SPACE=str(SPACE)))
    started.settle()
    yield started
    assert started.stop() == 0


def leave(server, conversation, size, name="data"):
    code = f"open({name!r}, 'w').write('x' * {size})"
    return server.execute(code, conversation_id=conversation)


def command(server, *arguments):
    done = belljar("conversations", "--data-dir", server.data_directory, *arguments,
                   env=environment(BELLJAR_STORAGE_PRINCIPAL_SPACE=str(SPACE)))
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def listed(server):
    found = json.loads(command(server, "list", "--json"))["conversations"]
    return {one["conversation_id"]: one for one in found}


def test_runs_and_uploads_share_the_space_of_their_caller(small):
    assert [file["name"] for file in leave(small, "first", 600_000)["files"]] == ["data"]
    record = leave(small, "second", 600_000)
    assert record["status"] == "ok" and record["files"] == []
    assert [denial["rule"] for denial in record["denials"]] == ["conversation.files"]
    refused = call_tool(small, "write_file", conversation_id="third", path="a",
                        content="x" * 600_000)
    assert refused["isError"] and "together" in refused["content"][0]["text"]
    assert not call_tool(small, "write_file", conversation_id="third", path="a",
                         content="x" * 300_000)["isError"]
    used = json.loads(command(small, "usage", "--json"))["principals"]
    assert [(one["bytes"], one["most_bytes"]) for one in used] == [(900_000, SPACE)]


def test_what_nobody_uses_is_cleaned_up_and_what_is_in_use_stays(small):
    leave(small, "old", 1000)
    leave(small, "new", 1000)
    folder = next(one.parent for one in small.data_directory.glob("conversations/*/*/about.json")
                  if json.loads(one.read_text())["conversation_id"] == "old")
    long_ago = time.time() - 3600 * 24
    for name in ("about.json", "used", "files"):
        os.utime(folder / name, (long_ago, long_ago))
    asked = json.loads(command(small, "cleanup", "--dry-run", "--idle", "12h", "--json"))
    assert [(one["conversation_id"], one["reason"]) for one in asked["removals"]] == [
        ("old", "idle")]
    assert {"old", "new"} <= set(listed(small))
    assert "removed old (idle" in command(small, "cleanup", "--idle", "12h")
    assert "old" not in listed(small) and "new" in listed(small)
    # Nothing of the command's is in the server's way.
    assert leave(small, "new", 2000)["files"][0]["change"] == "changed"
    assert leave(small, "old", 1000)["files"][0]["change"] == "created"


def test_one_conversation_is_deleted_beside_the_server(small):
    leave(small, "gone", 10)
    principal = listed(small)["gone"]["principal"] or "-"
    command(small, "delete", principal, "gone")
    assert "gone" not in listed(small)
    assert small.execute("import os; os.listdir('/workspace')",
                         conversation_id="gone")["result"] == []


def test_a_clean_up_of_nothing_in_particular_is_refused(small):
    done = belljar("conversations", "cleanup", "--data-dir", small.data_directory)
    assert done.returncode == 1 and b"storage.conversation_idle" in done.stderr
