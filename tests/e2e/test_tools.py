"""The directory of approved tools: what stops the start, and what programs see of it."""

import json
import os

import pytest

from support_binary import belljar, environment, run_code
from support_tools import approve
from support_unprivileged import Unprivileged


@pytest.fixture
def tools(place):
    folder = place / "tools"
    folder.mkdir()
    (folder / "greeting.py").write_text("def greet(name):\n    return f'Hello, {name}'\n")
    (folder / "json.py").write_text("raise RuntimeError('the tool and not the standard module')\n")
    (folder / "deep").mkdir()
    (folder / "deep" / "part.py").write_text("from tools import greeting\n")
    approve(folder)
    return folder


def run_with(tools, code, *options, **settings):
    env = environment(BELLJAR_TOOLS_PATH=str(tools), **settings)
    return belljar("run", *options, "-", stdin=code.encode(), env=env)


def refused(path):
    ended = run_with(path, "print(1)")
    assert (ended.returncode, ended.stdout) == (125, b""), ended
    return ended.stderr.decode()


@pytest.mark.parametrize("code", [
    "import tools.greeting\nprint(tools.greeting.greet('you'))",
    "from tools import greeting\nprint(greeting.greet('you'))",
    "from tools.greeting import greet\nprint(greet('you'))",
    "import greeting\nprint(greeting.greet('you'))",
    "import deep.part\nprint(deep.part.greeting.greet('you'))",
    "import importlib\nprint(importlib.import_module('tools.greeting').greet('you'))"])
def test_a_tool_is_imported(tools, code):
    ended = run_with(tools, code)
    assert (ended.stdout, ended.stderr) == (b"Hello, you\n", b"")


def test_the_package_looks_like_one(tools):
    code = "import importlib.util, tools\n" \
           "print(list(tools.__path__), importlib.util.find_spec('tools').name)"
    assert run_with(tools, code).stdout == b"['/tools'] tools\n"


def test_a_tool_hides_no_standard_module(tools):
    assert run_with(tools, "import json\nprint(json.dumps([1]))").stdout == b"[1]\n"
    ended = run_with(tools, "import tools.json")
    assert b"the tool and not the standard module" in ended.stderr


@pytest.mark.parametrize("name", ["tools.py", "tools/__init__.py"])
def test_a_module_of_the_program_comes_first(own_server, tools, name):
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(tools)))
    record = server.execute("import tools, greeting\n[tools.WHOSE, greeting.greet('you')]",
                            files={name: "WHOSE = 'the program'"})
    assert record["result"] == ["the program", "Hello, you"], record["stderr"]


def test_a_module_that_the_program_writes_comes_first(own_server, tools):
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(tools)))
    record = server.execute("open('tools.py', 'w').write('WHOSE = 1')\nimport tools\ntools.WHOSE")
    assert record["result"] == 1, record["stderr"]


def test_without_tools_there_is_no_package(place, own_server):
    (place / "empty").mkdir()
    code = "import sys\nprint('/tools' in sys.path, 'tools' in sys.modules)\nimport tools"
    ended = run_with(place / "empty", code)
    assert ended.stdout == b"False False\n" and b"No module named 'tools'" in ended.stderr
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(place / "empty")))
    assert server.execute("import tools")["error"]["message"] == "No module named 'tools'"


def test_without_a_setting_there_are_those_beside_the_program():
    ended = run_code("from tools import privacy\nimport log_store\n"
                     "print(privacy.scrub_emails('a@b.de'))")
    assert (ended.stdout, ended.stderr) == (b"[EMAIL_REDACTED]\n", b"")


def test_a_relative_path_is_that_of_the_start(tools):
    ended = run_with(os.path.relpath(tools), "import greeting\nprint(greeting.greet('you'))")
    assert (ended.stdout, ended.stderr) == (b"Hello, you\n", b"")


def test_a_link_is_followed(tools, place):
    (place / "link").symlink_to(tools)
    ended = run_with(place / "link", "import greeting\nprint(greeting.greet('you'))")
    assert (ended.stdout, ended.stderr) == (b"Hello, you\n", b"")


def test_a_place_that_does_not_exist_is_named(place):
    sentence = refused(place / "nowhere")
    assert "tools.path" in sentence and str(place / "nowhere") in sentence


def test_a_file_is_no_directory(place):
    (place / "file").write_text("")
    sentence = refused(place / "file")
    assert "tools.path" in sentence and "not a directory" in sentence


def test_a_directory_that_programs_cannot_read_is_named(tools):
    tools.chmod(0o700)
    sentence = refused(tools)
    assert "tools.path" in sentence and "chmod o+rx" in sentence


def test_an_ordinary_user_reads_only_what_is_its_own(tools, place):
    user = Unprivileged(place / "user")
    settings = {"BELLJAR_TOOLS_PATH": str(tools), "BELLJAR_ISOLATION_REQUIRE": "basic"}
    command = [user.programs / "belljar", "run", "-"]
    code = b"import greeting\nprint(greeting.greet('you'))"
    assert user.run(command, settings, stdin=code).stdout == b"Hello, you\n"
    tools.chmod(0o700)
    ended = user.run(command, settings, stdin=code)
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert b"tools.path" in ended.stderr


def test_without_namespaces_programs_run_without_tools(tools):
    ended = run_with(tools, "import sys\nprint('/tools' in sys.path)",
                     BELLJAR_ISOLATION_MODE="nested", BELLJAR_ISOLATION_REQUIRE="basic")
    assert (ended.returncode, ended.stdout) == (0, b"False\n")


def log_of(server):
    assert server.stop() == 0
    return [json.loads(line) for line in server.errors.splitlines()]


def test_a_setting_that_works_is_not_called_useless(own_server, tools):
    server = own_server(env=environment(
        BELLJAR_TOOLS_PATH=str(tools), BELLJAR_TOOLS_LOGS_PATH="/var/log",
        BELLJAR_ISOLATION_MODE="root", SANDBOX_ENABLE_CONTAINER_MODE="true",
        BELLJAR_ISOLATION_SCRATCH="/var/tmp", SANDBOX_CONTAINER_IMAGE="some:image"))
    useless = [line["key"] for line in log_of(server) if "no effect" in line["message"]]
    assert useless == ["isolation.container_image"]


def test_tools_without_namespaces_are_called_useless(own_server, tools):
    server = own_server(env=environment(BELLJAR_TOOLS_PATH=str(tools),
                                        BELLJAR_ISOLATION_MODE="nested",
                                        BELLJAR_ISOLATION_REQUIRE="basic"))
    assert any("tools.path has no effect" in line["message"] for line in log_of(server))
