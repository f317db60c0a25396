"""What can be read over MCP besides calling tools: files, output, languages, limits, skills."""

import base64
import hashlib
import json
import urllib.parse
import uuid

import pytest

from support_binary import environment
from support_mcp import StdioServer, initialize, request
from support_mcp_client import CLIENTS, ModernClient

TOKENS = {"one": "bj_token_of_one", "two": "bj_token_of_two"}
LONG = "import sys\nfor n in range(400_000): sys.stdout.write(f'{n:08}\\n')"
WHOLE = "".join(f"{n:08}\n" for n in range(400_000))
FILES = "belljar://conversations/{id}/files/{+path}{?offset,length}"
RUNS = "belljar://runs/{execution_id}/{stream}{?offset,length}"


@pytest.fixture(params=CLIENTS)
def client(request, server):
    opened = CLIENTS[request.param](server)
    yield opened
    opened.close()


@pytest.fixture
def talk():
    """A name for a conversation that no other test has."""
    return f"talk {uuid.uuid4()}"


def uri_of(conversation, path):
    return (f"belljar://conversations/{urllib.parse.quote(conversation, safe='')}"
            f"/files/{urllib.parse.quote(path)}")


def only_part(result):
    (part,) = result["contents"]
    return part


def run(client, code, **arguments):
    result = client.tool("execute_code", code=code, **arguments)
    assert not result["isError"], result
    return result["structuredContent"]


def listed(client):
    resources, cursor = [], {}
    while True:
        page = client.ask("resources/list", **cursor)
        resources += page["resources"]
        if "nextCursor" not in page:
            return resources
        cursor = {"cursor": page["nextCursor"]}


def test_a_file_of_a_conversation_is_read_and_listed(client, talk):
    record = run(client, "open('tä b.txt', 'w').write('kept ü')", conversation_id=talk)
    uri = uri_of(talk, "tä b.txt")
    assert record["files"][0]["uri"] == uri
    part = only_part(client.ask("resources/read", uri=uri))
    assert (part["uri"], part["text"], part["mimeType"]) == (uri, "kept ü", "text/plain")
    assert part["_meta"]["belljar/range"] == {"offset": 0, "bytes": 7, "total": 7}
    (entry,) = [one for one in listed(client) if one["uri"] == uri]
    assert (entry["name"], entry["size"], entry["mimeType"]) == ("tä b.txt", 7, "text/plain")
    assert entry["title"] and entry["description"]


def test_bytes_are_a_blob(client, talk):
    run(client, "open('x.bin', 'wb').write(bytes(range(256)))", conversation_id=talk)
    part = only_part(client.ask("resources/read", uri=uri_of(talk, "x.bin")))
    assert base64.b64decode(part["blob"]) == bytes(range(256)) and "text" not in part


def test_a_large_file_is_read_in_parts(client, talk):
    run(client, "open('big.txt', 'w').write('0123456789' * 250_000)", conversation_id=talk)
    uri, content = uri_of(talk, "big.txt"), ""
    while uri:
        part = only_part(client.ask("resources/read", uri=uri))
        assert len(part["text"]) <= 1 << 20
        content += part["text"]
        uri = part["_meta"]["belljar/range"].get("next")
    assert content == "0123456789" * 250_000
    piece = client.ask("resources/read", uri=uri_of(talk, "big.txt") + "?offset=3&length=4")
    assert only_part(piece)["text"] == "3456"


@pytest.mark.parametrize("uri", [
    "belljar://conversations/none/files/x", "belljar://conversations/none", "belljar://other",
    "belljar://runs/00000000-0000-0000-0000-000000000000/stdout", "file:///etc/passwd",
    "belljar://conversations/none/files/..%2F..%2Fetc/passwd", "skill://using-belljar/none.md",
    "ui://belljar/none"])
def test_what_is_not_there_is_an_error(client, uri):
    error = client.refusal("resources/read", uri=uri)
    assert error["code"] == (-32602 if type(client) is ModernClient else -32002)
    assert error["data"] == {"uri": uri}


@pytest.mark.parametrize("question", ["?offset=99", "?offset=x", "?length=0", "?page=2"])
def test_a_range_that_cannot_be_is_an_error(client, talk, question):
    run(client, "open('a', 'w').write('x')", conversation_id=talk)
    error = client.refusal("resources/read", uri=uri_of(talk, "a") + question)
    assert error["code"] == -32602


def test_output_that_did_not_fit_is_a_resource(client):
    record = run(client, LONG)
    uri = f"belljar://runs/{record['execution_id']}/stdout"
    part = only_part(client.ask("resources/read", uri=uri + "?offset=900&length=18"))
    assert part["text"] == "00000100\n00000101\n"
    assert part["_meta"]["belljar/range"]["total"] == len(WHOLE)
    assert client.refusal("resources/read", uri=uri.replace("stdout", "stderr"))["data"]
    ids = client.ask("completion/complete", ref={"type": "ref/resource", "uri": RUNS},
                     argument={"name": "execution_id", "value": record["execution_id"][:8]})
    assert record["execution_id"] in ids["completion"]["values"]


def test_templates_and_completion(client, talk):
    run(client, "import os\nos.mkdir('d')\nfor n in 'ab': open(f'd/{n}', 'w').close()",
        conversation_id=talk)
    templates = client.ask("resources/templates/list")["resourceTemplates"]
    assert {FILES, RUNS} <= {one["uriTemplate"] for one in templates}
    assert all(one["name"] and one["description"] for one in templates)

    def complete(name, begun, **context):
        return client.ask("completion/complete", ref={"type": "ref/resource", "uri": FILES},
                          argument={"name": name, "value": begun},
                          context={"arguments": context})["completion"]["values"]

    assert complete("id", talk[:20]) == [talk]
    assert complete("id", talk[:20].upper()) == []
    assert complete("path", "d/", id=talk) == ["d/a", "d/b"]
    assert complete("path", "d/b", id=talk) == ["d/b"]
    assert complete("path", "") == []


def test_no_more_than_a_hundred_values(client, talk):
    run(client, "for n in range(150): open(f'f{n:03}', 'w').close()", conversation_id=talk)
    completion = client.ask(
        "completion/complete", ref={"type": "ref/resource", "uri": FILES},
        argument={"name": "path", "value": "f"}, context={"arguments": {"id": talk}})["completion"]
    assert len(completion["values"]) == 100
    assert (completion["total"], completion["hasMore"]) == (150, True)


def next_method(stream, method):
    while (event := stream.next()) is not None:
        if event.data.get("method") == method:
            return event.data.get("params", {})
    return None


def test_changes_are_told(client, talk):
    run(client, "open('a', 'w').write('1')", conversation_id=talk)
    uri = uri_of(talk, "a")
    with client.listen(resourceSubscriptions=[uri], resourcesListChanged=True) as stream:
        writer = ModernClient(client.server)
        run(writer, "open('a', 'w').write('2')", conversation_id=talk)
        assert next_method(stream, "notifications/resources/updated")["uri"] == uri
        run(writer, "open('b', 'w').write('2')", conversation_id=talk)
        assert next_method(stream, "notifications/resources/list_changed") is not None


@pytest.fixture
def shared(own_server):
    """A server with two principals."""
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    return own_server(env=environment(BELLJAR_AUTH_TOKENS=tokens))


@pytest.mark.parametrize("era", CLIENTS)
def test_another_principal_sees_nothing(shared, era):
    one, two = (CLIENTS[era](shared, TOKENS[name]) for name in TOKENS)
    run(one, "open('a.txt', 'w').write('mine')", conversation_id="talk")
    uri = uri_of("talk", "a.txt")
    output = f"belljar://runs/{run(one, LONG)['execution_id']}/stdout"
    assert only_part(one.ask("resources/read", uri=uri))["text"] == "mine"
    assert only_part(one.ask("resources/read", uri=output + "?length=9"))["text"] == "00000000\n"
    for hidden in (uri, output):
        known, unknown = (two.refusal("resources/read", uri=asked)
                          for asked in (hidden, hidden + "x"))
        assert known["code"] == unknown["code"] and known["data"] == {"uri": hidden}
        path = f"/v1/runs/{output.split('/')[3]}/output"
        assert shared.request("GET", path, headers={
            "Authorization": f"Bearer {TOKENS['two']}"}).status == 404
    assert uri not in {entry["uri"] for entry in listed(two)}
    for template, name in ((FILES, "id"), (RUNS, "execution_id")):
        values = two.ask("completion/complete", ref={"type": "ref/resource", "uri": template},
                         argument={"name": name, "value": ""})["completion"]["values"]
        assert values == []
    with two.listen(resourceSubscriptions=[uri], resourcesListChanged=True) as stream:
        run(one, "open('a.txt', 'w').write('changed')", conversation_id="talk")
        run(two, "open('own', 'w').write('x')", conversation_id="talk")
        assert stream.next().data["method"] == "notifications/resources/list_changed"


def test_languages_and_limits(client):
    runners, text = client.ask("resources/read", uri="belljar://runners")["contents"]
    languages = {one["language"] for one in json.loads(runners["text"])["runners"]}
    assert "python" in languages and "python" in text["text"]
    policy, text = client.ask("resources/read", uri="belljar://policy")["contents"]
    limits = json.loads(policy["text"])
    assert limits["limits"]["maximum"]["timeout_seconds"] >= 30
    assert {"grade", "missing"} <= set(limits["isolation"])
    assert f"grade {limits['isolation']['grade']}" in text["text"]
    assert {"belljar://runners", "belljar://policy"} <= {one["uri"] for one in listed(client)}


def test_skills(server):
    client = ModernClient(server)
    extensions = client.ask("server/discover")["capabilities"]["extensions"]
    assert {"io.modelcontextprotocol/skills", "io.modelcontextprotocol/ui"} <= set(extensions)
    (skill,) = client.ask("skills/list")["skills"]
    assert skill["uri"] == "skill://using-belljar/SKILL.md"
    assert skill["frontmatter"]["name"] == "using-belljar" and skill["frontmatter"]["description"]
    for resource in skill["resources"]:
        text = only_part(client.ask("resources/read", uri=resource["uri"]))["text"]
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert resource["digest"] == f"sha256:{digest}"
        assert resource["size"] == len(text.encode())


def test_the_view_of_a_run(client):
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["tools"]}
    view = tools["execute_code"]["_meta"]["ui"]
    assert view["visibility"] == ["model", "app"]
    part = only_part(client.ask("resources/read", uri=view["resourceUri"]))
    assert part["mimeType"] == "text/html;profile=mcp-app"
    assert part["text"].startswith("<!doctype html>")
    csp = part["_meta"]["ui"]["csp"]
    assert csp and not any(csp.values())


def test_stdio_serves_the_same():
    stdio = StdioServer()
    stdio.ask(initialize())
    answer = stdio.ask(request(2, "resources/list"))
    uris = {entry["uri"] for entry in answer["result"]["resources"]}
    assert {"belljar://policy", "skill://using-belljar/SKILL.md"} <= uris
    read = stdio.ask(request(3, "resources/read", uri="skill://using-belljar/SKILL.md"))
    assert "execute_code" in only_part(read["result"])["text"]
    assert stdio.finish() == (0, [])
