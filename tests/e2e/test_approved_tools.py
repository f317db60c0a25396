"""Approved tools: what a manifest lets through, to whom, and what changes while a server runs."""

import json
import os
import shutil

import pytest

from support_binary import BINARY, belljar, environment, wait_until
from support_tools import approve, entry, log_of, make_token, refusals_of


@pytest.fixture
def folder(place):
    directory = place / "tools"
    directory.mkdir()
    (directory / "version.py").write_text("NUMBER = 1\n")
    (directory / "other.py").write_text("def name():\n    return 'other'\n")
    return directory


def start(own_server, folder, **settings):
    return own_server(env=environment(BELLJAR_TOOLS_PATH=str(folder), **settings))


def seen(server, **arguments):
    """What a program sees of the tools."""
    record = server.execute("import os\nsorted(os.listdir('/tools'))", **arguments)
    return record["result"]


def number(server, **arguments):
    return server.execute("import version\nversion.NUMBER", **arguments)["result"]


# --- the manifest

def test_only_what_is_listed_and_unchanged_is_served(own_server, folder):
    (folder / "changed.py").write_text("A = 1\n")
    (folder / "gone.py").write_text("A = 1\n")
    approve(folder)
    (folder / "changed.py").write_text("A = 2\n")
    (folder / "gone.py").unlink()
    (folder / "unlisted.py").write_text("A = 1\n")
    (folder / "README.md").write_text("no module\n")
    (folder / "out.py").symlink_to("/etc/hostname")
    server = start(own_server, folder)
    assert seen(server) == ["other.py", "version.py"]
    assert sorted(refusals_of(server)) == [
        ("changed.py", "changed"), ("gone.py", "missing"), ("out.py", "unlisted"),
        ("unlisted.py", "unlisted")]
    record = server.execute("import changed")
    assert record["error"]["type"] == "ModuleNotFoundError"


@pytest.fixture
def closed_installation(place):
    """The programs of this build where only root can go, as in its home."""
    home = place / "home"
    home.mkdir(mode=0o700)
    for name in ("belljar", "belljar-init", "belljar-keeper", "belljar-python.so",
                 "belljar-warden"):
        shutil.copy2(BINARY.parent / name, home / name)
    shutil.copytree(BINARY.parent / "tools", home / "tools")
    return home


def test_tools_beside_a_program_out_of_reach_are_served(own_server, closed_installation):
    server = own_server(program=closed_installation / "belljar")
    assert seen(server) == ["log_store.py", "privacy.py", "skills.py", "tool_discovery.py",
                            "workspace.py"]
    assert refusals_of(server) == []
    changed = closed_installation / "tools" / "skills.py"
    changed.write_text(changed.read_text() + "# changed\n")
    wait_until(lambda: ("skills.py", "changed") in refusals_of(server), "the change is seen")


def test_for_development_everything_is_served(own_server, folder):
    (folder / "manifest.toml").write_text("")
    server = start(own_server, folder, BELLJAR_TOOLS_UNLISTED="serve")
    assert seen(server) == ["other.py", "version.py"] and refusals_of(server) == []


def test_without_a_manifest_nothing_is_served(own_server, folder):
    server = start(own_server, folder)
    assert seen(server) == []
    assert refusals_of(server) == [("other.py", "unlisted"), ("version.py", "unlisted")]


def test_a_manifest_may_lie_elsewhere(own_server, folder, place):
    approve(folder)
    (folder / "manifest.toml").rename(place / "approved.toml")
    server = start(own_server, folder, BELLJAR_TOOLS_MANIFEST=str(place / "approved.toml"))
    assert seen(server) == ["other.py", "version.py"]


HOSTILE = {
    "a typo": "[[modul]]\nfile = 'version.py'\n",
    "no toml": "\x00\x01\x02",
    "no digest": "[[module]]\nfile = 'version.py'\nowner = 'x'\nversion = '1'\n",
    "a way out": "[[module]]\nfile = '../x.py'\nsha256 = '%s'\nowner = 'x'\nversion = '1'\n"
                 % ("a" * 64),
    "nobody or everybody": "[[module]]\nfile = 'version.py'\nsha256 = '%s'\nowner = 'x'\n"
                           "version = '1'\nroles = []\n" % ("a" * 64),
    "huge": "# " + "x" * (2 << 20),
    "deep": "a = " + "[" * 10_000,
}


def test_a_bad_manifest_leaves_what_was_there(own_server, folder):
    approve(folder)
    server = start(own_server, folder)
    good = (folder / "manifest.toml").read_text()
    told = 0
    for text in [*HOSTILE.values(), good + good]:
        (folder / ".new").write_text(text)
        os.replace(folder / ".new", folder / "manifest.toml")
        told += 1
        wait_until(lambda count=told: len(refusals_of(server)) == count, "the manifest is refused")
        assert refusals_of(server)[-1] == ("", "manifest")
        assert seen(server) == ["other.py", "version.py"]


# --- changes while it runs

def test_a_new_version_is_for_new_jars(own_server, folder):
    approve(folder)
    server = start(own_server, folder)
    session = server.execute("import version\nversion.NUMBER", session=True)
    running = server.execute("import os\nopen('/tools/version.py').read()", session=True)
    assert (session["result"], running["result"]) == (1, "NUMBER = 1\n")
    (folder / "version.py").write_text("NUMBER = 2\n")
    approve(folder)
    wait_until(lambda: number(server) == 2, "new runs have the new version")
    for _ in range(5):  # none of those made ahead has the old one
        assert number(server) == 2
    old = server.execute("import importlib\nimportlib.reload(version).NUMBER",
                         session_id=session["session_id"])
    assert old["result"] == 1, old


def test_a_change_without_approval_takes_the_module_away(own_server, folder):
    approve(folder)
    server = start(own_server, folder)
    (folder / "version.py").write_text("NUMBER = 666\n")
    wait_until(lambda: seen(server) == ["other.py"], "the module is gone")
    assert refusals_of(server) == [("version.py", "changed")]
    (folder / "version.py").write_text("NUMBER = 1\n")
    wait_until(lambda: number(server) == 1, "it is back")


def test_a_config_map_is_swapped_at_once(own_server, place):
    folder = place / "tools"
    folder.mkdir()

    def make(name, value):
        version = folder / name
        version.mkdir()
        (version / "version.py").write_text(f"NUMBER = {value}\n")
        approve(version)

    make("..1", 1)
    (folder / "..data").symlink_to("..1")
    for name in ("version.py", "manifest.toml"):
        (folder / name).symlink_to(f"..data/{name}")
    server = start(own_server, folder)
    assert number(server) == 1
    make("..2", 2)
    (folder / "..new").symlink_to("..2")
    os.replace(folder / "..new", folder / "..data")
    wait_until(lambda: number(server) == 2, "the new version is served")
    assert refusals_of(server) == []


def test_a_link_to_the_directory_is_swapped(own_server, place):
    for value in (1, 2):
        checkout = place / f"checkout-{value}" / "tools"
        checkout.mkdir(parents=True)
        (checkout / "version.py").write_text(f"NUMBER = {value}\n")
        approve(checkout)
    (place / "current").symlink_to("checkout-1")
    server = start(own_server, place / "current" / "tools")
    assert number(server) == 1
    (place / "next").symlink_to("checkout-2")
    os.replace(place / "next", place / "current")
    wait_until(lambda: number(server) == 2, "the other checkout is served")


# --- modules that do no good

BAD = {
    "fails.py": "raise RuntimeError('not today')\n",
    "hangs.py": "import time\ntime.sleep(1000)\n",
    "leaves.py": "import os\nos._exit(0)\n",
    "broken.py": "def broken(:\n",
    "json.py": "x = 1\n",
    "os.py": "x = 1\n",
    "needs_broken.py": "import broken\n",
    "needs_json.py": "import tools.json\n",
    "kills.py": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\n"
                "time.sleep(9)\n",
}
REASONS = {"fails.py": "import_failed", "hangs.py": "import_hangs", "leaves.py": "import_failed",
           "broken.py": "import_failed", "json.py": "shadows", "os.py": "shadows",
           "needs_broken.py": "import_failed", "needs_json.py": "import_failed",
           "kills.py": "import_failed"}


def test_what_cannot_be_imported_is_left_out_and_the_rest_goes_on(own_server, folder):
    for name, text in BAD.items():
        (folder / name).write_text(text)
    approve(folder)
    server = start(own_server, folder)
    assert dict(refusals_of(server)) == REASONS
    assert seen(server) == ["other.py", "version.py"]
    texts = {line["file"]: line["text"] for line in log_of(server, "not served")}
    assert "not today" in texts["fails.py"] and "5 s" in texts["hangs.py"]


# --- who may use them

def test_a_module_is_there_for_those_it_is_for(own_server, folder):
    (folder / "secret.py").write_text("WORD = 'xyzzy'\n")
    approve(folder, secret={"roles": ["analysts"], "principals": ["ada"]},
            other={"principals": ["ada"]})
    server = start(own_server, folder)
    tokens = {"ada": make_token(server, "ada", "user"), "bob": make_token(server, "bob", "user"),
              "eve": make_token(server, "eve", "user", "analysts")}

    def ask(name, code):
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        return server.request("POST", "/execute", {"code": code}, headers, token=False).json

    listing = "import os\nsorted(os.listdir('/tools'))"
    assert ask("ada", listing)["result"] == ["other.py", "secret.py", "version.py"]
    assert ask("bob", listing)["result"] == ["version.py"]
    assert ask("eve", listing)["result"] == ["secret.py", "version.py"]
    assert ask("eve", "import secret\nsecret.WORD")["result"] == "xyzzy"
    refused = ask("bob", "import secret")
    assert refused["error"]["type"] == "ModuleNotFoundError"
    found = {name: [one["name"] for one in search(server, tokens[name])] for name in tokens}
    assert found == {"ada": ["name"], "bob": [], "eve": []}


def search(server, token):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search_tools", "arguments": {"query": "name"}}}
    headers = {"Authorization": f"Bearer {token}", "MCP-Protocol-Version": "2025-06-18",
               "Accept": "application/json, text/event-stream"}
    answer = server.request("POST", "/mcp", body, headers, token=False).json
    return [one for one in answer["result"]["structuredContent"]["results"]
            if one["kind"] == "function"]


def test_logs_are_shown_to_whoever_has_a_module_for_them(own_server, folder, place):
    logs = place / "logs"
    logs.mkdir()
    (logs / "pay.log").write_text("ERROR x\n")
    approve(folder, other={"needs": ["logs"], "principals": ["ada"]})
    server = start(own_server, folder, BELLJAR_TOOLS_LOGS_PATH=str(logs))
    token = make_token(server, "ada", "user")
    code = "import os\n[os.path.exists('/logs'), os.path.exists('/logs/pay.log')]"
    headers = {"Authorization": f"Bearer {token}"}
    answer = server.request("POST", "/execute", {"code": code}, headers, token=False)
    assert answer.json["result"] == [True, True]
    assert server.execute(code)["result"] == [False, False]


# --- the command

def tools(*arguments, folder, **settings):
    return belljar("tools", *arguments, env=environment(BELLJAR_TOOLS_PATH=str(folder), **settings))


def test_the_command_lists_verifies_and_drafts(folder):
    listed = tools("list", "--json", folder=folder)
    assert listed.returncode == 1
    told = json.loads(listed.stdout)
    assert told["served"] == [] and [one["reason"] for one in told["refused"]] == ["unlisted"] * 2

    draft = tools("manifest", "--owner", "platform", folder=folder)
    assert draft.returncode == 0
    (folder / "manifest.toml").write_bytes(draft.stdout)
    listed = tools("list", folder=folder)
    assert listed.returncode == 0 and b"platform" in listed.stdout

    (folder / "fails.py").write_text("1 / 0\n")
    (folder / "manifest.toml").write_text((folder / "manifest.toml").read_text() + "\n"
                                          + entry(folder, "fails.py"))
    assert tools("list", folder=folder).returncode == 0
    verified = tools("verify", "--json", folder=folder)
    assert verified.returncode == 1, verified
    told = json.loads(verified.stdout)
    assert [one["module"] for one in told["served"]] == ["other", "version"]
    assert [(one["file"], one["reason"]) for one in told["refused"]] == [
        ("fails.py", "import_failed")]


def test_what_comes_with_belljar_is_approved():
    verified = belljar("tools", "verify", "--json", env=environment())
    told = json.loads(verified.stdout)
    assert verified.returncode == 0 and told["refused"] == []
    assert {one["module"] for one in told["served"]} == {
        "log_store", "privacy", "skills", "tool_discovery", "workspace"}
    assert all(one["owner"] and one["version"] and one["description"] for one in told["served"])
