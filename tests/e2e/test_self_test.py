"""The program that looks at a jar from inside before work is accepted: content with a jar, and with
nothing less."""

import json
import subprocess

import pytest

from support_binary import COMMAND_SECONDS, ROOT, belljar

PROGRAM = ROOT / "guest" / "python" / "self_test.py"
PYTHON = "/usr/bin/python3"
NO_CAPABILITIES = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
NOBODY = [*NO_CAPABILITIES, "--reuid", "65534", "--regid", "65534", "--clear-groups"]
LOCKED_NOBODY = [*NOBODY, "--no-new-privs"]
# Everything that a process of the host has not.
ALL_LAYERS = ["namespaces", "read_only_root", "landlock", "seccomp"]


def on_host(wrapper, *absent, shell="exec"):
    """The sentence with which it fails as an ordinary process of the host; empty if it does not."""
    command = [*wrapper, "sh", "-c", f'{shell} "$@"', "sh", PYTHON, "-I", "-B", str(PROGRAM)]
    ended = subprocess.run([*command, *absent], stdin=subprocess.PIPE, capture_output=True,
                           cwd="/", env={}, timeout=COMMAND_SECONDS, check=False)
    assert ended.stdout == b""
    lines = ended.stderr.decode().splitlines()
    assert bool(lines) == (ended.returncode != 0), ended
    return lines[-1] if lines else ""


def call(function, *wrapper):
    """The same with one of its functions alone."""
    text = PROGRAM.read_text(encoding="utf-8")
    code = f"{text[:text.rindex('self_test(')]}{function}(frozenset())\n"
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


@pytest.mark.parametrize("wrapper, absent, sentence", [
    ([], [], "CapPrm"),
    (NOBODY, [], "no_new_privs"),
    (LOCKED_NOBODY, [], "no seccomp filter"),
    ([*NO_CAPABILITIES, "--no-new-privs"], ["seccomp"], "runs as root"),
    (LOCKED_NOBODY, ["seccomp"], "unknown names in /: "),
    (LOCKED_NOBODY, ["seccomp", "namespaces"], "a file could be made in /var/tmp"),
    (LOCKED_NOBODY, ["seccomp", "namespaces", "read_only_root"], "a file could be made in"),
])
def test_the_host_is_no_jar(wrapper, absent, sentence):
    said = on_host(wrapper, *absent)
    assert said.startswith("JarProblem: The jar does not hold: ") and sentence in said


def test_what_every_absent_layer_leaves_is_enough():
    assert on_host(LOCKED_NOBODY, *ALL_LAYERS) == ""
    assert on_host([*NO_CAPABILITIES, "--no-new-privs"], *ALL_LAYERS, "unique_user") == ""


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
mount --bind -o ro,nosuid,nodev /usr usr && mount -t proc -o ro,nosuid proc proc
mount -t tmpfs -o nosuid,nodev tmpfs tmp
"""
SEALED = 'mount -o remount,bind,ro,nosuid,nodev "$R" && exec chroot "$R" "$@"'


@pytest.mark.parametrize("change, sentence", [
    ("true", ""),
    ("mkdir home", "unknown names in /: home"),
    ("mkdir sys && mount -t sysfs -o ro,nosuid sysfs sys", "unknown names in /: sys"),
    ("mount --bind -o ro,nosuid /etc tools", "/tools shows /etc of the host"),
    ("mount -t tmpfs -o ro tmpfs tools", "/tools is mounted without nosuid"),
    ("mount -t tmpfs -o nosuid tmpfs tools", "/tools is mounted writable"),
    ("mount -t tmpfs -o ro,nosuid tmpfs proc/fs", "/proc/fs is mounted and should not be"),
])
def test_a_mount_too_many(place, change, sentence):
    script = f"set -e; R={place}; {LIKE_A_JAR}\n{change}\n{SEALED}"
    said = call("check_mounts", "unshare", "--mount", "sh", "-c", script, "sh")
    assert sentence in said and bool(sentence) == bool(said)
