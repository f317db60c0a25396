"""The program that looks at a jar from inside before work is accepted: content with a jar, and with
nothing less."""

import json
import subprocess

import pytest

from support_binary import BINARY, COMMAND_SECONDS, ROOT, belljar, environment
from support_mcp import call as tool_call
from support_mcp import initialize

PROGRAM = ROOT / "guest" / "python" / "self_test.py"
PYTHON = "/usr/bin/python3"
NO_CAPABILITIES = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
NOBODY = [*NO_CAPABILITIES, "--reuid", "65534", "--regid", "65534", "--clear-groups"]
LOCKED_NOBODY = [*NOBODY, "--no-new-privs"]
# Everything that a process of the host has not.
ALL_LAYERS = ["namespaces", "read_only_root", "landlock", "seccomp"]


def on_host(wrapper, *absent, shell="exec"):
    """The sentence with which it fails as an ordinary process of the host; empty if it does not."""
    text = PROGRAM.read_text(encoding="utf-8")  # nobody may not be let into the checkout
    command = [*wrapper, "sh", "-c", f'{shell} "$@"', "sh", PYTHON, "-I", "-B", "-c", text]
    ended = subprocess.run([*command, *absent], stdin=subprocess.PIPE, capture_output=True,
                           cwd="/", env={}, timeout=COMMAND_SECONDS, check=False)
    assert ended.stdout == b""
    lines = ended.stderr.decode().splitlines()
    assert bool(lines) == (ended.returncode != 0), ended
    return lines[-1] if lines else ""


def call(function, *wrapper, absent=()):
    """The same with one of its functions alone."""
    text = PROGRAM.read_text(encoding="utf-8")
    code = f"{text[:text.rindex('self_test(')]}{function}(frozenset({[*absent]}))\n"
    ended = subprocess.run([*wrapper, PYTHON, "-I", "-B", "-c", code], capture_output=True,
                           timeout=COMMAND_SECONDS, check=False)
    lines = ended.stderr.decode().splitlines()
    return lines[-1] if lines else ""


def in_jar(*absent):
    ended = belljar("run", "--json", PROGRAM, *absent)
    return json.loads(ended.stdout)


def test_a_jar_holds():
    missing = in_jar()["isolation"]["missing"]
    result = in_jar(*missing)
    assert (result["status"], result["stdout"], result["stderr"]) == ("ok", "", "")
    host = subprocess.run([PYTHON, "-V"], capture_output=True, check=True).stdout.decode()
    assert host == f"Python {result['result']}\n"


def test_a_layer_that_is_missing_without_being_named_is_noticed():
    result = in_jar()
    noticed = {"seccomp", "no_capabilities", "namespaces", "read_only_root"}
    if noticed & set(result["isolation"]["missing"]):
        assert result["status"] == "error"
        assert result["error"]["message"].startswith("The jar does not hold: ")
    else:
        assert result["status"] == "ok"


# A system for jars in which every Python starts with a descriptor too many.
LEAKY_SYSTEM = """
set -e
mkdir -p "$R/layer/lib/python3/dist-packages" "$R/root/usr"
echo 'import os; os.dup2(0, 7)' > "$R/layer/lib/python3/dist-packages/leak.pth"
for name in bin sbin lib lib64; do ln -s usr/$name "$R/root/$name"; done
mount -t overlay -o "lowerdir=$R/layer:/usr" overlay "$R/root/usr"
exec "$@"
"""


def belljar_on_leaky_system(place, *arguments, stdin=b""):
    command = ["unshare", "--mount", "sh", "-c", f"R={place}\n{LEAKY_SYSTEM}", "sh", BINARY]
    return subprocess.run([*map(str, [*command, *arguments])], input=stdin, capture_output=True,
                          env=environment(BELLJAR_ISOLATION_ROOT=str(place / "root")),
                          timeout=COMMAND_SECONDS, check=False)


LEAK = b"The jar does not hold: descriptor 7 is open."


def test_a_jar_that_does_not_hold_stops_the_service(place):
    ended = belljar_on_leaky_system(place, "serve", "--listen", "127.0.0.1:0", "--data-dir",
                                    place / "data")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert LEAK in ended.stderr


def test_a_jar_that_does_not_hold_stops_the_conversation(place):
    # It begins at once, but no program runs before the self-test has passed.
    messages = [initialize(), tool_call(2, "print(6*7)")]
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    ended = belljar_on_leaky_system(place, "mcp", stdin=lines)
    assert ended.returncode == 1
    answered = [json.loads(line)["id"] for line in ended.stdout.splitlines()]
    assert LEAK in ended.stderr and answered == [1]


def test_a_jar_that_does_not_hold_is_seen_by_the_doctor(place):
    ended = belljar_on_leaky_system(place, "doctor", "--json")
    assert ended.returncode == 1
    checks = {check["check"]: check for check in json.loads(ended.stdout)["checks"]}
    assert checks["trial jar"]["status"] == "bad"
    assert LEAK.decode() in checks["trial jar"]["found"]


def test_a_single_run_does_not_wait_for_the_self_test(place):
    ended = belljar_on_leaky_system(place, "run", "-", stdin=b"print(6*7)")
    assert (ended.returncode, ended.stdout) == (0, b"42\n")


@pytest.mark.parametrize("wrapper, absent, sentence", [
    ([], [], "CapPrm"),
    (NOBODY, [], "no_new_privs"),
    (LOCKED_NOBODY, [], "no seccomp filter"),
    ([*NO_CAPABILITIES, "--no-new-privs"], ["seccomp"], "runs as root"),
    (LOCKED_NOBODY, ["seccomp"], "unknown names in /: "),
    # Asked without /proc.
    ([], ["namespaces"], "CapPrm"),
    (NOBODY, ["namespaces"], "no_new_privs"),
    (LOCKED_NOBODY, ["namespaces"], "no seccomp filter"),
    ([*NO_CAPABILITIES, "--no-new-privs"], ["namespaces", "seccomp"], "runs as root"),
    (LOCKED_NOBODY, ["seccomp", "namespaces"], "a file could be made in /dev/shm"),
    (LOCKED_NOBODY, ["seccomp", "namespaces", "read_only_root"], "a file could be made in"),
])
def test_the_host_is_no_jar(wrapper, absent, sentence):
    said = on_host(wrapper, *absent)
    assert said.startswith("JarProblem: The jar does not hold: ") and sentence in said


def test_what_every_absent_layer_leaves_is_enough():
    assert on_host(LOCKED_NOBODY, *ALL_LAYERS) == ""
    assert on_host([*NO_CAPABILITIES, "--no-new-privs"], *ALL_LAYERS, "unique_user") == ""


def test_a_filter_that_refuses_nothing():
    assert "that the seccomp filter refuses was not refused" in call("check_filter")
    assert call("check_filter", absent=["seccomp"]) == ""


def test_the_network_of_the_host():
    assert "the network of the host can be used" in call("check_network", absent=["namespaces"])
    assert call("check_network", absent=["namespaces", "seccomp"]) == ""


def test_processes_of_others():
    assert "processes of others are seen" in call("check_processes")
    assert call("check_processes", absent=["namespaces"]) == ""


@pytest.mark.parametrize("shell, sentence", [
    ("exec 7</dev/null; exec", "descriptor 7 is open"),
    ("exec 5</; exec", "descriptor 5 is a directory"),
])
def test_a_descriptor_too_many(shell, sentence):
    assert sentence in on_host(LOCKED_NOBODY, *ALL_LAYERS, shell=shell)


@pytest.mark.parametrize("setup, sentence", [
    ("true", ""),
    ("ip link add veth0 type veth peer name veth1", "network interfaces beside lo: veth0, veth1"),
    ("ip link set lo up && ip route add 192.0.2.0/24 dev lo", "there is a route to the outside"),
])
def test_a_network_beside_loopback(setup, sentence):
    said = call("check_network", "unshare", "--net", "sh", "-c", f'{setup} && exec "$@"', "sh")
    assert sentence in said and bool(sentence) == bool(said)


# A root like that of a jar, by the tools of the host. $R is an empty directory.
LIKE_A_JAR = """
mount -t tmpfs -o nosuid,nodev tmpfs "$R" && cd "$R" && mkdir usr proc tmp etc dev tools
for name in bin sbin lib lib64; do ln -s usr/$name $name; done
mount -t overlay -o ro,nosuid,nodev,lowerdir=/usr:tools overlay usr
mount -t proc -o ro,nosuid proc proc
mount -t tmpfs -o nosuid,nodev tmpfs tmp
"""
SEALED = 'mount -o remount,bind,ro,nosuid,nodev "$R" && exec chroot "$R" "$@"'


@pytest.mark.parametrize("change, sentence", [
    ("true", ""),
    ("mkdir home", "unknown names in /: home"),
    ("mkdir sys && mount -t sysfs -o ro,nosuid sysfs sys", "unknown names in /: sys"),
    ("mount --bind -o ro,nosuid /etc tools", "/tools shows /etc of the host"),
    ("umount usr && mount --bind -o ro,nosuid /usr usr", "/usr shows /usr of the host"),
    ("mount -t tmpfs -o ro tmpfs tools", "/tools is mounted without nosuid"),
    ("mount -t tmpfs -o nosuid tmpfs tools", "/tools is mounted writable"),
    ("mount -t tmpfs -o ro,nosuid tmpfs proc/fs", "/proc/fs is mounted and should not be"),
])
def test_a_mount_too_many(place, change, sentence):
    script = f"set -e; R={place}; {LIKE_A_JAR}\n{change}\n{SEALED}"
    said = call("check_mounts", "unshare", "--mount", "sh", "-c", script, "sh")
    assert sentence in said and bool(sentence) == bool(said)
