"""`belljar doctor`: what it says about this host, and about the same with something missing."""

import json
import os
import pty
import re
import shutil
import subprocess

import pytest

from support_binary import BINARY, COMMAND_SECONDS, ROOT, belljar, environment

CHECKS = {
    "Kernel": ["kernel", "system calls", "privilege", "capabilities", "container"],
    "Namespaces": ["namespaces", "namespace limits", "user namespaces", "apparmor", "user ids"],
    "Limits": ["cgroups", "memory limit", "process limit", "cpu share", "swap"],
    "Files": ["mount api", "overlay", "erofs", "workspace limit", "quota"],
    "Hardening": ["seccomp", "landlock", "mdwe", "socket families", "ia32", "core_pattern", "ksm",
                  "tiocsti", "yama", "smt"],
    "Tools": ["warden", "python", "kvm", "oci runtimes"],
    "Modes": ["root mode", "rootless mode", "nested mode"],
    "Trial": ["trial jar", "floor"],
}
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
POWERLESS_ROOT = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
NO_CGROUPS = ["unshare", "--mount", "sh", "-c", 'umount -R /sys/fs/cgroup && exec "$@"', "sh"]
NO_USER_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c",
                      'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]

# As container engines start what they run: namespaces of its own, few capabilities, a filter.
LIKE_A_CONTAINER = ["unshare", "--uts", "--ipc", "--pid", "--fork",
                    "setpriv", "--bounding-set", "-sys_admin,-net_admin",
                    "/usr/bin/python3", str(ROOT / "tests/e2e/support_container_filter.py")]


class Report:
    def __init__(self, ended):
        self.code = ended.returncode
        self.everything = json.loads(ended.stdout)
        self.isolation = self.everything["isolation"]
        self.mode = self.everything["mode"]
        self.checks = {check["check"]: check for check in self.everything["checks"]}

    def status(self, name):
        return self.checks[name]["status"]

    def bad(self):
        return [name for name in self.checks if self.status(name) == "bad"]


def examine(*wrapper, binary=BINARY, **settings):
    """The report of a doctor that is started by `wrapper`; its shape and exit code are checked."""
    ended = subprocess.run([*wrapper, str(binary), "doctor", "--json"], capture_output=True,
                           env=environment(**settings), timeout=COMMAND_SECONDS, check=False)
    assert ended.stdout, ended.stderr.decode()
    report = Report(ended)
    check_shape(report)
    assert report.code == expected_code(report), report.everything
    return report


def check_shape(report):
    assert set(report.everything) == {"isolation", "mode", "checks"}
    groups = {}
    for check in report.everything["checks"]:
        assert set(check) == {"group", "check", "status", "found", "fix"}
        assert check["status"] in ("ok", "weak", "bad", "info")
        assert check["found"] and "\n" not in check["found"] + check["fix"]
        assert check["fix"] or check["status"] not in ("weak", "bad"), check
        groups.setdefault(check["group"], []).append(check["check"])
    assert groups == CHECKS
    assert list(groups) == list(CHECKS)


def expected_code(report):
    if report.bad():
        return 1
    return 0 if report.isolation["grade"] in ("standard", "full") else 3


def test_healthy_host_gives_0():
    ended = belljar("doctor")
    assert ended.returncode == 0, ended.stdout.decode() + ended.stderr.decode()
    text = ended.stdout.decode()
    assert "Isolation grade: " in text and "Launch mode: root\n" in text
    for group, names in CHECKS.items():
        assert f"{group}\n" in text
        for name in names:
            assert re.search(rf"^  (ok|weak|info) +{name} ", text, re.MULTILINE), name


def test_json_of_a_healthy_host():
    report = examine()
    assert report.code == 0
    assert report.isolation["grade"] in ("standard", "full")
    assert report.isolation["tier"] == "kernel"
    assert report.mode == "root"
    for name in ("kernel", "privilege", "namespaces", "root mode", "trial jar", "floor"):
        assert report.status(name) == "ok", report.checks[name]


def test_nothing_but_json_is_said():
    ended = belljar("doctor", "--json")
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.count(b"\n") == 1


def test_grade_is_that_of_the_results(open_server):
    assert examine().isolation == open_server.execute("1")["isolation"]


def test_facts_are_those_of_the_kernel():
    report = examine()
    assert os.uname().release in report.checks["kernel"]["found"]
    with open("/proc/swaps", encoding="utf-8") as file:
        assert (report.checks["swap"]["found"] == "off") == (len(file.readlines()) == 1)
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        piped = file.read().startswith("|")
    assert report.status("core_pattern") == ("weak" if piped else "ok")


def test_every_missing_layer_names_the_line_that_explains_it():
    for wrapper in ([], NO_CGROUPS):
        ended = subprocess.run([*wrapper, str(BINARY), "doctor"], capture_output=True,
                               env=environment(), timeout=COMMAND_SECONDS, check=False)
        text = ended.stdout.decode()
        named = dict(re.findall(r'^  missing: (\w+) \(see "([^"]+)"\)$', text, re.MULTILINE))
        report = examine(*wrapper)
        assert sorted(named) == sorted(report.isolation["missing"])
        for name in named.values():
            assert report.status(name) == "weak", report.checks[name]


def test_without_cgroups_the_default_floor_is_not_reached():
    report = examine(*NO_CGROUPS)
    assert report.code == 1
    assert report.bad() == ["floor"]
    # The number of processes is limited by the jar's own user id as well.
    assert set(report.isolation["missing"]) == {"memory_limit", "cpu_share"}
    assert report.status("trial jar") == "ok"
    for name in ("cgroups", "memory limit", "process limit", "cpu share"):
        assert report.status(name) == "weak", name


def test_a_lower_floor_is_reached_without_cgroups():
    report = examine(*NO_CGROUPS, BELLJAR_ISOLATION_REQUIRE="basic")
    assert (report.code, report.isolation["grade"]) == (3, "basic")


def test_floor_that_is_not_reached_names_what_is_missing():
    report = examine(*NO_CGROUPS, BELLJAR_ISOLATION_REQUIRE="full")
    assert report.code == 1
    assert "memory_limit" in report.checks["floor"]["found"]
    assert "isolation.require" in report.checks["floor"]["fix"]


def test_without_root():
    report = examine(*NOBODY)
    assert report.mode in ("rootless", "nested", "none")
    assert "user 65534" in report.checks["root mode"]["found"]
    assert report.status("privilege") == "weak"
    assert "sudo" in report.checks["privilege"]["fix"]
    assert report.status("kernel") == "ok"
    assert "unique_user" in report.isolation["missing"] or report.isolation["grade"] == "none"


def test_root_without_capabilities():
    report = examine(*POWERLESS_ROOT)
    assert report.mode != "root"
    assert "CAP_SYS_ADMIN" in report.checks["root mode"]["found"]
    assert report.checks["capabilities"]["found"] == "none"


def test_root_without_one_capability():
    report = examine("setpriv", "--bounding-set", "-net_admin")
    assert report.status("capabilities") == "weak"
    assert "CAP_NET_ADMIN" in report.checks["capabilities"]["fix"]


def test_a_refused_user_namespace_names_its_setting():
    report = examine(*NO_USER_NAMESPACES)
    assert report.mode in ("nested", "none")
    assert "not possible" in report.checks["rootless mode"]["found"]
    assert "user.max_user_namespaces" in report.checks["rootless mode"]["fix"]
    assert "user.max_user_namespaces" in report.checks["namespaces"]["fix"]
    assert report.status("user ids") == "weak"
    assert "user ids" in report.checks["root mode"]["found"]


def test_namespaces_of_its_own_are_taken_for_a_container():
    assert examine().checks["container"]["found"] == "not in one"
    assert examine("unshare", "--uts").checks["container"]["found"].startswith("in one")


def test_in_a_container_only_nested_mode_is_left():
    report = examine(*LIKE_A_CONTAINER)
    assert report.checks["container"]["found"].startswith("in one")
    assert "CAP_SYS_ADMIN" in report.checks["root mode"]["found"]
    assert "not possible" in report.checks["rootless mode"]["found"]
    assert report.mode in ("nested", "none")
    for name in ("system calls", "privilege", "namespaces", "user namespaces"):
        assert report.status(name) == "weak", name
    assert "clone3" in report.checks["system calls"]["found"]
    assert "mnt (EPERM)" in report.checks["namespaces"]["found"]


def test_user_ids_of_an_account_are_reported():
    report = examine(BELLJAR_ISOLATION_UID_BASE="60000", BELLJAR_ISOLATION_UID_COUNT="10000")
    assert report.status("user ids") == "weak"
    assert "nobody" in report.checks["user ids"]["found"]


def test_everything_is_said_without_a_warden(place):
    alone = place / "belljar"
    shutil.copy(BINARY, alone)
    report = examine(binary=alone)
    assert report.code == 1
    assert {"warden", "trial jar", "floor"} == set(report.bad())
    assert report.isolation["grade"] == "none"
    assert report.status("namespaces") == "ok"


def output_on_terminal(**settings):
    """What doctor writes if its standard output is a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen([str(BINARY), "doctor"], stdin=subprocess.DEVNULL, stdout=follower,
                          stderr=subprocess.DEVNULL, env=environment(**settings)) as process:
        os.close(follower)
        parts = []
        while True:
            try:
                parts.append(os.read(leader, 65536))
            except OSError:  # EIO: nobody has the other end any more
                break
        assert process.wait(COMMAND_SECONDS) == 0
    os.close(leader)
    return b"".join(parts)


def test_colours_only_on_a_terminal():
    assert b"\x1b[32mok" in output_on_terminal()
    assert b"\x1b" not in output_on_terminal(NO_COLOR="1")
    assert b"\x1b" not in belljar("doctor").stdout


@pytest.mark.parametrize("code", ["0", "1", "3"])
def test_help_tells_the_exit_codes(code):
    text = belljar("doctor", "--help").stdout.decode()
    assert "Exit code" in text and f"{code} if" in text
