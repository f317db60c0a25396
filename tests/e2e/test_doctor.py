"""`belljar doctor`: what it says about a host on which everything works."""

import json

from support_binary import belljar, environment

CHECKS = {"kernel", "privilege", "warden", "python", "cgroups", "trial jar"}


def test_healthy_host_gives_0():
    ended = belljar("doctor")
    assert ended.returncode == 0, ended.stdout.decode() + ended.stderr.decode()
    text = ended.stdout.decode()
    assert "Isolation grade: " in text
    for check in CHECKS:
        assert check in text


def test_json():
    ended = belljar("doctor", "--json")
    assert (ended.returncode, ended.stderr) == (0, b"")
    report = json.loads(ended.stdout)
    assert report["isolation"]["grade"] in ("basic", "standard", "full")
    assert report["isolation"]["tier"] == "kernel"
    assert isinstance(report["isolation"]["missing"], list)
    assert {check["check"] for check in report["checks"]} >= CHECKS
    for check in report["checks"]:
        assert check["status"] in ("ok", "weak", "bad")
        assert check["found"]
        assert check["status"] == "ok" or check["fix"]


def test_grade_is_that_of_the_results(open_server):
    report = json.loads(belljar("doctor", "--json").stdout)
    assert report["isolation"] == open_server.execute("1")["isolation"]


def test_floor_that_is_not_reached_gives_1_and_a_fix():
    ended = belljar("doctor", "--json", env=environment(BELLJAR_ISOLATION_REQUIRE="full"))
    assert ended.returncode == 1
    bad = [check for check in json.loads(ended.stdout)["checks"] if check["status"] == "bad"]
    assert bad and bad[0]["fix"]
