"""What a server has to ask or to tell its client, with the fixtures of the conformance suite."""

import threading

import pytest

from support_binary import belljar, environment
from support_mcp import LEGACY, StdioServer, initialize, request
from support_server import Server
from support_wire import (INITIALIZED, META, OldSession, Session, Stream, cancelled, enveloped,
                          modern_headers, post_modern, send)

FORMS = {"elicitation": {}}
TOKENS = {"anna": "bj_token_of_anna", "bert": "bj_token_of_bert"}
WATCHED = "test://watched-resource"
TOLD = "notifications/resources/updated"


def tool(number, name, **arguments):
    return request(number, "tools/call", name=name, arguments=arguments)


def with_answers(number, name, state, **answers):
    message = tool(number, name)
    message["params"] |= {"requestState": state, "inputResponses": answers}
    return message


def accept(**content):
    return {"action": "accept", "content": content}


def response(question, result):
    return {"jsonrpc": "2.0", "id": question["id"], "result": result}


def text_of(answer):
    return answer["result"]["content"][0]["text"]


@pytest.fixture(scope="module")
def fixtures(session_place):
    started = Server(session_place / "fixture-tests", "--auth", "none", "--conformance")
    started.settle()
    yield started
    assert started.stop() == 0


# --- only on request ------------------------------------------------------------------------------


def test_fixtures_are_absent_by_default(open_server):
    tools = post_modern(open_server, request(1, "tools/list")).answer["result"]["tools"]
    assert not [one["name"] for one in tools if one["name"].startswith("test_")]
    assert post_modern(open_server, tool(2, "test_simple_text")).code == -32602
    assert "protocol" not in open_server.greeting


def test_fixtures_are_said_and_listed_besides_the_real_tools(fixtures):
    assert "For tests of the MCP protocol only" in fixtures.greeting
    assert "--conformance" in fixtures.errors
    tools = post_modern(fixtures, request(1, "tools/list")).answer["result"]["tools"]
    assert tools[0]["name"] == "test_simple_text"
    assert "execute_code" in {one["name"] for one in tools}


def test_fixtures_are_for_loopback(place):
    ended = belljar("serve", "--listen", "0.0.0.0:0", "--conformance", "--data-dir",
                    str(place / "data"))
    assert ended.returncode == 1
    assert b"--conformance is allowed only on a loopback address" in ended.stderr


# --- asking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", LEGACY[2:])
def test_person_is_asked_on_the_stream_of_the_call(fixtures, revision):
    session = Session(fixtures, revision, FORMS)
    with session.stream(tool(7, "test_elicitation", message="Who are you?")) as stream:
        question = stream.next()
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "Who are you?"
        answer = accept(username="anna", email="a@b.c")
        assert session.post(response(question, answer)).status == 202
        assert '"username":"anna"' in text_of(stream.answer_to(7))
    session.delete()


def test_person_is_asked_over_an_old_stream(fixtures):
    session = OldSession(fixtures, "2024-11-05")
    # What the handshake of this helper declares is nothing, so nobody is asked.
    session.post(tool(7, "test_elicitation", message="Who?"))
    assert session.stream.answer_to(7)["result"]["isError"] is True
    message = initialize(8, LEGACY[-1])
    message["params"]["capabilities"] = FORMS
    session.ask(message)
    session.post(tool(9, "test_elicitation", message="Who?"))
    question = session.stream.next()
    assert question["method"] == "elicitation/create"
    session.post(response(question, {"action": "decline"}))
    assert "action=decline" in text_of(session.stream.answer_to(9))
    session.close()


def test_person_is_asked_over_stdio():
    server = StdioServer(options=["--conformance"])
    message = initialize(1)
    message["params"]["capabilities"] = FORMS
    server.ask(message)
    server.send(INITIALIZED)
    question = server.ask(tool(2, "test_elicitation", message="Who?"))
    assert question["method"] == "elicitation/create"
    assert server.ask(request(3, "ping"))["id"] == 3  # others are answered meanwhile
    answer = server.ask(response(question, accept(username="anna", email="a@b.c")))
    assert answer["id"] == 2 and '"username":"anna"' in text_of(answer)
    assert server.finish() == (0, [])


def test_modern_client_over_stdio_is_told_what_is_needed():
    server = StdioServer(options=["--conformance"])
    name = "test_input_required_result_request_state"
    needed = server.ask(enveloped(tool(1, name), capabilities=FORMS))["result"]
    assert needed["resultType"] == "input_required" and "confirm" in needed["inputRequests"]
    again = with_answers(2, name, needed["requestState"], confirm=accept(ok=True))
    assert "state-ok" in text_of(server.ask(enveloped(again, capabilities=FORMS)))
    assert server.finish() == (0, [])


def test_client_that_cannot_be_asked(fixtures):
    session = Session(fixtures)
    refused = session.post(tool(1, "test_elicitation", message="Who?")).answer["result"]
    assert refused["isError"] and "elicitation" in refused["content"][0]["text"]
    reply = post_modern(fixtures, tool(1, "test_elicitation", message="Who?"))
    assert (reply.status, reply.code) == (400, -32021)
    session.delete()


def test_question_is_taken_back_with_its_request(fixtures):
    session = Session(fixtures, capabilities=FORMS)
    with session.stream(tool(7, "test_elicitation", message="Who?")) as stream:
        question = stream.next()
        session.post(cancelled(7))
        taken_back = stream.next()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"]
        assert stream.next() is None
    assert session.post(response(question, accept())).status == 202
    session.delete()


def test_answer_of_another_session_is_of_no_use(fixtures):
    asked, other = Session(fixtures, capabilities=FORMS), Session(fixtures, capabilities=FORMS)
    with asked.stream(tool(7, "test_elicitation", message="Who?")) as stream:
        question = stream.next()
        other.post(response(question, accept(username="bert", email="")))
        asked.post(response(question, accept(username="anna", email="")))
        assert '"username":"anna"' in text_of(stream.answer_to(7))
    for session in (asked, other):
        session.delete()


# --- the state that clients keep ------------------------------------------------------------------


def ask_for_state(server, name="test_input_required_result_request_state", token=None):
    message = tool(1, name)
    reply = send(server, enveloped(message, capabilities=FORMS),
                 {**modern_headers(message), **(token or {})})
    return reply.answer["result"]["requestState"]


def come_back(server, state, name="test_input_required_result_request_state", token=None):
    message = with_answers(2, name, state, confirm=accept(ok=True))
    return send(server, enveloped(message, capabilities=FORMS),
                {**modern_headers(message), **(token or {})})


def test_state_that_was_changed(fixtures):
    state = ask_for_state(fixtures)
    for place in (0, len(state) // 2, len(state) - 3):
        changed = state[:place] + ("A" if state[place] != "A" else "B") + state[place + 1:]
        assert come_back(fixtures, changed).code == -32602
    for made_up in ("", ".", state[:-5], state + "x", "e30=.AAAA"):
        assert come_back(fixtures, made_up).code == -32602
    assert "state-ok" in text_of(come_back(fixtures, state).answer)


def test_state_that_was_used(fixtures):
    state = ask_for_state(fixtures)
    assert "state-ok" in text_of(come_back(fixtures, state).answer)
    assert come_back(fixtures, state).code == -32602


def test_state_of_another_request(fixtures):
    state = ask_for_state(fixtures)
    other = "test_input_required_result_tampered_state"
    assert come_back(fixtures, state, other).code == -32602


def test_state_of_another_caller_or_another_life(own_server):
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    server = own_server("--conformance", env=environment(BELLJAR_AUTH_TOKENS=tokens))
    server.settle()
    anna, bert = ({"Authorization": f"Bearer {token}"} for token in TOKENS.values())
    state = ask_for_state(server, token=anna)
    assert come_back(server, state, token=bert).code == -32602
    other = own_server("--conformance", env=environment(BELLJAR_AUTH_TOKENS=tokens))
    assert come_back(other, state, token=anna).code == -32602
    assert "state-ok" in text_of(come_back(server, state, token=anna).answer)


# --- telling --------------------------------------------------------------------------------------


def trigger(server, name):
    assert post_modern(server, tool(1, f"test_trigger_{name}_change")).status == 200


def listen(server, number=9, **wishes):
    message = request(number, "subscriptions/listen", notifications=wishes)
    return Stream(server, enveloped(message), modern_headers(message))


def test_listener_hears_what_it_asked_for(fixtures):
    with listen(fixtures, toolsListChanged=True, resourceSubscriptions=[WATCHED]) as stream:
        first = stream.next()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        for name in ("prompt", "tool", "resource"):
            trigger(fixtures, name)
        heard = [stream.next(), stream.next()]
    assert [one["method"] for one in heard] == ["notifications/tools/list_changed", TOLD]
    for message in (first, *heard):
        assert message["params"]["_meta"][f"{META}subscriptionId"] == 9


def test_listener_over_stdio():
    server = StdioServer(options=["--conformance"])
    wishes = request("ear", "subscriptions/listen", notifications={"promptsListChanged": True})
    assert server.ask(enveloped(wishes))["method"] == "notifications/subscriptions/acknowledged"
    server.send(enveloped(tool(2, "test_trigger_prompt_change")))
    messages = [server.receive(), server.receive()]
    assert {one.get("method") for one in messages} == {None, "notifications/prompts/list_changed"}
    server.send(cancelled("ear"))
    assert server.ask(enveloped(tool(3, "test_trigger_prompt_change")))["id"] == 3
    assert server.finish() == (0, [])


def test_listeners_are_answered_when_the_server_stops(own_server):
    server = own_server("--auth", "none", "--conformance")
    with listen(server, toolsListChanged=True) as stream:
        stream.next()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        last = stream.next()
        assert (last["id"], last["result"]["resultType"]) == (9, "complete")
        assert stream.next() is None
        stopping.join()


def test_session_hears_of_resources_it_follows(fixtures):
    session = Session(fixtures)
    with session.listen() as stream:
        trigger(fixtures, "resource")
        session.post(request(1, "resources/subscribe", uri=WATCHED))
        trigger(fixtures, "resource")
        assert stream.next() == {"jsonrpc": "2.0", "method": TOLD, "params": {"uri": WATCHED}}
        session.post(request(2, "resources/unsubscribe", uri=WATCHED))
        trigger(fixtures, "resource")
        trigger(fixtures, "tool")
        assert stream.next()["method"] == "notifications/tools/list_changed"
    session.delete()


def test_one_stream_for_each_session(fixtures):
    session = Session(fixtures)
    with session.listen() as first:
        with session.listen() as second:
            assert (first.status, second.status) == (200, 409)
    session.delete()


def test_session_that_comes_back_hears_what_it_missed(fixtures):
    session = Session(fixtures)
    session.post(request(1, "resources/subscribe", uri=WATCHED))
    with session.listen() as stream:
        place = stream.next_event()["id"]  # of an event that only says where the stream is
    trigger(fixtures, "resource")
    with session.listen(**{"Last-Event-ID": place}) as stream:
        assert stream.next()["method"] == TOLD
        trigger(fixtures, "resource")
        assert stream.next()["method"] == TOLD
    session.delete()


def test_call_whose_connection_the_server_ends(fixtures):
    session = Session(fixtures)
    with session.stream(tool(7, "test_reconnection")) as stream:
        first = stream.next_event()
        assert (first["data"], bool(first["id"])) == ("", True)
        assert int(stream.next_event()["retry"]) > 0
        assert stream.next_event() is None
    with session.listen(**{"Last-Event-ID": first["id"]}) as stream:
        assert stream.answer_to(7)["result"]["isError"] is False
        assert stream.next_event() is None
    session.delete()


def test_id_that_is_in_use(fixtures):
    session = Session(fixtures, capabilities=FORMS)
    with session.stream(tool(7, "test_elicitation", message="Who?")) as stream:
        question = stream.next()
        again = session.post(request(7, "ping"))
        assert (again.status, again.code) == (400, -32600)
        assert session.post(request("7", "ping")).status == 200
        session.post(response(question, {"action": "cancel"}))
        assert "action=cancel" in text_of(stream.answer_to(7))
    assert session.post(request(7, "ping")).status == 200
    session.delete()


def test_tasks_are_followed_by_listening(fixtures):
    capabilities = {**FORMS, "extensions": {f"{META}tasks": {}}}
    begun = post_modern(fixtures, tool(1, "confirm_delete"), capabilities=capabilities).answer
    task = begun["result"]["taskId"]
    message = request(9, "subscriptions/listen", notifications={"taskIds": [task, "made-up"]})
    with Stream(fixtures, enveloped(message, capabilities=capabilities),
                modern_headers(message)) as stream:
        assert stream.next()["params"]["notifications"] == {"taskIds": [task]}
        given = request(2, "tasks/update", taskId=task,
                        inputResponses={"confirm": accept(confirm=True)})
        post_modern(fixtures, given, capabilities=capabilities)
        states = [stream.next()["params"] for _ in range(2)]
    assert [one["status"] for one in states] == ["working", "completed"]
    assert states[-1]["result"]["isError"] is False
