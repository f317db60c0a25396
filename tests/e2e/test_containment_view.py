"""What a program sees of the place it runs in."""

import json
import os
import secrets
import tempfile

import pytest

from support_binary import GUESTS, belljar

# "/workspace", "/tools" and so on, and what an interpreter needs of a system.
ALWAYS_THERE = {"workspace", "data", "tmp", "usr", "proc", "dev", "etc"}
MAY_BE_THERE = {"tools", "servers", "skills", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}
ETC = {"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf", "alternatives", "fonts",
       "matplotlibrc"}
DEV = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}
WRITABLE = {"/tmp", "/workspace", "/dev/shm"}
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
ABSENT = [
    "/etc/shadow", "/etc/hostname", "/etc/machine-id", "/etc/ssh", "/root", "/home", "/var", "/run",
    "/sys", "/boot", "/mnt", "/opt", "/dev/vda", "/dev/kmsg", "/dev/mem", "/dev/tty", "/dev/kvm",
    "/dev/fuse", "/dev/net/tun", "/proc/sys", "/proc/kcore", "/proc/kallsyms", "/proc/meminfo",
    "/proc/cpuinfo", "/proc/version", "/proc/cmdline", "/proc/1", "/var/run/docker.sock"]
NO_CAPABILITY = "0000000000000000"


@pytest.fixture(scope="module")
def inside():
    ended = belljar("run", GUESTS / "describe_jar.py")
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


@pytest.fixture
def flags():
    """Files on the host that no jar may see."""
    name = f"flag-{secrets.token_hex(8)}"
    files = []
    for directory in ("/tmp", "/root", "/var/tmp", "/dev/shm", "/"):
        with tempfile.NamedTemporaryFile(prefix=name, dir=directory, delete=False) as file:
            os.chmod(file.name, 0o644)
            files.append(file.name)
    yield name, files
    for file in files:
        os.unlink(file)


def test_only_the_promised_paths_exist(inside):
    root = set(inside["root"])
    assert ALWAYS_THERE <= root <= ALWAYS_THERE | MAY_BE_THERE


def test_etc_holds_only_the_jars_own_files(inside):
    assert set(inside["etc"]) <= ETC


def test_passwd_names_only_the_guest():
    ended = belljar("run", "-", stdin=b"print(open('/etc/passwd').read())")
    assert ended.stdout.split() == [b"guest:x:1000:1000:guest:/workspace:/bin/sh"]


def test_dev_is_minimal(inside):
    assert set(inside["dev"]) <= DEV


def test_no_host_file_is_found(flags):
    name, files = flags
    ended = belljar("run", "--timeout", "120", GUESTS / "find_files.py", name, *files)
    assert (ended.stdout, ended.stderr) == (b"[]\n", b"")


@pytest.fixture(scope="module")
def existing():
    """Which of the absent paths exist, asked in one run."""
    code = f"import os; print([path for path in {ABSENT!r} if os.path.lexists(path)])"
    return belljar("run", "-", stdin=code.encode()).stdout.decode()


@pytest.mark.parametrize("path", ABSENT)
def test_path_does_not_exist(path, existing):
    assert existing.startswith("[") and repr(path) not in existing


def test_no_other_process_is_seen(inside):
    numbers = [name for name in inside["proc"] if name.isdigit()]
    assert numbers == [str(inside["pid"])]


def test_proc_shows_processes_only(inside):
    assert {name for name in inside["proc"] if not name.isdigit()} <= {"self", "thread-self"}


def test_init_cannot_be_looked_into():
    code = """
import os, signal
for path in ("status", "maps", "environ", "root", "fd", "cmdline", "mem"):
    try:
        open(f"/proc/1/{path}").close()
        print("opened", path)
    except (FileNotFoundError, PermissionError):
        pass
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
    try:
        os.kill(1, number)
        print("sent", number)
    except PermissionError:
        pass
print("alive")
"""
    ended = belljar("run", "-", stdin=code.encode())
    assert (ended.returncode, ended.stdout) == (0, b"alive\n")


def test_user_is_1000_without_groups(inside):
    assert inside["users"] == [1000, 1000, 1000]
    assert inside["user_groups"] == [1000, 1000, 1000]
    assert inside["status"]["Groups"] == ""


@pytest.mark.parametrize("name", ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
def test_capability_set_is_empty(inside, name):
    assert inside["status"][name] == NO_CAPABILITY


def test_no_new_privileges(inside):
    assert inside["status"]["NoNewPrivs"] == "1"


def test_host_name_is_jar(inside):
    assert inside["host_name"] == "jar"


def test_only_loopback_interface(inside):
    assert inside["interfaces"] == ["lo"]


@pytest.mark.parametrize("name", ["mnt", "pid", "net", "ipc", "uts", "user", "cgroup"])
def test_namespace_is_not_the_hosts(inside, name):
    assert inside["namespaces"][name] != os.readlink(f"/proc/self/ns/{name}")


def test_environment_has_only_known_names(inside):
    assert set(inside["environment"]) == {"HOME", "LANG", "PATH", "TMPDIR", "USER"}
    assert inside["environment"]["HOME"] == "/workspace"


def test_starts_in_the_workspace(inside):
    assert inside["working_directory"] == "/workspace"


def test_only_known_descriptors_are_open(inside):
    report = 5
    assert inside["descriptors"] == [0, 1, 2, report]


def test_core_limit_keeps_the_hosts_handler_away(inside):
    assert inside["core_limit"] == [1, 1]


def test_cgroup_path_of_the_host_is_hidden(inside):
    paths = {line.split(":", 2)[2] for line in inside["cgroup"].split()}
    assert paths == {"/"}


def test_every_other_mount_is_read_only(inside):
    writable = {place for place, options in inside["mounts"] if "rw" in options.split(",")}
    assert writable <= WRITABLE | DEVICES


def test_no_mount_grants_privileges(inside):
    for place, options in inside["mounts"]:
        assert "nosuid" in options.split(","), place
        assert "nodev" in options.split(",") or place == "/dev" or place in DEVICES, place
