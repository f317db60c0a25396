"""A language is one file: added, changed, broken and removed while the server runs."""

import json
import os
import threading

import pytest

from support_binary import belljar, environment, wait_until

AWK = """# A language that nobody ships.
language = "awk"
aliases = ["mawk"]
detect = ["/usr/bin/mawk", "/usr/bin/gawk", "/usr/bin/awk"]
version = ["{program}", "BEGIN { print 1.5 }"]
file = "main.awk"
command = ["{program}", "-f", "{file}", "--", "{args}"]
"""


@pytest.fixture
def folder(place):
    directory = place / "runners.d"
    directory.mkdir(mode=0o755)
    return directory


def put(folder, name, text, mode=0o644):
    """As a careful operator does it: a reader sees the old or the new."""
    new = folder / f".{name}.new"
    new.write_text(text)
    new.chmod(mode)
    new.rename(folder / name)


def start(own_server, folder, **settings):
    return own_server(env=environment(BELLJAR_RUNNERS_PATH=str(folder), **settings))


def runner(server, language):
    found = [one for one in server.request("GET", "/v1/runners").json["runners"]
             if one["language"] == language]
    return found[0] if found else None


def log_of(server):
    return [json.loads(line) for line in server.errors.splitlines()]


def run_awk(server, code="BEGIN { print 6 * 7 }", **arguments):
    return server.request("POST", "/execute", {"code": code, "language": "awk", **arguments})


def test_a_language_comes_changes_breaks_and_goes(own_server, folder):
    server = start(own_server, folder)
    assert run_awk(server).status == 422

    put(folder, "awk.toml", AWK)
    wait_until(lambda: runner(server, "awk"), "awk is known")
    assert runner(server, "awk")["usable"] is True
    assert run_awk(server).json["stdout"] == "42\n"
    assert run_awk(server, "{ print ARGV[1] $0 }", args=["-"], stdin="x").json["stdout"] == "-x\n"

    put(folder, "awk.toml", AWK.replace('"--",', '"-v", "x=changed", "--",'))
    wait_until(lambda: run_awk(server, "BEGIN { print x }").json["stdout"] == "changed\n",
               "the change is in force")

    put(folder, "awk.toml", AWK + "nonsense = 1\n")
    wait_until(lambda: "nonsense" in server.errors, "the broken file is logged")
    entry = next(line for line in log_of(server) if "nonsense" in line.get("reason", ""))
    assert entry["file"] == "awk.toml" and entry["reason"].startswith("awk.toml:8: unknown key")
    assert run_awk(server, "BEGIN { print x }").json["stdout"] == "changed\n"

    (folder / "awk.toml").unlink()
    wait_until(lambda: runner(server, "awk") is None, "awk is gone")
    assert run_awk(server).status == 422


def test_a_run_keeps_what_it_began_with(own_server, folder):
    put(folder, "awk.toml", AWK)
    server = start(own_server, folder)
    answers = []
    assert runner(server, "awk")["usable"]
    code = 'BEGIN { system("sleep 5"); print "ended" }'
    running = threading.Thread(target=lambda: answers.append(run_awk(server, code)))
    running.start()
    wait_until(lambda: b"belljar_runs_running 1" in server.request("GET", "/metrics").body,
               "the run has begun")
    (folder / "awk.toml").unlink()
    wait_until(lambda: runner(server, "awk") is None, "awk is gone")
    running.join()
    assert answers[0].json["stdout"] == "ended\n"


def test_a_shipped_language_is_replaced_and_comes_back(own_server, folder):
    server = start(own_server, folder, BELLJAR_POOL_READY="1")
    shipped = runner(server, "bash")
    put(folder, "bash.toml", 'language = "bash"\nrunner = "own"\nfile = "main.sh"\n'
        'version = ["/bin/bash", "-c", "echo 99"]\n'
        'command = ["/bin/bash", "-c", "echo replaced"]\n')
    wait_until(lambda: runner(server, "bash")["version"] == "99", "it is replaced")
    record = server.execute("echo mine", language="bash")
    assert (record["runner"], record["stdout"]) == ("own", "replaced\n")
    assert server.request("POST", "/execute", {"code": "1", "language": "sh"}).status == 422
    (folder / "bash.toml").unlink()
    wait_until(lambda: runner(server, "bash") == shipped, "the shipped one is back")
    assert server.execute("echo mine", language="sh")["stdout"] == "mine\n"


@pytest.mark.parametrize("spoil", ["group", "others", "owner", "link", "directory"])
def test_what_others_could_have_written_is_not_read(own_server, folder, spoil):
    put(folder, "awk.toml", AWK, {"group": 0o664, "others": 0o646}.get(spoil, 0o644))
    if spoil == "owner":
        os.chown(folder / "awk.toml", 12345, 12345)
    elif spoil == "link":
        (folder / "awk.toml").rename(folder / "real")
        (folder / "awk.toml").symlink_to("real")
    elif spoil == "directory":
        folder.chmod(0o777)
    server = start(own_server, folder)
    assert runner(server, "awk") is None
    assert [line for line in log_of(server) if line["level"] == "error"
            and ("awk.toml" in line.get("file", "") or str(folder) == line.get("path"))]


def test_a_directory_that_comes_later_is_found(own_server, place):
    folder = place / "later.d"
    server = start(own_server, folder)
    assert runner(server, "awk") is None
    folder.mkdir(mode=0o755)
    put(folder, "awk.toml", AWK)
    wait_until(lambda: runner(server, "awk"), "awk is known")


def test_one_run_at_a_terminal_knows_it_too(folder):
    put(folder, "awk.toml", AWK)
    ended = belljar("run", "--language", "awk", "-", stdin=b"BEGIN { print 1 + 1 }",
                    env=environment(BELLJAR_RUNNERS_PATH=str(folder)))
    assert (ended.returncode, ended.stdout) == (0, b"2\n"), ended
