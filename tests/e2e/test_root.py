"""isolation.root: programs see another system than the host's, as a directory or as an image."""

import pathlib
import re
import shutil
import subprocess

import pytest

from support_binary import belljar, environment

PYTHON = pathlib.Path("/usr/bin/python3").resolve()
STANDARD_LIBRARY = pathlib.Path(f"/usr/lib/{PYTHON.name}")
# What programs of the tests do not need, and most of the size.
LEFT_OUT = ("test", "idlelib", "__pycache__", "config-*", "ensurepip", "pydoc_data")


def libraries():
    """What the interpreter and its own modules are linked with."""
    modules = [str(path) for path in (STANDARD_LIBRARY / "lib-dynload").glob("*.so")]
    text = subprocess.run(["ldd", str(PYTHON), *modules], capture_output=True, text=True,
                          check=True).stdout
    return {pathlib.Path(found) for found in re.findall(r"(/\S+\.so\S*)", text)
            if not found.startswith("/usr/lib/python")}


def copy(source, root):
    place = root / source.relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        shutil.copy2(source, place)


@pytest.fixture(scope="module")
def system(session_place):
    """A tree with nothing but an interpreter in it."""
    root = session_place / "system"
    (root / "usr").mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    copy(PYTHON, root)
    (root / "usr/bin/python3").symlink_to(PYTHON.name)
    shutil.copytree(STANDARD_LIBRARY, root / STANDARD_LIBRARY.relative_to("/"), symlinks=True,
                    ignore=shutil.ignore_patterns(*LEFT_OUT))
    for library in libraries():
        copy(pathlib.Path("/usr") / library.relative_to("/") if not
             str(library).startswith("/usr/") else library, root)
    (root / "etc").mkdir()
    (root / "etc/hello").write_text("another system")
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="module", params=["directory", "image"])
def chosen_root(request, system):
    if request.param == "directory":
        yield system
        return
    image = system.parent / "system.erofs"
    subprocess.run(["mkfs.erofs", "--quiet", str(image), str(system)], check=True)
    yield image
    image.unlink()


def run(root, code):
    return belljar("run", "-", stdin=code.encode(),
                   env=environment(BELLJAR_ISOLATION_ROOT=str(root)))


def test_programs_see_that_system(chosen_root):
    answer = run(chosen_root, "print(open('/etc/hello').read())")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, b"another system\n", b"")


def test_nothing_of_the_host_shows(chosen_root):
    answer = run(chosen_root, "import os\n"
                              "print(sorted(os.listdir('/usr')), os.path.exists('/bin/sh'))\n"
                              "print(open('/proc/self/mountinfo').read())")
    lines = answer.stdout.decode().splitlines()
    assert lines[0] == "['bin', 'lib', 'lib64'] False"
    assert "system" not in "".join(lines[1:]) and "loop" not in "".join(lines[1:])


def test_it_cannot_be_written(chosen_root):
    for path in ("/etc/hello", "/usr/new", "/usr/bin/python3"):
        answer = run(chosen_root, f"open({path!r}, 'w')")
        assert answer.returncode == 1 and b"Read-only file system" in answer.stderr, answer


def test_a_root_that_is_not_there_stops_the_start(place):
    answer = run(place / "nothing", "print(1)")
    assert (answer.returncode, answer.stdout) == (125, b"")
    assert b"isolation.root" in answer.stderr


def test_a_file_that_is_no_image_stops_the_start(place):
    (place / "file").write_bytes(b"x" * 65536)
    answer = run(place / "file", "print(1)")
    assert (answer.returncode, answer.stdout) == (125, b"")
