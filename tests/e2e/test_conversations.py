"""Files that outlive a run: what one program of a conversation leaves, the next one finds."""

import hashlib
import json
import threading
import urllib.parse
import uuid

import pytest

from support_binary import BINARY, belljar, environment
from support_mcp import StdioServer, call, initialize
from support_unprivileged import Unprivileged

TOKENS = {"one": "bj_token_of_one", "two": "bj_token_of_two"}

WRITERS = {
    "python": "open('note.txt', 'w').write('kept')",
    "javascript": "require('fs').writeFileSync('note.txt', 'kept')",
    "bash": "printf kept > note.txt",
}
READERS = {
    "python": "print(open('/data/note.txt').read(), end='')",
    "javascript": "process.stdout.write(require('fs').readFileSync('/workspace/note.txt', 'utf8'))",
    "bash": "cat /workspace/note.txt",
}


class Talk:
    """A conversation of its own."""

    def __init__(self, server, name=None, headers=None):
        self.server, self.headers = server, headers
        self.id = name or f"talk {uuid.uuid4()}"

    def ask(self, code, status="ok", **arguments):
        answer = self.server.request(
            "POST", "/execute", {"code": code, "conversation_id": self.id, **arguments},
            self.headers)
        assert answer.status == 200, answer
        record = answer.json
        assert record["status"] == status, record
        assert record["conversation_id"] == self.id
        return record

    def changes(self, code, **arguments):
        return changes_of(self.ask(code, **arguments))

    def names(self):
        """Every file that a new program of the conversation finds."""
        code = ("import os\nsorted(os.path.relpath(os.path.join(top, name), '/workspace')"
                " for top, _, names in os.walk('/workspace') for name in names)")
        return self.ask(code)["result"]

    def read(self, path):
        return self.ask(f"open({path!r}).read()")["result"]


def changes_of(record):
    return {file["name"]: file["change"] for file in record["files"]}


@pytest.fixture
def talk(server):
    return Talk(server)


# --- what is kept ---------------------------------------------------------------------------


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("reader", READERS)
def test_what_one_language_writes_another_reads(talk, writer, reader):
    record = talk.ask(WRITERS[writer], language=writer)
    assert changes_of(record) == {"note.txt": "created"}
    assert talk.ask(READERS[reader], language=reader)["stdout"] == "kept"


def test_jars_made_ahead_have_the_files_too(own_server):
    server = own_server(env=environment(BELLJAR_POOL_READY="1"))
    for language, code in WRITERS.items():
        talk = Talk(server)
        for _ in range(3):
            talk.ask(code, language=language)
            assert talk.ask(READERS[language], language=language)["stdout"] == "kept"
    assert server.stop() == 0


def test_compiled_programs_have_the_files(talk):
    talk.ask("open('note.txt', 'w').write('kept')")
    code = ('#include <stdio.h>\nint main(void) { char text[8] = {0};'
            ' fread(text, 1, 4, fopen("note.txt", "r")); fputs(text, stdout);'
            ' fputs("c", fopen("from_c", "w")); return 0; }')
    record = talk.ask(code, language="c")
    assert record["stdout"] == "kept"
    assert changes_of(record) == {"from_c": "created"}, "the program itself is no file of ours"


def test_a_program_that_asks_for_its_own_file_leaves_none(talk):
    code = "open(__file__).read()"
    assert talk.ask(code)["result"] == code
    for record in (talk.ask(f"open('note.txt', 'w').write('kept')\n{code}"),
                   talk.ask(f"open('more.txt', 'w').write({code})\nwhile True: pass",
                            status="timeout", timeout=1)):
        assert len(record["files"]) == 1, record["files"]
    assert talk.names() == ["more.txt", "note.txt"]
    record = talk.ask(code, files={"main.py": "mine"})
    assert (record["result"], changes_of(record)) == ("mine", {"main.py": "created"})
    assert talk.ask(code)["result"] == "mine"


@pytest.mark.parametrize("code", [
    "require('fs').readFileSync(__filename, 'utf8')",
    "import fs from 'node:fs'\nimport { Worker } from 'node:worker_threads'\n"
    "fs.readFileSync(new URL(import.meta.url), 'utf8')"])
def test_a_javascript_program_leaves_none_either(talk, code):
    for number in range(2):
        program = f"{code} // {number}"
        record = talk.ask(program, language="javascript")
        assert (record["result"], record["files"]) == (program, [])
    assert talk.names() == []


def test_a_file_is_described(talk):
    record = talk.ask("import os; os.makedirs('a b')\nopen('a b/ü.csv', 'w').write('1,2')")
    content = b"1,2"
    url = record["files"][0].pop("url")
    assert "/files/" in url and talk.server.request(
        "GET", "/" + url.split("/", 3)[3], token=False).body == content
    assert record["files"] == [{
        "name": "a b/ü.csv", "change": "created", "size": 3, "mime": "text/csv",
        "sha256": hashlib.sha256(content).hexdigest(),
        "uri": f"belljar://conversations/{urllib.parse.quote(talk.id, safe='')}/files/"
               + urllib.parse.quote("a b/ü.csv")}]


def test_created_changed_and_deleted_are_told_apart(talk):
    talk.ask("for name in 'abcd': open(name, 'w').write(name)")
    assert talk.changes("import os\nos.remove('a')\nopen('b', 'w').write('B')\n"
                        "open('c', 'a').close()\nopen('e', 'w')\n"
                        "open('d', 'w').write('d')") == {
        "a": "deleted", "b": "changed", "e": "created"}
    assert talk.names() == ["b", "c", "d", "e"]
    assert talk.changes("import os; os.rename('b', 'f')") == {"b": "deleted", "f": "created"}


def test_directories_and_programs_stay_what_they_are(talk):
    talk.ask("mkdir -p empty/below; printf '#!/bin/sh\\necho ran' > tool; chmod +x tool",
             language="bash")
    assert talk.ask("ls -d empty/below; ./tool", language="bash")["stdout"] == "empty/below\nran\n"
    talk.ask("rmdir empty/below empty", language="bash")
    assert talk.ask("ls", language="bash")["stdout"] == "main.sh\ntool\n"


def test_a_file_may_become_a_directory_and_back(talk):
    talk.ask("open('x', 'w').write('file')")
    talk.ask("import os; os.remove('x'); os.mkdir('x'); open('x/y', 'w').write('below')")
    assert talk.names() == ["x/y"]
    talk.ask("import shutil; shutil.rmtree('x'); open('x', 'w').write('again')")
    assert talk.read("x") == "again"


def test_uploaded_files_become_the_conversations(talk):
    assert talk.changes("1", files={"up/data.json": "{}"}) == {"up/data.json": "created"}
    assert talk.read("up/data.json") == "{}"


def test_large_files_come_back_whole(talk):
    code = ("import hashlib, os\ndata = os.urandom(1 << 20) * 24\n"
            "open('large', 'wb').write(data)\nhashlib.sha256(data).hexdigest()")
    record = talk.ask(code)
    assert record["files"][0]["size"] == 24 << 20
    assert record["files"][0]["sha256"] == record["result"]
    read = "import hashlib\nhashlib.sha256(open('large', 'rb').read()).hexdigest()"
    assert talk.ask(read)["result"] == record["result"]


def test_without_a_conversation_nothing_is_kept(server):
    assert server.execute("open('x', 'w').write('1')")["files"] == []
    assert server.execute("import os; os.listdir('/workspace')")["result"] == []


# --- how a run ends -------------------------------------------------------------------------


@pytest.mark.parametrize("code, status, arguments", [
    ("open('x', 'w').write('1'); raise ValueError", "error", {}),
    ("open('x', 'w').write('1')\nimport os; os.abort()", "killed", {}),
    ("open('x', 'w').write('1')\nwhile True: pass", "timeout", {"timeout": 1}),
    ("open('x', 'w').write('1')\nheld = []\nwhile True: held.append(bytearray(1 << 24))",
     "memory", {}),
    ("open('x', 'w').write('1')\nwhile True: print('x' * (1 << 20))", "output", {}),
])
def test_files_are_kept_however_it_ends(talk, code, status, arguments):
    record = talk.ask(code, status, **arguments)
    assert changes_of(record) == {"x": "created"}, record
    assert talk.read("x") == "1"


@pytest.mark.parametrize("language, code", [
    ("bash", "printf 1 > x; sleep 60"),
    ("javascript", "require('fs').writeFileSync('x', '1'); for (;;) {}"),
])
def test_a_timeout_keeps_files_in_other_languages(talk, language, code):
    talk.ask(code, "timeout", language=language, timeout=1)
    assert talk.read("x") == "1"


def test_what_runs_on_in_the_background_is_ended_first(talk):
    code = ("import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', "
            "'n = 0\\nwhile True:\\n open(\"busy\", \"w\").write(str(n) * 1000); n += 1'])\n"
            "import time\nwhile not __import__('os').path.exists('busy'): time.sleep(0.01)")
    talk.ask(code)
    assert "busy" in talk.names()


def test_a_client_that_leaves_keeps_its_files(server):
    talk = Talk(server)
    connection = server.start_run("open('x', 'w').write('1')\nprint('written', flush=True)\n"
                                  "while True: pass", conversation_id=talk.id)
    other = Talk(server)
    other.ask("1")
    connection.close()
    assert set(talk.names()) <= {"x"}


# --- what is hostile ------------------------------------------------------------------------


def denial_of(record):
    return [denial for denial in record["denials"] if denial["rule"] == "conversation.files"]


def test_links_are_neither_followed_nor_kept(talk):
    record = talk.ask("import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/', 'root')\n"
                      "os.symlink('../..', 'up')\nopen('real', 'w').write('1')")
    assert changes_of(record) == {"real": "created"}
    assert len(denial_of(record)) == 1 and "symbolic link" in denial_of(record)[0]["what"]
    assert talk.names() == ["real"]


def test_special_files_are_not_kept(talk):
    record = talk.ask("import os, socket\nos.mkfifo('pipe')\n"
                      "s = socket.socket(socket.AF_UNIX); s.bind('socket')\n"
                      "open('real', 'w').write('1')")
    assert changes_of(record) == {"real": "created"}
    assert "pipe, socket or device" in denial_of(record)[0]["what"]
    assert talk.names() == ["real"]


def test_hard_links_become_files_of_their_own(talk):
    talk.ask("import os\nopen('a', 'w').write('1'); os.link('a', 'b')")
    talk.ask("open('a', 'w').write('2')")
    assert talk.ask("[open('a').read(), open('b').read()]")["result"] == ["2", "1"]


def test_files_that_their_owner_may_not_read_are_kept(talk):
    talk.ask("import os\nos.makedirs('d')\nopen('d/x', 'w').write('1')\n"
             "os.chmod('d/x', 0)\nos.chmod('d', 0)")
    assert talk.read("d/x") == "1"
    talk.ask("import os\nopen('y', 'w').write('2'); os.chmod('/workspace', 0)")
    assert talk.names() == ["d/x", "y"]


def test_deep_trees_end_somewhere(talk):
    record = talk.ask("import os\nfor _ in range(200):\n os.mkdir('d'); os.chdir('d')\n"
                      "open('x', 'w').write('1')")
    assert "too deep" in denial_of(record)[0]["what"]
    assert talk.names() == []


def test_names_that_are_no_text_are_not_kept(talk):
    record = talk.ask("open(b'\\xff\\xfe', 'w').write('1'); open('a\\nb', 'w').write('1')")
    assert record["files"] == []
    assert "no text" in denial_of(record)[0]["what"]
    assert talk.names() == []


def test_a_million_files_are_bounded(talk):
    code = ("import itertools\ntry:\n"
            " for n in itertools.count(): open(f'f{n}', 'w').close()\n"
            "except OSError as error: print(error)")
    record = talk.server.request("POST", "/execute", {
        "code": code, "conversation_id": talk.id, "timeout": 5}).json
    assert record["status"] in ("ok", "timeout"), "no more files, or no more time, to make them"
    assert 0 < len(record["files"]) <= 10_000
    assert "more than the conversation may have" in denial_of(record)[0]["what"]
    assert talk.ask("import os; len(os.listdir('/workspace')) <= 10_000")["result"]


@pytest.mark.parametrize("name", ["../..", "/etc/passwd", ".", "a/../../b", "%2e%2e/", "x" * 256])
def test_a_conversations_name_is_never_a_path(server, name):
    before = {path.name for path in server.data_directory.iterdir()}
    talk = Talk(server, name)
    talk.ask("open('x', 'w').write('1')")
    assert talk.read("x") == "1"
    assert {path.name for path in server.data_directory.iterdir()} == before


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "x" * 257, 5, ["a"]])
@pytest.mark.parametrize("key", ["conversation_id", "conversationId"])
def test_names_that_cannot_be_are_refused(server, key, name):
    answer = server.request("POST", "/execute", {"code": "1", key: name})
    assert answer.status == 400 and "conversation" in answer.json["error"], answer


# --- who has what ---------------------------------------------------------------------------


def test_files_survive_a_restart(own_server, place):
    data = place / "data"
    first = own_server(data_directory=data)
    Talk(first, "talk").ask("open('x', 'w').write('1')")
    assert first.stop() == 0
    second = own_server(data_directory=data)
    assert Talk(second, "talk").read("x") == "1"


def test_a_killed_server_loses_nothing_that_was_told(own_server, place):
    data = place / "data"
    first = own_server(data_directory=data)
    Talk(first, "talk").ask("open('x', 'w').write('1')")
    connection = first.start_run("open('y', 'w').write('2')\nwhile True: pass",
                                 conversation_id="talk")
    first.stop(9)
    connection.close()
    second = own_server(data_directory=data)
    assert Talk(second, "talk").names() == ["x"]


def test_two_principals_have_two_conversations(own_server):
    server = own_server(env=environment(
        BELLJAR_AUTH_TOKENS=",".join(f"{name}:{token}" for name, token in TOKENS.items())))
    talks = {name: Talk(server, "talk", {"Authorization": f"Bearer {token}"})
             for name, token in TOKENS.items()}
    talks["one"].ask("open('x', 'w').write('hers')")
    assert talks["two"].names() == []
    talks["two"].ask("open('x', 'w').write('his')")
    assert talks["one"].read("x") == "hers"


def test_runs_of_one_conversation_come_one_after_the_other(talk):
    talk.ask("open('n', 'w').write('0')")
    code = ("n = int(open('n').read())\nimport time; time.sleep(0.1)\n"
            "open('n', 'w').write(str(n + 1))")
    runs = [threading.Thread(target=talk.ask, args=(code,)) for _ in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert talk.read("n") == "8"


def test_other_conversations_do_not_wait(server):
    slow, quick = Talk(server), Talk(server)
    connection = server.start_run("while True: pass", conversation_id=slow.id, timeout=20)
    quick.ask("1")
    connection.close()


def test_who_waits_too_long_is_told(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_QUEUE_TIME="1s"))
    connection = server.start_run("print('runs', flush=True)\nwhile True: pass",
                                  conversation_id="talk", timeout=20)
    Talk(server, "other").ask("import time; time.sleep(0.5)")
    answer = server.request("POST", "/execute", {"code": "1", "conversation_id": "talk"})
    assert answer.status == 409 and "another run" in answer.json["error"], answer
    connection.close()


# --- quotas ---------------------------------------------------------------------------------


def test_the_space_of_a_conversation_is_limited(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_WORKSPACE="16m"))
    talk = Talk(server)
    talk.ask("open('a', 'wb').write(bytes(4 << 20))")
    record = talk.ask("import os\nos.link('a', 'b'); os.link('a', 'c'); os.link('a', 'd');"
                      "os.link('a', 'e')")
    assert len(record["files"]) == 3, "four times four is all there is"
    assert "more than the conversation may have" in denial_of(record)[0]["what"]
    sparse = Talk(server).ask("for name in 'ab': open(name, 'w').truncate(12 << 20)")
    assert [file["size"] for file in sparse["files"]] == [12 << 20], "holes count as well"


# --- sessions -------------------------------------------------------------------------------


def test_cells_have_the_files_and_give_them_back(talk):
    talk.ask("open('x', 'w').write('1')")
    cell = talk.ask("x = open('x').read(); open('y', 'w').write('2'); x", session=True)
    assert cell["result"] == "1" and changes_of(cell) == {"y": "created"}
    assert talk.names() == ["x", "y"]
    talk.ask("import os; os.remove('x'); open('z', 'w').write('3')")
    seen = talk.ask("import os; [x, sorted(os.listdir('/workspace'))]", session=True)
    assert seen["result"] == ["1", ["y", "z"]], "what others did meanwhile is there"
    assert seen["files"] == []
    talk.server.request("DELETE", f"/v1/sessions/{cell['session_id']}")


@pytest.mark.parametrize("code, status, arguments", [
    ("open('y', 'w').write('2')\nwhile True: pass", "timeout", {"timeout": 1}),
    ("open('y', 'w').write('2')\nimport os; os.abort()", "killed", {}),
])
def test_a_cell_that_fails_keeps_its_files(talk, code, status, arguments):
    cell = talk.ask(code, status, session=True, **arguments)
    assert changes_of(cell) == {"y": "created"}
    assert talk.read("y") == "2"
    talk.server.request("DELETE", f"/v1/sessions/{cell['session_id']}")


def test_a_javascript_session_that_is_lost_keeps_its_files(talk):
    cell = talk.ask("require('fs').writeFileSync('y', '2'); for (;;) {}", "timeout",
                    language="javascript", session=True, timeout=1)
    assert cell["session"]["state"] == "lost" and changes_of(cell) == {"y": "created"}
    assert talk.read("y") == "2"


def test_a_session_has_one_conversation(talk):
    cell = talk.ask("1", session=True)
    answer = talk.server.request("POST", "/execute", {
        "code": "1", "session_id": cell["session_id"], "conversation_id": "another"})
    assert answer.status == 400 and "conversation" in answer.json["error"], answer
    talk.server.request("DELETE", f"/v1/sessions/{cell['session_id']}")


# --- one local user -------------------------------------------------------------------------


def test_stdio_servers_and_runs_share_the_conversations_of_their_user(place):
    env = environment(BELLJAR_SERVER_DATA_DIR=str(place / "data"))
    servers = [StdioServer(env), StdioServer(env)]

    def value(server, code):
        answer = server.ask(call(2, code, conversation_id="talk"))
        while "id" not in answer:  # it is told of the new file first
            answer = server.receive()
        return answer["result"]["structuredContent"]["result"]

    for server in servers:
        server.ask(initialize())
    value(servers[0], "open('x', 'w').write('1')")
    assert value(servers[1], "open('x').read()") == "1"
    ended = belljar("run", "--conversation", "talk", "-", env=env,
                    stdin=b"print(open('x').read()); open('y', 'w').write('2')")
    assert (ended.returncode, ended.stdout) == (0, b"1\n"), ended
    assert value(servers[0], "open('y').read()") == "2"
    for server in servers:
        assert server.finish()[0] == 0


def test_servers_that_begin_at_once_make_one_data_directory(place):
    for number in range(5):
        env = environment(BELLJAR_SERVER_DATA_DIR=str(place / f"data-{number}"))
        servers = [StdioServer(env) for _ in range(3)]
        assert [server.finish()[0] for server in servers] == [0, 0, 0]


def test_a_run_tells_what_it_changed(place):
    env = environment(BELLJAR_SERVER_DATA_DIR=str(place / "data"))
    ended = belljar("run", "--json", "--conversation", "talk", "-", env=env,
                    stdin=b"open('y', 'w').write('2')")
    assert changes_of(json.loads(ended.stdout)) == {"y": "created"}
    refused = belljar("run", "--conversation", "a\nb", "-", env=env, stdin=b"1")
    assert refused.returncode == 125 and b"--conversation" in refused.stderr


@pytest.mark.parametrize("mode", ["root", "nested"])
def test_every_mode_keeps_files(own_server, mode):
    server = own_server(env=environment(BELLJAR_ISOLATION_MODE=mode,
                                        BELLJAR_ISOLATION_REQUIRE="basic"))
    talk = Talk(server)
    for language in ("python", "bash"):
        talk.ask(WRITERS[language], language=language)
        assert talk.ask(READERS[language].replace("/data/", "").replace("/workspace/", ""),
                        language=language)["stdout"] == "kept"
    talk.ask("open('x', 'w').write('1')\nwhile True: pass", "timeout", timeout=1)
    listing = talk.ask("import os; sorted(os.listdir())")["result"]
    assert listing == ["note.txt", "x"]
    assert not [path for path in server.data_directory.rglob("incoming/*")]


@pytest.mark.parametrize("subordinate_count", [0, 65_536])
def test_an_ordinary_user_keeps_files(place, subordinate_count):
    user = Unprivileged(place / "user", subordinate_count)
    program = str(user.programs / BINARY.name)

    def run(code, *options):
        return user.run([program, "run", "--conversation", "talk", *options, "-"],
                        {"BELLJAR_ISOLATION_MODE": "rootless",
                         "BELLJAR_ISOLATION_REQUIRE": "basic"}, stdin=code.encode())

    first = run("open('x', 'w').write('1')\nprint('written', flush=True)\nwhile True: pass",
                "--timeout", "2")
    assert (first.returncode, first.stdout) == (124, b"written\n"), first
    second = run("print(open('x').read())")
    assert (second.returncode, second.stdout) == (0, b"1\n"), second
    assert (user.home / ".local/share/belljar/mcp/conversations").is_dir()
