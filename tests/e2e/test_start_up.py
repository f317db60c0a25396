"""Starting the server: what stops it, who it runs as, what it logs."""

import json
import os
import re
import stat

import pytest

from support_binary import belljar, environment, wait_until
from support_processes import descendants, status_of

NO_CAPABILITY = "0000000000000000"


def refused(*arguments, env=None):
    """The sentence with which a start fails."""
    ended = belljar(*arguments, env=env)
    assert (ended.returncode, ended.stdout) == (1, b""), ended
    lines = [line for line in ended.stderr.decode().splitlines() if not line.startswith("{")]
    assert lines and lines[0].startswith("belljar: "), ended.stderr
    assert len(lines[0]) > 30
    return "\n".join(lines)


def test_port_in_use(server, place):
    sentence = refused("serve", "--listen", server.address, "--data-dir", place / "data")
    assert server.address in sentence and "in use" in sentence and "--listen" in sentence
    assert server.execute("6*7")["result"] == 42


def test_data_directory_in_use(server):
    sentence = refused("serve", "--listen", "127.0.0.1:0", "--data-dir", server.data_directory)
    assert str(server.data_directory) in sentence and "in use" in sentence
    assert server.execute("6*7")["result"] == 42


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":0"])
def test_no_authentication_only_on_loopback(place, address):
    sentence = refused("serve", "--auth", "none", "--listen", address, "--data-dir", place / "data")
    assert "--auth none" in sentence and "loopback" in sentence


@pytest.mark.parametrize("address", [
    "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", "300.1.1.1:0", "no.such.host.invalid:0", "a b:1",
    "192.0.2.1:0"])
def test_bad_address(place, address):
    refused("serve", "--listen", address, "--data-dir", place / "data")


def test_data_directory_that_is_a_file(place):
    (place / "file").write_text("")
    sentence = refused("serve", "--listen", "127.0.0.1:0", "--data-dir", place / "file")
    assert str(place / "file") in sentence


def test_data_directory_that_cannot_be_made():
    sentence = refused("serve", "--listen", "127.0.0.1:0", "--data-dir", "/proc/belljar")
    assert "/proc/belljar" in sentence


def test_data_directory_is_made_private(own_server, place):
    server = own_server(data_directory=place / "deep" / "er" / "data")
    assert stat.S_IMODE(os.stat(server.data_directory).st_mode) == 0o700
    assert sorted(os.listdir(server.data_directory)) == [
        "alerts", "audit", "conversations", "file_secret", "incoming", "lock", "outputs",
        "sessions", "state", "token", "tokens"]


# Without namespaces more than the lowest grade cannot be had, on any host.
@pytest.mark.parametrize("floor", ["standard", "full"])
def test_isolation_floor_that_is_not_reached(place, floor):
    env = environment(BELLJAR_ISOLATION_REQUIRE=floor, BELLJAR_ISOLATION_MODE="nested")
    sentence = refused("serve", "--listen", "127.0.0.1:0", "--data-dir", place / "data", env=env)
    assert "isolation.require" in sentence and "doctor" in sentence
    assert f'"{floor}"' in sentence and '"basic"' in sentence and "namespaces" in sentence


@pytest.mark.parametrize("floor", ["standard", "full"])
def test_isolation_floor_holds_for_run(floor):
    env = environment(BELLJAR_ISOLATION_REQUIRE=floor, BELLJAR_ISOLATION_MODE="nested")
    ended = belljar("run", "-", stdin=b"print(1)", env=env)
    assert (ended.returncode, ended.stdout) == (125, b"")


def test_root_has_every_layer():
    ended = belljar("run", "--json", "-", stdin=b"print(1)",
                    env=environment(BELLJAR_ISOLATION_REQUIRE="full"))
    assert json.loads(ended.stdout)["isolation"] == {
        "grade": "full", "tier": "kernel", "mode": "root", "missing": []}


def test_server_is_not_root(server):
    status = status_of(server.pid)
    assert "0" not in status["Uid"].split() and "0" not in status["Gid"].split()
    assert status["Groups"] == ""
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert status[name] == NO_CAPABILITY, name
    assert status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("name", ["belljar-warden", "belljar-keeper"])
def test_warden_and_keeper_are_root(server, name):
    assert status_of(server.helper(name))["Uid"].split() == ["0"] * 4


def test_idle_server_is_five_processes(server):
    expected = ["belljar-keeper", "belljar-nursery", "belljar-warden", "python3"]
    wait_until(lambda: sorted(one.name for one in descendants(server.pid)) == expected,
               "only the zygote is left besides them")


def test_warden_inherits_no_secret(server):
    for name in ("belljar-warden", "belljar-keeper"):
        environ = open(f"/proc/{server.helper(name)}/environ", "rb").read()
        assert environ == b""


def log_lines(server):
    return [json.loads(line) for line in server.errors.splitlines()]


def test_log_lines_are_json(own_server):
    server = own_server()
    server.execute("1")
    server.request("POST", "/execute", {"code": 5})
    assert server.stop() == 0
    lines = log_lines(server)
    for line in lines:
        assert {"time", "level", "component", "message"} <= set(line)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line["time"])
        assert line["level"] in ("debug", "info", "warning", "error")
    runs = [line for line in lines if line["message"] == "run"]
    assert runs[-1]["level"] == "info" and runs[-1]["status"] == "ok"


@pytest.mark.parametrize("name", ["LOG_LEVEL", "BELLJAR_LOG_LEVEL"])
def test_log_level_is_respected(own_server, name):
    server = own_server(env=environment(**{name: "error"}))
    server.execute("1")
    assert server.stop() == 0
    assert log_lines(server) == []


def test_log_does_not_hold_programs(own_server):
    server = own_server(env=environment(LOG_LEVEL="debug"))
    server.execute("print('a-secret-of-the-program')", stdin="a-secret-of-the-program")
    server.execute("raise ValueError('a-secret-of-the-program')")
    assert "a-secret-of-the-program" not in server.errors


def test_version():
    ended = belljar("version")
    assert ended.returncode == 0
    assert re.fullmatch(rb"belljar \d+\.\d+\.\d+\S*\n", ended.stdout)
    assert belljar("--version").stdout == ended.stdout


@pytest.mark.parametrize("command", [
    [], ["serve"], ["run"], ["mcp"], ["doctor"], ["config"], ["config", "show"],
    ["config", "reference"], ["version"]], ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(command, flag):
    ended = belljar(*command, flag)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert len(ended.stdout) > 40


@pytest.mark.parametrize("arguments", [
    [], ["nonsense"], ["serve", "--nonsense"], ["serve", "extra"], ["doctor", "--nonsense"],
    ["config"], ["config", "nonsense"]], ids=" ".join)
def test_wrong_usage(arguments):
    ended = belljar(*arguments)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr
