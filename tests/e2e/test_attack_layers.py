"""Every attack once more with one layer switched off: another holds, or the gap is known.

The layers are switched off in a variant of init that is built with the tests and never installed.
"""

import json
import shutil
import subprocess
import tomllib

import pytest

from support_binary import BINARY, ROOT, environment

VARIANT = BINARY.parent / "tests" / "init_with_switches"
KNOWN = tomllib.loads((ROOT / "tests" / "attack" / "layers.toml").read_text())
STEPS = {
    "seccomp": "install the seccomp filter",
    "landlock": "enter Landlock",
    "read_only_root": "make the root read-only",
    "no_capabilities": "drop capabilities",
    "namespaces_limits": "forbid further namespaces",
}
SECONDS = 400  # for all attacks, on a busy machine and with sanitizers


@pytest.fixture
def open_installation(place):
    """The programs of this build, with an init that leaves out the steps it is told to."""
    for name in ("belljar", "belljar-keeper", "belljar-warden"):
        shutil.copy2(BINARY.parent / name, place / name)
    shutil.copy2(VARIANT, place / "belljar-init")

    def without(step):
        (place / "steps-off").write_text(step + "\n")
        return place / "belljar"

    return without


def run(program, *arguments, text=b""):
    return subprocess.run([str(program), *arguments], input=text, capture_output=True, check=False,
                          env=environment(), timeout=SECONDS)


def test_a_name_that_is_no_step_runs_nothing(open_installation):
    answer = run(open_installation("no such step"), "run", "-", text=b"print(42)")
    assert (answer.returncode, answer.stdout) == (125, b"")


def test_without_a_switch_the_variant_is_an_ordinary_init(open_installation):
    program = open_installation("").parent / "belljar"
    (program.parent / "steps-off").unlink()
    code = b"print([line for line in open('/proc/self/status') if line.startswith('Seccomp:')])"
    assert run(program, "run", "-", text=code).stdout == b"['Seccomp:\\t2\\n']\n"


@pytest.mark.parametrize("layer", sorted(STEPS))
def test_another_layer_holds_or_the_gap_is_known(open_installation, layer):
    answer = run(open_installation(STEPS[layer]), "attack", "--json")
    found = json.loads(answer.stdout)
    broken = {one["name"]: one["seen"] for one in found["attacks"] if one["verdict"] == "broken"}
    unknown = {name: seen for name, seen in broken.items() if KNOWN[name][layer] == "holds"}
    assert unknown == {}
    # The switch works: what looks for this layer itself does not find it.
    if layer in ("seccomp", "read_only_root", "no_capabilities"):
        assert "posture" in broken
