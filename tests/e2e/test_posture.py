"""What holds the processes of a jar, collected from outside and compared with the golden file.

BELLJAR_UPDATE_POSTURE=1 writes what was found to posture.toml and prints it; the difference is then
for the author of the change to judge.
"""

import os
import pathlib
import re
import tomllib

import pytest

from support_binary import BINARY, wait_until
from support_posture import (CAPABILITY_SETS, NAMESPACES, cgroups_of, creator_of_user_namespace,
                             identity_of, label_of, members_of, namespaces_of, pipes_of,
                             posture_of, to_toml)
from support_processes import FIRST_JAR_USER, status_of
from support_server import Server

GOLDEN = pathlib.Path(__file__).with_name("posture.toml")
HEADER = """\
# What holds the processes of a jar. The guest is the interpreter; of init, of a process that the
# guest forked and of a program that it executed there is only what differs from the guest. JAR is
# the one user id of the host that the jar has.
# Written by BELLJAR_UPDATE_POSTURE=1 ./dev test posture; each change of it needs a reason.

"""
# One process with four threads, one that was forked, and one of another program.
PROGRAM = """
import os, subprocess, threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
if os.fork() == 0:
    time.sleep(1000)
subprocess.run(["sleep", "1000"])
"""
ROLES = ("init", "guest", "forked", "executed")
THREADS = 4
NO_CAPABILITY = "0000000000000000"


class Jar:
    """The processes of one jar by their roles."""

    def __init__(self, members):
        self.members = dict(zip(ROLES, members, strict=True))
        self.user = members[0].user

    @property
    def init(self):
        return self.members["init"]

    def threads(self):
        """Every thread as (role, process, thread)."""
        return [(role, member.pid, thread) for role, member in self.members.items()
                for thread in member.threads]


def jars_of(ancestor):
    members = members_of(ancestor)
    users = sorted({member.user for member in members})
    return [[member for member in members if member.user == user] for user in users]


def have_started(jars, count):
    """The jars' members, once each has all of its processes and threads."""
    complete = [members for members in jars if len(members) == len(ROLES)
                and len(members[1].threads) == THREADS and names_of(members)[3] == "sleep"]
    return complete if len(complete) == count else None


def names_of(members):
    return [status_of(member.pid)["Name"] for member in members]


@pytest.fixture(scope="module")
def jars(session_place):
    """Two jars with the same program at the same time."""
    server = Server(session_place / "posture", "--auth", "none")
    runs = [server.start_run(PROGRAM) for _ in range(2)]
    try:
        found = wait_until(lambda: have_started(jars_of(server.pid), 2), "both programs run")
        yield [Jar(members) for members in found]
    finally:
        for run in runs:
            run.close()
        server.stop()


@pytest.fixture(scope="module", params=[0, 1], ids=["first", "second"])
def jar(request, jars):
    return jars[request.param]


def postures_of(jar):
    return {role: posture_of(member) for role, member in jar.members.items()}


@pytest.fixture(scope="module")
def found(jars):
    """The postures of the first jar's processes."""
    return postures_of(jars[0])


def differences(postures):
    """The guest's whole posture, and of the others what differs from it."""
    guest = postures["guest"]
    return {"guest": guest} | {
        role: {part: content for part, content in posture.items() if content != guest[part]}
        for role, posture in postures.items() if role != "guest"}


def test_posture_is_the_golden_one(found):
    found = differences(found)
    if os.environ.get("BELLJAR_UPDATE_POSTURE"):
        GOLDEN.write_text(HEADER + to_toml(found))
        print(to_toml(found))
    golden = tomllib.loads(GOLDEN.read_text())
    wrong = list(deviations(found, {role: golden.get(role, {}) for role in ROLES}))
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def deviations(found, expected, name="jar"):
    """What differs, as sentences."""
    if not isinstance(found, dict) or not isinstance(expected, dict):
        if found != expected:
            yield f"{name} is {found!r}, expected {expected!r}"
        return
    for key in sorted({*found, *expected}):
        yield from deviations(found.get(key), expected.get(key), f"{name}.{key}")


def test_both_jars_have_the_same_posture(jars, found):
    assert postures_of(jars[1]) == found


# What follows holds whatever the golden file says.

def test_every_thread_has_one_user_and_no_right(jar):
    assert jar.user >= FIRST_JAR_USER
    for role, pid, thread in jar.threads():
        identity = identity_of(status_of(f"{pid}/task/{thread}"), jar.user)
        assert identity["users"] == identity["groups"] == ["JAR"] * 4, role
        assert identity["supplementary_groups"] == [], role
        assert [identity[name] for name in CAPABILITY_SETS] == [NO_CAPABILITY] * 5, role
        assert identity["no_new_privileges"] == 1, role


def test_every_thread_of_the_program_is_filtered(jar):
    for role, pid, thread in jar.threads():
        if role != "init":
            assert status_of(f"{pid}/task/{thread}")["Seccomp"] == "2", role


def test_every_thread_is_in_the_jars_namespaces(jar):
    expected = namespaces_of(jar.init.pid, jar.init.pid)
    assert set(expected) >= set(NAMESPACES)
    for role, pid, thread in jar.threads():
        assert namespaces_of(pid, thread) == expected, role


def test_namespaces_belong_to_the_nursery(jar, found):
    assert creator_of_user_namespace(jar.init.pid) == jar.user
    assert set(found["guest"]["namespace_owners"].values()) == {"nursery"}


def test_two_jars_share_no_user_and_no_namespace(jars):
    first, second = jars
    assert first.user != second.user
    one, other = (namespaces_of(jar.init.pid, jar.init.pid) for jar in jars)
    for name in NAMESPACES:
        assert one[name] != other[name], name


def test_two_jars_share_no_pipe(jars):
    first, second = ({pipe for member in jar.members.values() for pipe in pipes_of(member.pid)}
                     for jar in jars)
    assert first and second and not first & second


def test_descriptors_are_the_jars_own(found):
    for role in ROLES[1:]:
        assert set(found[role]["descriptors"].values()) == {"pipe"}, role
    # To the warden and the server, for the ends of processes, for what the filter refuses, and for
    # the files of a conversation.
    assert set(found["init"]["descriptors"].values()) == {
        "socket", "anon_inode:[signalfd]", "anon_inode:seccomp notify", "/workspace"}


def test_every_process_is_in_the_jars_cgroup(jars):
    leaves = []
    for jar in jars:
        paths = {role: cgroups_of(member.pid) for role, member in jar.members.items()}
        for role in ROLES:
            assert paths[role] == paths["init"], role
        own = {path for path in paths["init"].values() if "/belljar-" in path}
        limited = {name for name in ("memory", "pids", "cpu") if name in paths["init"]}
        for name in limited or {"unified"}:
            assert paths["init"][name] in own, name
        leaves.append(own)
    assert not leaves[0] & leaves[1]


def test_no_core_is_dumped_and_no_handler_started(jar, found):
    for role in ROLES:
        assert found[role]["limits"]["Max core file size"] == [1, 1]


def test_security_module_treats_the_jar_as_the_tests(jar):
    for role, member in jar.members.items():
        assert label_of(member.pid) == label_of(os.getpid()), role


@pytest.mark.parametrize("role", ROLES)
def test_mounts_show_no_path_of_the_host(jar, role):
    text = jar.members[role].path("mountinfo").read_text()
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, source, options = after.split(" ", 2)
        place, root = before.split()[4], before.split()[3]
        assert not source.startswith("/"), f"{place} comes from {source}"
        # The five devices are files of the host's /dev.
        assert root == "/" or root == f"/{os.path.basename(place)}", f"{place} shows {root}"
        if kind == "overlay":
            layers = re.findall(r"(?:lowerdir\+?|upperdir|workdir|datadir\+)=([^,]*)", options)
            assert not any(layer.startswith("/") for layer in layers), f"{place}: {options}"
    assert str(BINARY.parent) not in text


@pytest.mark.parametrize("role", ROLES)
def test_nothing_of_the_host_is_in_the_environment(jar, role):
    text = jar.members[role].path("environ").read_bytes().decode()
    known = {os.environ[name] for name in ("USER", "LOGNAME", "HOSTNAME") if os.environ.get(name)}
    assert str(BINARY.parent) not in text
    assert not known & set(re.split(r"[=\0]", text)) - {"guest"}
