"""The tools for the files of a conversation, and what dialects make of them."""

import base64
import json
import uuid

import jsonschema
import pytest

from support_mcp import call_tool, list_tools

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg==")


@pytest.fixture(scope="module")
def tools(server):
    return list_tools(server)


@pytest.fixture
def talk():
    return f"talk {uuid.uuid4()}"


@pytest.fixture
def ask(server, tools, talk):
    """Calls a tool for a conversation of its own; gives the structured content."""
    def call(tool, /, **arguments):
        result = call_tool(server, tool, conversation_id=talk, **arguments)
        assert result["isError"] is False, result
        jsonschema.validate(result["structuredContent"], tools[tool]["outputSchema"])
        return result["structuredContent"]
    return call


@pytest.fixture
def refuse(server, talk):
    """The sentence with which a call is refused."""
    def call(tool, /, **arguments):
        result = call_tool(server, tool, **{"conversation_id": talk, **arguments})
        assert result["isError"], result
        return result["content"][0]["text"]
    return call


def test_what_is_written_is_there_for_programs(ask):
    written = ask("write_file", path="data/a.csv", content="x,y\n1,2\n")
    assert (written["path"], written["size"], written["created"]) == ("data/a.csv", 8, True)
    assert ask("execute_code", code="open('data/a.csv').read()")["result"] == "x,y\n1,2\n"


def test_what_a_program_writes_can_be_read_and_is_linked(server, talk, ask):
    code = "open('note.txt', 'w').write('kept')"
    result = call_tool(server, "execute_code", code=code, conversation_id=talk)
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    assert [(link["name"], link["size"]) for link in links] == [("note.txt", 4)]
    read = ask("read_file", path="note.txt")
    assert (read["content"], read["encoding"], read["more"]) == ("kept", "text", False)
    assert read["uri"] == links[0]["uri"]
    gone = call_tool(server, "execute_code", code="import os\nos.remove('note.txt')",
                     conversation_id=talk)
    assert [block["type"] for block in gone["content"]] == ["text"]
    assert gone["content"][0]["text"] == "Files deleted: note.txt"


def test_files_are_listed(ask):
    for path in ("a.txt", "data/b.txt", "data/deep/c.txt"):
        ask("write_file", path=path, content="x")

    def listed(**arguments):
        return [(entry["path"], entry["type"])
                for entry in ask("list_files", **arguments)["entries"]]

    assert listed() == [("a.txt", "file"), ("data", "directory")]
    assert listed(path="data") == [("data/b.txt", "file"), ("data/deep", "directory")]
    assert listed(recursive=True) == [("a.txt", "file"), ("data/b.txt", "file"),
                                      ("data/deep/c.txt", "file")]


def test_a_long_file_is_read_in_parts(ask):
    text = "ä" * 100_000
    ask("write_file", path="long.txt", content=text)
    parts, offset = [], 0
    while offset is not None:
        part = ask("read_file", path="long.txt", offset=offset, length=65_537)
        parts.append(part["content"])
        offset = part.get("next_offset")
    assert "".join(parts) == text and len(parts) == 4


def test_bytes_are_base64_and_pictures_are_pictures(server, talk, ask):
    ask("write_file", path="a.bin", content_base64=base64.b64encode(b"\xff\0").decode())
    read = ask("read_file", path="a.bin")
    assert (read["encoding"], base64.b64decode(read["content"])) == ("base64", b"\xff\0")
    ask("write_file", path="a.png", content_base64=base64.b64encode(PICTURE).decode())
    result = call_tool(server, "read_file", conversation_id=talk, path="a.png")
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert base64.b64decode(result["content"][1]["data"]) == PICTURE


def test_a_file_is_replaced_only_if_it_may_be(ask, refuse):
    ask("write_file", path="a.txt", content="old")
    assert "overwrite: true" in refuse("write_file", path="a.txt", content="new", overwrite=False)
    assert ask("read_file", path="a.txt")["content"] == "old"
    assert ask("write_file", path="a.txt", content="new")["created"] is False
    assert ask("read_file", path="a.txt")["content"] == "new"


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a/../../b", "a\0b", "a//b"])
def test_a_path_stays_in_its_conversation(refuse, path):
    for tool, arguments in (("read_file", {}), ("write_file", {"content": "x"})):
        assert refuse(tool, path=path, **arguments)


def test_what_is_not_there_is_said(ask, refuse):
    assert refuse("list_files")
    ask("write_file", path="a.txt", content="x")
    assert refuse("read_file", path="b.txt")


# --- dialects

def test_files_of_the_code_runner(server, talk):
    uploaded = call_tool(server, "upload_file", conversationId=talk, filename="in.txt",
                         content=base64.b64encode(b"Hello").decode())["structuredContent"]
    assert uploaded["success"] and uploaded["file"]["name"] == "in.txt"
    code = "text = open('/data/in.txt').read()\nopen('/data/out.txt', 'w').write(text * 2)"
    ran = call_tool(server, "sandbox.run_code", conversationId=talk, language="python",
                    code=code)["structuredContent"]
    assert ran["success"] and [file["name"] for file in ran["files"]] == ["in.txt", "out.txt"]
    assert all(file["url"] for file in ran["files"])


def test_the_workspace_of_log_analysis_stays(server, talk):
    def call(tool, /, **arguments):
        answer = call_tool(server, tool, conversation_id=talk, **arguments)["structuredContent"]
        assert answer["success"], answer
        return answer["output"]

    call("workspace", function="write_file", filepath="notes.md", content="done")
    assert call("workspace", function="read_file", filepath="notes.md") == "done"
    call("skills", function="save_skill", name="double", code="def double(x):\n    return 2 * x",
         description="Doubles a number")
    assert call("run_skill", name="double", x=21) == "42"
    assert [skill["name"] for skill in json.loads(call("list_skills"))] == ["double"]
    call("tool_discovery", function="generate_tool_stubs")
    told = json.loads(call("tool_discovery"))
    assert told["stubs_generated"] is True
    assert call("workspace", function="list_files", directory="skills/double",
                recursive=True).count("implementation.py") == 1


def test_logs_of_a_conversation_are_searched(server, talk):
    call_tool(server, "write_file", conversation_id=talk, path="logs/pay.log",
              content="2026-01-01 00:00:00 ERROR ValueError: no\n")
    code = "import tools.log_store as logs\nlogs.search_logs('pay', 'error')"
    record = call_tool(server, "execute_code", code=code, conversation_id=talk)
    assert record["structuredContent"]["result"] == ["2026-01-01 00:00:00 ERROR ValueError: no"]
    found = call_tool(server, "log_store", service_name="pay", keyword="VALUE",
                      conversation_id=talk)["structuredContent"]
    assert json.loads(found["output"]) == ["2026-01-01 00:00:00 ERROR ValueError: no"]
