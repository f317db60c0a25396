"""The surroundings that other tests start Belljar in are what they claim to be."""

import subprocess

import pytest

from support_container import CAPABILITIES, Container
from support_observer import observe
from support_unprivileged import USER, Unprivileged

DOCKER_CAPABILITIES = "00000000a80425fb"
NONE = "0000000000000000"
STATUS = ["sh", "-c", "cat /proc/self/status"]
# Prints what the kernel answers to a system call by its errno; "0" is success.
TRY = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
calls = {"unshare": lambda: libc.unshare(0x00020000), "user": lambda: libc.unshare(0x10000000),
         "mount": lambda: libc.mount(b"x", b"/tmp", b"tmpfs", 0, None),
         "clone3": lambda: libc.syscall(435, None, 0)}
print(0 if calls[sys.argv[1]]() == 0 else ctypes.get_errno())
"""
EPERM, EINVAL, ENOSYS = b"1\n", b"22\n", b"38\n"


@pytest.fixture(scope="module", params=["docker", "podman"])
def container(request, session_place):
    return Container(session_place / f"container-{request.param}", request.param)


@pytest.fixture(scope="module")
def docker(session_place):
    return Container(session_place / "container-plain")


def fields_of(ended):
    assert ended.returncode == 0, ended.stderr.decode()
    lines = ended.stdout.decode().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.parametrize(("user", "held"), [("root", DOCKER_CAPABILITIES), ("user", NONE)])
def test_container_has_dockers_capabilities_and_a_filter(container, user, held):
    status = fields_of(container.run(STATUS, user=user))
    assert len(CAPABILITIES) == 14
    assert (status["CapEff"], status["CapPrm"]) == (held, held)
    assert status["CapBnd"] == DOCKER_CAPABILITIES
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "0")
    assert status["Uid"].split()[0] == ("0" if user == "root" else "1000")


@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.parametrize(("call", "answer"), [
    ("unshare", EPERM), ("user", EPERM), ("mount", EPERM), ("clone3", ENOSYS)])
def test_docker_refuses_namespaces_and_mounts(docker, user, call, answer):
    assert docker.run(["python3", "-c", TRY, call], user=user).stdout == answer


@pytest.mark.parametrize(("call", "answer"), [
    ("unshare", EPERM), ("user", b"0\n"), ("mount", EPERM), ("clone3", EINVAL)])
def test_podman_leaves_namespaces_to_the_kernel(session_place, call, answer):
    podman = Container(session_place / f"container-for-{call}", "podman")
    assert podman.run(["python3", "-c", TRY, call], user="user").stdout == answer


def test_container_shows_nothing_of_the_host(docker, place):
    ended = docker.run(["sh", "-c", f"ls -d {place}; ip -o link"])
    lines = ended.stdout.decode().splitlines()
    assert str(place) not in lines
    assert [line.split()[1] for line in lines if "LOOPBACK" in line] == ["lo:"]
    assert not any("ether" in line for line in lines)


def test_exit_code_input_and_variables_reach_the_command(docker):
    ended = docker.run(["sh", "-c", "cat; echo $GREETING; exit 7"], stdin=b"in ",
                       environment={"GREETING": "out"})
    assert (ended.returncode, ended.stdout) == (7, b"in out\n")


def test_container_that_takes_too_long_is_removed(docker):
    with pytest.raises(subprocess.TimeoutExpired):
        docker.run(["sh", "-c", "sleep 1000 & sleep 1000"], timeout=1)


@pytest.mark.parametrize("count", [0, 65536])
def test_user_has_no_capability(place, count):
    user = Unprivileged(place / "user", count)
    status = fields_of(user.run(STATUS))
    assert status["Uid"].split() == status["Gid"].split() == [str(USER)] * 4
    assert (status["Groups"], status["CapEff"], status["CapPrm"]) == ("", NONE, NONE)
    assert user.run(["sh", "-c", 'touch "$HOME/x" "$TMPDIR/x"']).returncode == 0
    assert user.run([user.programs / "belljar", "version"]).returncode == 0
    assert user.run(["touch", "/etc/passwd"]).returncode != 0


def test_subordinate_ids_can_be_used(place):
    command = ["unshare", "--map-auto", "--map-root-user", "cat", "/proc/self/uid_map"]
    with_ids = Unprivileged(place / "with", 65536).run(command)
    assert with_ids.returncode == 0, with_ids.stderr.decode()
    assert len(with_ids.stdout.splitlines()) == 2
    assert Unprivileged(place / "without").run(command).returncode != 0


def test_observer_sees_what_is_left(docker):
    seen = observe(docker.run, ["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo {port}"])
    assert [name.split("[")[0] for name in seen.processes] == ["sleep"]
    assert int(seen.stdout) > 0


def test_observer_sees_who_connects_and_hides_a_flag_that_can_be_read(docker):
    program = """
import json, socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(chr(0) + sys.argv[2])
print(open(json.loads(sys.argv[3])[0]).read(), end="")
"""
    seen = observe(docker.run, ["python3", "-c", program, "{port}", "{socket}", "{flags}"])
    assert (seen.returncode, seen.connections, seen.processes) == (0, 2, [])
    assert seen.stdout.decode() == seen.flag
