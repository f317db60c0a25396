"""The configuration: typos stop the start with a sentence, every value knows its origin."""

import re
import subprocess

import pytest

from support_binary import BINARY, COMMAND_SECONDS, belljar, environment


def write_config(place, text):
    file = place / "belljar.toml"
    file.write_text(text)
    return file


def problem_of(place, text, command=("config", "show")):
    file = write_config(place, text)
    ended = belljar("--config", file, *command)
    assert (ended.returncode, ended.stdout) == (1, b""), ended
    return ended.stderr.decode(), str(file)


def shown(*arguments, env=None):
    """The table of `config show` as {key: (value, origin)}."""
    ended = belljar("config", "show", *arguments, env=env)
    assert (ended.returncode, ended.stderr) == (0, b"")
    rows = (line.split(None, 1) for line in ended.stdout.decode().splitlines())
    table = {}
    for key, rest in rows:
        value, _, origin = rest.strip().partition("  ")
        table[key] = value, origin.strip()
    return table


def test_typo_in_a_key_names_file_line_key_and_the_nearest(place):
    problem, file = problem_of(place, '[limits]\nmemory = "1g"\ntimout = "5s"\n')
    assert f"{file}:3" in problem
    assert "limits.timout" in problem
    assert "limits.timeout" in problem


def test_typo_in_a_section_names_the_nearest(place):
    problem, file = problem_of(place, '\n[limit]\ntimeout = "5s"\n')
    assert f"{file}:2" in problem or f"{file}:3" in problem
    assert "limits" in problem


@pytest.mark.parametrize(("text", "line", "key", "allowed"), [
    ('[auth]\nmode = "nobody"\n', 2, "auth.mode", ["token", "none"]),
    ('[log]\n\nlevel = "loud"\n', 3, "log.level", ["debug", "info", "warning", "error"]),
    ('[limits]\ntimeout = "soon"\n', 2, "limits.timeout", ["500ms", "24h"]),
    ('[limits]\nprocesses = 0\n', 2, "limits.processes", ["1", "32768"]),
    ('[limits]\nprocesses = "many"\n', 2, "limits.processes", ["1", "32768"]),
    ('[limits]\nmemory = -5\n', 2, "limits.memory", ["1m"]),
    ('[server]\nlisten = "nowhere"\n', 2, "server.listen", ["127.0.0.1"]),
    ('[isolation]\nrequire = "some"\n', 2, "isolation.require", ["basic", "standard", "full"]),
    ('[tools]\ndialects = ["klingon"]\n', 2, "tools.dialects", ["code-runner"]),
])
def test_bad_value_names_file_line_key_and_what_is_allowed(place, text, line, key, allowed):
    problem, file = problem_of(place, text)
    assert f"{file}:{line}" in problem
    assert key in problem
    for word in allowed:
        assert word in problem


@pytest.mark.parametrize("command", [
    ("serve", "--listen", "127.0.0.1:0"), ("mcp",), ("doctor",), ("config", "show")])
def test_typo_stops_every_command(place, command):
    problem, _ = problem_of(place, "[limits]\ntimout = 5\n", command)
    assert "limits.timout" in problem


@pytest.mark.parametrize("command", [("run", "-"), ("validate", "-"), ("attack",)])
def test_typo_stops_what_answers_with_its_exit_code_with_125(place, command):
    file = write_config(place, "[limits]\ntimout = 5\n")
    ended = belljar("--config", file, *command, stdin=b"print(1)")
    assert (ended.returncode, ended.stdout) == (125, b"")
    assert b"limits.timout" in ended.stderr


def test_all_problems_are_told_at_once(place):
    problem, file = problem_of(place, "[limits]\ntimout = 5\n[log]\nlevel = 7\n")
    assert f"{file}:2" in problem and f"{file}:4" in problem


@pytest.mark.parametrize("text", ["[limits\n", "= 5\n", "[limits]\ntimeout = \n", "\0", "\xff"])
def test_file_that_is_no_toml(place, text):
    problem, file = problem_of(place, text)
    assert f"{file}:" in problem


def test_missing_file():
    ended = belljar("--config", "/nowhere/belljar.toml", "config", "show")
    assert ended.returncode == 1
    assert b"/nowhere/belljar.toml" in ended.stderr


def test_typo_in_the_environment():
    ended = belljar("config", "show", env=environment(BELLJAR_LIMITS_TIMOUT="5s"))
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b"BELLJAR_LIMITS_TIMOUT" in ended.stderr and b"BELLJAR_LIMITS_TIMEOUT" in ended.stderr


def test_bad_value_in_the_environment():
    ended = belljar("config", "show", env=environment(BELLJAR_LIMITS_PROCESSES="0"))
    assert ended.returncode == 1
    assert b"BELLJAR_LIMITS_PROCESSES" in ended.stderr and b"32768" in ended.stderr


def test_bad_flag_value(place):
    ended = belljar("serve", "--auth", "maybe", "--data-dir", place / "data")
    assert ended.returncode == 1
    assert b"--auth" in ended.stderr and b"token" in ended.stderr


@pytest.mark.parametrize(("words", "exit_code", "said"), [
    (("serve", "--data-dir", "run", "--listen", "127.0.0.1:0", "--auth", "maybe"), 1, b"--auth"),
    (("--config", "run", "config", "show"), 0, b"limits.timeout"),
    (("--config", "run", "run", "-", "a", "--json"), 0, b"['a', '--json']")])
def test_value_may_be_called_as_a_command(place, words, exit_code, said):
    (place / "run").touch()
    ended = subprocess.run([BINARY, *words], cwd=place, input=b"import sys; print(sys.argv[1:])",
                           capture_output=True, env=environment(), timeout=COMMAND_SECONDS,
                           check=False)
    assert ended.returncode == exit_code, ended
    assert said in ended.stdout + ended.stderr


def test_every_default_says_so():
    table = shown()
    assert table["limits.timeout"] == ("30s", "default")
    assert table["server.listen"] == ("127.0.0.1:8080", "default")
    assert {origin for _, origin in table.values()} == {"default"}


def test_origins(place):
    file = write_config(place, '[limits]\nmemory = "512m"\ntimeout = "7s"\nprocesses = 5\n')
    env = environment(BELLJAR_LIMITS_TIMEOUT="9s", MAX_MEMORY_MB="1024")
    table = shown("--config", file, env=env)
    assert table["limits.memory"] == ("512m", f"{file}:2")
    assert table["limits.processes"] == ("5", f"{file}:4")
    assert table["limits.timeout"][0] == "9s"
    assert "BELLJAR_LIMITS_TIMEOUT" in table["limits.timeout"][1]
    assert table["limits.max_memory"][0] == "1g"
    assert "MAX_MEMORY_MB" in table["limits.max_memory"][1]


def test_flag_wins_over_environment_and_file(own_server, place):
    file = write_config(place, '[auth]\nmode = "token"\n')
    server = own_server("--config", file, "--auth", "none",
                        env=environment(BELLJAR_AUTH_MODE="token"))
    assert server.execute("6*7")["result"] == 42
    assert server.token is None


def test_settings_hold(own_server, place):
    file = write_config(place, '[limits]\nmax_timeout = "2s"\ntimeout = "1s"\noutput = "100"\n')
    server = own_server("--config", file)
    assert server.execute("1", timeout=3)["capped"] == {"timeout": {"asked": 3, "given": 2}}
    assert server.execute("while True: pass")["status"] == "timeout"
    record = server.execute("print('x' * 1000)")
    assert record["stdout_truncated"] and len(record["stdout"]) < 200


def test_secrets_are_not_shown():
    ended = belljar("config", "show", env=environment(MCP_API_TOKEN="a-token-of-the-operator"))
    assert ended.returncode == 0
    assert b"a-token-of-the-operator" not in ended.stdout


def test_reference_is_a_valid_file_of_defaults(place):
    text = belljar("config", "reference").stdout.decode()
    every_key_set = re.sub(r"^#(?=\S+ = )", "", text, flags=re.MULTILINE)
    table = shown("--config", write_config(place, every_key_set))
    assert all("belljar.toml:" in origin or value == "(not set)"
               for value, origin in table.values())
    assert {key: value for key, (value, _) in table.items()} == \
        {key: value for key, (value, _) in shown().items()}
