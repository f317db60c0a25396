"""What becomes of the audit trail when its disk is full, its server killed or its files changed."""

import subprocess
import sys

import pytest

from support_audit import audit, exported, trail_of, verify
from support_binary import ROOT, environment
from support_server import Server

sys.path.insert(0, str(ROOT / "tests" / "soak"))

from audit_kills import Kills  # noqa: E402

KILLS = 20
LONG = "1 #" + "x" * 30_000  # a few of these use up what is kept free for runs under way
FEW = 20


@pytest.fixture
def small_disk(place):
    """A file system of a megabyte."""
    place.mkdir(exist_ok=True)
    disk = place / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0777", "none", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def fill(disk):
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return filler


def serve_on(place, disk, **settings):
    return Server(place / "server", env=environment(BELLJAR_AUDIT_PATH=str(disk / "audit"),
                                                    **settings))


def figure(server, name):
    lines = server.request("GET", "/metrics").body.decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + " "))


def test_on_a_full_disk_nothing_runs_until_there_is_room(place, small_disk):
    server = serve_on(place, small_disk, BELLJAR_AUDIT_CODE="full")
    try:
        server.execute("print('before')")
        filler = fill(small_disk)
        answers = [server.request("POST", "/execute", {"code": LONG}) for _ in range(FEW)]
        refused = next(one for one in answers if one.status != 200)
        assert refused.status == 503 and b"audit trail cannot be written" in refused.body
        assert answers[-1].status == 503
        done = sum(one.status == 200 for one in answers)
        refused = server.request("POST", "/v1/admin/tokens", {"name": "later"})
        assert refused.status == 503, refused
        assert figure(server, "belljar_audit_writable") == 0
        filler.unlink()
        server.execute("print('after')")
        assert figure(server, "belljar_audit_writable") == 1
    finally:
        assert server.stop() == 0
    # Whoever was answered is in the trail, and what could not be written is told.
    path = environment(BELLJAR_AUDIT_PATH=str(small_disk / "audit"))
    found = audit(place, "export", "--kind", "run", env=path).stdout.splitlines()
    assert len(found) == done + 2
    assert audit(place, "verify", env=path).returncode == 0


def test_a_full_disk_may_only_be_counted(place, small_disk):
    server = serve_on(place, small_disk, BELLJAR_AUDIT_CODE="full",
                      BELLJAR_AUDIT_ON_FAILURE="count")
    try:
        fill(small_disk)
        for _ in range(FEW):
            server.execute(LONG)
        assert figure(server, "belljar_audit_failures_total") > 0
        assert "audit trail could not be written" in server.errors
    finally:
        assert server.stop() == 0


def test_whatever_is_done_to_the_files_is_found(place):
    server = Server(place / "server")
    for _ in range(5):
        server.execute("print(1)")
    assert server.stop() == 0
    data = server.data_directory
    assert verify(data)["intact"]
    file = trail_of(data) / "trail-000001.jsonl"
    good = file.read_bytes()
    lines = good.splitlines(keepends=True)
    runs = [number for number, line in enumerate(lines) if b'"kind":"run"' in line]
    one, other = runs[1], runs[2]

    def changed(*order):
        file.write_bytes(b"".join(order))
        report = verify(data)
        file.write_bytes(good)
        return report["fault"]

    fault = changed(*lines[:one], lines[one].replace(b'"ok"', b'"no"'), *lines[one + 1:])
    assert (fault["file"], fault["line"]) == (file.name, one + 1)
    assert changed(*lines[:one], *lines[one + 1:])["line"] == one + 1
    assert changed(*lines[:one], lines[other], lines[one], *lines[other + 1:])["line"] == one + 1
    assert changed(*lines[:one], lines[one], *lines[one:])["line"] == one + 2
    assert "missing at the end" in changed(*lines[:-1])["why"]
    assert verify(data)["intact"]
    shown = audit(data, "verify").stdout.decode()
    assert shown.startswith("The audit trail is whole: records 1 to ")


def test_a_server_that_is_killed_loses_no_record_of_a_run_that_it_answered(place):
    kills = Kills(place, seed=20261117)
    for _ in range(KILLS):
        kills.once()
    assert kills.missing() == set()
    assert kills.answered >= KILLS
    report = verify(kills.data)
    assert report["intact"], report
    assert len(exported(kills.data, "--kind", "start")) == KILLS
