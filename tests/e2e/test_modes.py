"""The three ways to make a jar: as root, as an ordinary user, and nested in a container."""

import dataclasses
import json
import pathlib
import subprocess
import tempfile

import pytest

from support_binary import BINARY, GUESTS, environment
from support_container import PROGRAMS, Container
from support_mcp import call, initialize
from support_observer import PYTHON, observe
from support_unprivileged import Unprivileged

# The attacks take longest.
SECONDS = 300
GRADES = ["basic", "standard", "full"]
# Reads each file by its path and by every way around the walls that there could be.
READ_FLAGS = """
import json, os, sys
def attempt(path):
    try:
        with open(path) as file:
            print(path, file.read())
    except OSError:
        pass
starts = ["", "/proc/self/root", "/proc/self/cwd/../../../..", "/../.."]
try:
    starts += [f"/proc/{pid}/root" for pid in os.listdir("/proc") if pid.isdigit()]
except OSError:
    pass
for path in json.loads(sys.argv[1]):
    for start in starts:
        attempt(start + path)
print("done")
"""

# Any refusal will do, also that of a socket at all.
REACH_OUT = """
import json, socket, sys
def attempt(family, address):
    try:
        with socket.socket(family) as connection:
            connection.settimeout(5)
            connection.connect(address)
            return "connected"
    except OSError as error:
        return str(error)
port, name = int(sys.argv[1]), sys.argv[2]
print(json.dumps([attempt(socket.AF_INET, ("127.0.0.1", port)),
                  attempt(socket.AF_INET6, ("::ffff:127.0.0.1", port)),
                  attempt(socket.AF_UNIX, chr(0) + name)]))
"""
# In the directories that a program is told to use, wherever they are.
LEAVE_FILES = """
import os, tempfile
for folder in (os.getcwd(), tempfile.gettempdir()):
    open(os.path.join(folder, "left"), "w").close()
"""
FIND_FILES = """
import os, tempfile
print(sorted({*os.listdir(os.getcwd()), *os.listdir(tempfile.gettempdir())}))
"""


@dataclasses.dataclass
class Surroundings:
    """Where Belljar is started, and what it can do there."""

    run: object  # starts a program there: (command, stdin, timeout, environment)
    belljar_path: str
    modes: tuple
    grade: str

    def belljar(self, *arguments, stdin=b"", **settings):
        """Runs a command of Belljar there to its end. Settings that are None are left out."""
        return self.observe([self.belljar_path, *arguments], stdin, **settings)

    def program(self, name, *arguments):
        """Runs a program of these tests there, with the path of Belljar as its first argument."""
        source = pathlib.Path(__file__).with_name(name).read_text()
        return self.observe([PYTHON, "-I", "-B", "-c", source, self.belljar_path, *arguments])

    def observe(self, command, stdin=b"", **settings):
        chosen = {"BELLJAR_ISOLATION_REQUIRE": "basic", **settings}
        chosen = {name: value for name, value in chosen.items() if value is not None}

        def run(program, **options):
            return self.run(program, environment=chosen, **options)

        return observe(run, command, stdin, SECONDS)

    def run_code(self, code, *options, **settings):
        return self.belljar("run", *options, "-", stdin=code.encode(), **settings)

    def run_guest(self, name, *options):
        return self.belljar("run", *options, "-", stdin=(GUESTS / name).read_bytes())


def run_as_root(command, stdin, timeout, environment):
    return subprocess.run(command, input=stdin, capture_output=True, timeout=timeout, check=False,
                          env=host_environment(environment))


def host_environment(settings):
    return environment(HOME="/root", **settings)


def as_root(place):
    del place
    return Surroundings(run_as_root, str(BINARY), ("root",), "full")


def as_user(place, subordinate_count=0):
    user = Unprivileged(place / "user", subordinate_count)
    return Surroundings(user.run, str(user.programs / BINARY.name), ("rootless",), "basic")


def as_user_with_ids(place):
    return as_user(place, 65536)


def in_container(place, user, profile, modes):
    container = Container(place / "container", profile)

    def run(command, **options):
        return container.run(command, user=user, **options)

    return Surroundings(run, f"{PROGRAMS}/{BINARY.name}", modes, "basic")


def docker_root(place):
    return in_container(place, "root", "docker", ("nested",))


def docker_user(place):
    return in_container(place, "user", "docker", ("nested",))


# Here a user namespace can be made, but no /proc can be mounted in it: Docker's masks forbid that.
def podman_root(place):
    return in_container(place, "root", "podman", ("rootless", "nested"))


def podman_user(place):
    return in_container(place, "user", "podman", ("rootless", "nested"))


ALL = [as_root, as_user, as_user_with_ids, docker_root, docker_user, podman_root, podman_user]


def surroundings_fixture(kinds):
    @pytest.fixture(scope="module", params=kinds, ids=lambda kind: kind.__name__)
    def made(request, session_place):
        place = pathlib.Path(tempfile.mkdtemp(dir=session_place))
        place.chmod(0o755)
        return request.param(place)

    return made


inside = surroundings_fixture(ALL)
low_grade = surroundings_fixture([as_user, docker_root, docker_user])
plain_user = surroundings_fixture([as_user])
docker = surroundings_fixture([docker_root, docker_user])


def assert_nothing_left(seen):
    assert not seen.processes


def test_program_runs(inside):
    seen = inside.run_code("print(6*7)")
    assert (seen.returncode, seen.stdout, seen.stderr) == (0, b"42\n", b"")
    assert_nothing_left(seen)


def test_result_says_what_held(inside):
    isolation = inside.run_code("print(6*7)", "--json").json["isolation"]
    assert isolation["mode"] in inside.modes
    assert isolation["grade"] == inside.grade
    assert isolation["tier"] == "kernel"
    # Whatever keeps the grade from being the best one is named.
    assert bool(isolation["missing"]) == (inside.grade != "full")


def test_mode_of_choice_is_the_one_that_is_found(inside):
    found = inside.run_code("1", "--json").json["isolation"]
    chosen = inside.run_code("1", "--json", BELLJAR_ISOLATION_MODE=found["mode"])
    assert chosen.json["isolation"] == found


@pytest.mark.parametrize(("code", "exit_code"), [
    ("import sys; sys.exit(7)", 7),
    ("raise ValueError", 1),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137)])
def test_exit_code_is_that_of_the_program(inside, code, exit_code):
    seen = inside.run_code(code)
    assert seen.returncode == exit_code, seen.stderr.decode()
    assert_nothing_left(seen)


def test_timeout_gives_124(inside):
    seen = inside.run_code("print('before')\nwhile True: pass", "--timeout", "1")
    assert (seen.returncode, seen.stdout) == (124, b"before\n")
    assert_nothing_left(seen)


def test_fork_bomb_ends(inside):
    seen = inside.run_guest("stubborn_fork_bomb.py", "--json", "--timeout", "3")
    assert seen.json["status"] in ("timeout", "processes", "memory"), seen.json
    assert_nothing_left(seen)
    assert inside.run_code("print('fine')").stdout == b"fine\n"


def test_daemon_dies_with_its_jar(inside):
    seen = inside.run_guest("leave_children.py")
    assert (seen.returncode, seen.stdout) == (0, b"left\n")
    assert_nothing_left(seen)


def test_files_outside_cannot_be_read(inside):
    seen = inside.belljar("run", "-", "{flags}", stdin=READ_FLAGS.encode())
    assert seen.stdout == b"done\n"
    assert seen.flag.encode() not in seen.stdout + seen.stderr


def test_sockets_outside_cannot_be_reached(inside):
    seen = inside.belljar("run", "-", "{port}", "{socket}", stdin=REACH_OUT.encode())
    assert seen.returncode == 0, seen.stderr.decode()
    assert len(seen.json) == 3 and "connected" not in seen.json
    assert seen.connections == 0


def test_two_runs_share_nothing(inside):
    assert inside.run_code(LEAVE_FILES).returncode == 0
    seen = inside.run_code(FIND_FILES)
    assert (seen.returncode, seen.stdout) == (0, b"[]\n")


def test_mcp_works(inside):
    messages = [initialize(), {"jsonrpc": "2.0", "method": "notifications/initialized"},
                call(2, "print(6*7)")]
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    seen = inside.belljar("mcp", stdin=lines)
    answers = [json.loads(line) for line in seen.stdout.splitlines()]
    results = {answer["id"]: answer["result"] for answer in answers}
    assert seen.returncode == 0 and "42" in results[2]["content"][0]["text"]
    assert_nothing_left(seen)


def test_service_works(inside):
    seen = inside.program("inside_serve.py")
    assert seen.returncode == 0, seen.stderr.decode()
    record, exit_code = seen.json
    assert (record["stdout"], record["status"], exit_code) == ("42\n", "ok", 0)
    assert record["isolation"]["mode"] in inside.modes
    assert_nothing_left(seen)


@pytest.mark.parametrize("victim", ["belljar", "belljar-warden", "belljar-keeper"])
def test_killed_process_takes_the_program_with_it(inside, victim):
    seen = inside.program("inside_kill.py", victim)
    assert seen.stdout == b"3 1\n", seen.stderr.decode()
    assert_nothing_left(seen)


def test_attacks_fail(inside):
    seen = inside.belljar("attack")
    assert seen.returncode == 0, seen.stdout.decode() + seen.stderr.decode()
    assert_nothing_left(seen)


def test_doctor_agrees_and_names_the_fixes(inside):
    seen = inside.belljar("doctor", "--json")
    expected = 3 if inside.grade == "basic" else 0
    assert seen.returncode == expected, seen.stdout.decode() + seen.stderr.decode()
    assert seen.json["isolation"] == inside.run_code("1", "--json").json["isolation"]
    for check in seen.json["checks"]:
        assert check["status"] in ("ok", "info") or check["fix"], check
    assert_nothing_left(seen)


def test_every_floor_up_to_the_grade_is_enough(inside):
    for floor in GRADES[:GRADES.index(inside.grade) + 1]:
        seen = inside.run_code("print(6*7)", BELLJAR_ISOLATION_REQUIRE=floor)
        assert (seen.returncode, seen.stdout) == (0, b"42\n"), f"{floor}: {seen.stderr.decode()}"


@pytest.mark.parametrize("floor", ["standard", "full"])
def test_floor_above_the_grade_refuses_and_names_the_doctor(low_grade, floor):
    seen = low_grade.run_code("print(6*7)", BELLJAR_ISOLATION_REQUIRE=floor)
    assert (seen.returncode, seen.stdout) == (125, b"")
    assert b"belljar doctor" in seen.stderr and floor.encode() in seen.stderr
    assert low_grade.belljar("doctor", BELLJAR_ISOLATION_REQUIRE=floor).returncode == 1


def test_floor_is_standard_if_none_is_chosen(low_grade):
    seen = low_grade.run_code("print(6*7)", BELLJAR_ISOLATION_REQUIRE=None)
    assert (seen.returncode, seen.stdout) == (125, b"")
    assert b"standard" in seen.stderr


def test_root_mode_needs_root(plain_user):
    seen = plain_user.run_code("print(6*7)", BELLJAR_ISOLATION_MODE="root")
    assert (seen.returncode, seen.stdout) == (125, b"")
    assert b"root" in seen.stderr


def test_rootless_mode_needs_namespaces(docker):
    seen = docker.run_code("print(6*7)", BELLJAR_ISOLATION_MODE="rootless")
    assert (seen.returncode, seen.stdout) == (125, b"")
    assert b"belljar doctor" in seen.stderr


def test_unknown_mode_is_refused_and_the_known_are_named(plain_user):
    seen = plain_user.run_code("print(6*7)", BELLJAR_ISOLATION_MODE="strong")
    assert seen.returncode not in (0, 124) and seen.stdout == b""
    for mode in (b"auto", b"root", b"rootless", b"nested"):
        assert mode in seen.stderr
