"""Prompts: what they ask for, and what they bring with them."""

import uuid

import pytest

from support_mcp_client import CLIENTS


@pytest.fixture(params=CLIENTS)
def client(request, server):
    opened = CLIENTS[request.param](server)
    yield opened
    opened.close()


@pytest.fixture
def talk():
    return f"talk {uuid.uuid4()}"


def write(client, talk, path, content):
    result = client.tool("execute_code", conversation_id=talk,
                         code=f"open({path!r}, 'w').write({content!r})")
    assert not result["isError"], result


def test_they_are_listed_with_their_arguments(client):
    prompts = {one["name"]: one for one in client.ask("prompts/list")["prompts"]}
    assert {"analyse_file", "explain_denial", "write_tool"} <= set(prompts)
    required = {name: {one["name"] for one in prompt["arguments"] if one["required"]}
                for name, prompt in prompts.items()}
    assert required["analyse_file"] == {"conversation_id", "path"}
    assert required["write_tool"] == {"purpose"}
    assert all(one["title"] and one["description"] for one in prompts.values())


def test_a_small_file_comes_along(client, talk):
    write(client, talk, "data.csv", "a,b\n1,2\n")
    result = client.ask("prompts/get", name="analyse_file", arguments={
        "conversation_id": talk, "path": "data.csv", "question": "What is b?"})
    task, file = result["messages"]
    assert task["role"] == "user" and "What is b?" in task["content"]["text"]
    assert file["content"]["type"] == "resource"
    assert file["content"]["resource"]["text"] == "a,b\n1,2\n"
    uri = file["content"]["resource"]["uri"]
    assert client.ask("resources/read", uri=uri)["contents"][0]["text"] == "a,b\n1,2\n"


def test_a_large_file_is_pointed_to(client, talk):
    write(client, talk, "large.txt", "x" * 100_000)
    result = client.ask("prompts/get", name="analyse_file",
                        arguments={"conversation_id": talk, "path": "large.txt"})
    link = result["messages"][1]["content"]
    assert (link["type"], link["size"]) == ("resource_link", 100_000)


@pytest.mark.parametrize(("name", "arguments"), [
    ("analyse_file", {"conversation_id": "none", "path": "none"}), ("analyse_file", {"path": "x"}),
    ("explain_denial", {}), ("write_tool", {}), ("none", {}),
    ("write_tool", {"purpose": "x" * 100_000})])
def test_what_cannot_be_answered_is_an_error(client, name, arguments):
    error = client.refusal("prompts/get", name=name, arguments=arguments)
    assert error["code"] == -32602 and len(error["message"]) > 20


def test_denials_and_tools(client):
    result = client.ask("prompts/get", name="explain_denial",
                        arguments={"denial": "tried to reach the network (rule network.off)"})
    assert "network.off" in result["messages"][0]["content"]["text"]
    result = client.ask("prompts/get", name="write_tool", arguments={"purpose": "count words"})
    assert "count words" in result["messages"][0]["content"]["text"]


def test_arguments_are_completed(client, talk):
    write(client, talk, "data.csv", "1")

    def complete(name, argument, begun, **context):
        return client.ask("completion/complete", ref={"type": "ref/prompt", "name": name},
                          argument={"name": argument, "value": begun},
                          context={"arguments": context})["completion"]["values"]

    assert complete("analyse_file", "conversation_id", talk[:20]) == [talk]
    assert complete("analyse_file", "path", "d", conversation_id=talk) == ["data.csv"]
    assert "python" in complete("explain_denial", "language", "py")
