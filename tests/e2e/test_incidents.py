"""The playbook in docs/INCIDENTS.md: each of its commands does what it says, in its order."""

import json
import pathlib
import re
import shlex

import pytest

from support_binary import BINARY, belljar, environment, wait_until
from support_server import Server, read_answer
from test_alerts import ESCAPE_AND_STAY, Caller, write_rules
from test_authorization import make_token

PLAYBOOK = pathlib.Path(__file__).parents[2] / "docs" / "INCIDENTS.md"


def commands():
    """As the playbook writes them."""
    text = PLAYBOOK.read_text()
    blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`(belljar admin [^`]+)`", text)
    return [line for block in blocks for line in block.splitlines()] + inline


@pytest.fixture(scope="module")
def rules_text():
    return re.search(r"^```toml\n(.*?)^```", PLAYBOOK.read_text(),
                     re.MULTILINE | re.DOTALL).group(1)


@pytest.fixture(scope="module")
def shared(session_place, rules_text):
    place = session_place / "incidents"
    place.mkdir()
    write_rules(place / "rules.toml", rules_text)
    server = Server(place / "server", env=environment(
        BELLJAR_ALERTS_RULES=str(place / "rules.toml")))
    server.settle()
    yield server
    assert server.stop() == 0


def test_the_playbook(shared):
    """What happens to ann, from the alert to the end of the block."""
    done = set()

    def run(line, code=0, **values):
        done.add(line)
        words = shlex.split(line)[1:]
        words = [values.get(word, word) for word in words]
        ended = belljar(*words, "--url", f"http://{shared.address}",
                        env=environment(BELLJAR_TOKEN=shared.token))
        assert ended.returncode == code, (line, ended)
        return ended.stdout.decode()

    def read_trail(line):
        done.add(line)
        ended = belljar(*shlex.split(line.split(" >")[0])[1:], env=environment(
            BELLJAR_SERVER_DATA_DIR=str(shared.data_directory)))
        assert ended.returncode == 0, (line, ended)
        return ended.stdout.decode()

    ann = Caller(shared, "ann", make_token(shared.data_directory, "ann", "--role", "user"))
    ann.run("open('note.txt', 'w').write('evidence')", conversation_id="talk")

    # Detect: one attempt, and the rule of the playbook does all that it can.
    assert ann.run(ESCAPE_AND_STAY, conversation_id="talk")["status"] == "cancelled"
    assert "ann" in run("belljar admin alerts")
    assert json.loads(run("belljar admin alerts --json"))["rules"]
    [alert] = json.loads(run("belljar admin alerts --principal ann --json"))["alerts"]
    assert alert["rule"] == "escapes" and len(alert["done"]) == 3
    assert alert["execution_id"] in run("belljar admin runs --state ended --principal ann")
    assert "ann" in run("belljar admin usage --principal ann")

    # Contain.
    [block] = json.loads(run("belljar admin blocks --json"))["blocks"]
    assert block["principal"] == "ann"
    [held] = json.loads(run("belljar admin quarantines --json"))["quarantines"]
    assert (held["principal"], held["conversation_id"]) == ("ann", "talk")
    run("belljar admin unblock ann")
    with ann.start("import time\ntime.sleep(60)") as connection:
        wait_until(lambda: shared.request("GET", "/v1/admin/runs").json["runs"], "it runs")
        [going] = shared.request("GET", "/v1/admin/runs").json["runs"]
        run("belljar admin kill-run RUN", RUN=going["execution_id"])
        assert read_answer(connection).json["status"] == "cancelled"
    session = ann.run("1", session=True)["session_id"]
    run("belljar admin kill-session SESSION", SESSION=session)
    assert ann.ask("GET", f"/v1/sessions/{session}").status == 404
    run("belljar admin release ann talk")
    run('belljar admin quarantine ann talk --reason "looked odd"')
    assert ann.ask("GET", "/v1/conversations/talk/files").status == 403
    run('belljar admin block ann --time 12h --reason "looked odd"')
    assert ann.ask("POST", "/execute", {"code": "1"}).status == 403
    run("belljar admin drain on")
    assert shared.request("POST", "/execute", {"code": "1"}).status == 503

    # Investigate.
    runs = json.loads(run("belljar admin runs --state ended --principal ann --json"))["runs"]
    assert len(runs) >= 3
    run("belljar admin sessions --principal ann")
    assert "talk" in run("belljar admin conversations --principal ann")
    diagnostics = run("belljar admin diagnostics")
    assert "evidence" not in diagnostics and ann.token not in diagnostics
    assert alert["execution_id"] in read_trail(
        "belljar audit query --principal ann --since 2026-01-31T12:00:00Z")
    read_trail("belljar audit verify")
    assert alert["execution_id"] in read_trail(
        "belljar audit export --principal ann >evidence.jsonl")
    kept = shared.request("GET", "/v1/admin/quarantines/ann/talk/files/note.txt")
    assert kept.body == b"evidence"

    # Remediate.
    run("belljar admin token-revoke ann")
    assert ann.ask("GET", "/v1/runners").status == 401
    ann.token = run("belljar admin token-create ann --role user").split("token: ")[1].split()[0]
    run("belljar admin drain off")
    assert ann.ask("POST", "/execute", {"code": "1"}).status == 403
    run("belljar admin unblock ann")
    run("belljar admin release ann talk", code=0)
    record = ann.run("open('note.txt').read()", conversation_id="talk")
    assert record["result"] == "evidence" and record["file_access"]["read"] == ["note.txt"]

    told = set(commands())
    assert told <= done, f"not tried: {told - done}"
    assert BINARY.exists()
