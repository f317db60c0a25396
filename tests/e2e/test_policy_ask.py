"""A person is asked before a program runs, where the client has one to ask."""

import pytest

from support_binary import environment
from support_mcp import LEGACY, call_tool, request
from support_server import Server
from support_wire import Session, enveloped, modern_headers, post_modern

POLICY = 'default_profile = "careful"\n[profiles.careful]\n[profiles.careful.scan]\nhigh = "ask"\n'
CODE = "import subprocess\nsubprocess.run(['echo', 'ran'], capture_output=True).stdout.decode()"
FORMS = {"elicitation": {}}


@pytest.fixture(scope="module")
def asking(session_place):
    place = session_place / "asking"
    place.mkdir()
    (place / "policy.toml").write_text(POLICY)
    started = Server(place / "server", "--auth", "none",
                     env=environment(BELLJAR_POLICY_PATH=str(place / "policy.toml")))
    started.settle()
    yield started
    assert started.stop() == 0


def run(number, code=CODE):
    return request(number, "tools/call", name="execute_code", arguments={"code": code})


def answered(question, approve, action="accept"):
    return {"jsonrpc": "2.0", "id": question["id"],
            "result": {"action": action, "content": {"approve": approve}}}


@pytest.mark.parametrize(("approve", "action", "ran"), [
    (True, "accept", True), (False, "accept", False), (True, "decline", False)])
def test_the_user_of_a_legacy_client_decides(asking, approve, action, ran):
    session = Session(asking, LEGACY[-1], FORMS)
    with session.stream(run(7)) as stream:
        question = stream.next()
        assert question["method"] == "elicitation/create"
        assert "Line 2: 'subprocess.run' starts another program" in question["params"]["message"]
        assert session.post(answered(question, approve, action)).status == 202
        result = stream.answer_to(7)["result"]
    assert result["isError"] is not ran
    text = result["content"][0]["text"]
    assert ("ran" in text) if ran else ("did not agree" in text)
    session.delete()


def test_a_modern_client_is_told_what_is_needed(asking):
    needed = post_modern(asking, run(1), capabilities=FORMS).answer["result"]
    assert needed["resultType"] == "input_required"
    assert needed["inputRequests"]["approval"]["method"] == "elicitation/create"
    again = run(2)
    again["params"] |= {"requestState": needed["requestState"], "inputResponses": {
        "approval": {"action": "accept", "content": {"approve": True}}}}
    result = post_modern(asking, again, capabilities=FORMS).answer["result"]
    assert result["structuredContent"]["result"] == "ran\n"


def test_an_answer_to_nothing_is_no_agreement(asking):
    message = run(1)
    message["params"]["inputResponses"] = {
        "approval": {"action": "accept", "content": {"approve": True}}}
    result = post_modern(asking, message, capabilities=FORMS).answer["result"]
    assert result["resultType"] == "input_required"


def test_an_answer_is_for_the_program_that_was_shown(asking):
    needed = post_modern(asking, run(1), capabilities=FORMS).answer["result"]
    other = run(2, CODE.replace("ran", "other"))
    other["params"] |= {"requestState": needed["requestState"], "inputResponses": {
        "approval": {"action": "accept", "content": {"approve": True}}}}
    answer = post_modern(asking, other, capabilities=FORMS)
    assert "other" not in str(answer.answer.get("result", {}).get("structuredContent", ""))


def test_a_client_without_anybody_to_ask_is_refused(asking):
    result = call_tool(asking, "execute_code", code=CODE)
    text = result["content"][0]["text"]
    assert result["isError"] and "wants a person to agree" in text and "elicitation" in text
    answer = asking.request("POST", "/execute", {"code": CODE})
    assert answer.status == 403 and "POST /v1/policy/approvals" in answer.json["error"]


def test_nobody_is_asked_about_other_programs(asking):
    session = Session(asking, LEGACY[-1], FORMS)
    assert "42" in str(session.post(run(3, "6*7")).answer["result"]["content"])
    session.delete()
