"""Where a program's workspace is: on a disk of its own, or in memory if it has no way to a file."""

import contextlib
import pathlib

import pytest

from support_binary import environment, wait_until
from support_processes import guests_of

WITHOUT_FILES = "import time\ntime.sleep(1000)"
WITH_FILES = "import time\nopen('note', 'w').write('x')\ntime.sleep(1000)"
MEBIBYTES = 32

# Names that are put together: nobody who looks at the text sees that it opens a file.
HIDDEN_WAY = f"""
import string
def member(name, owner):
    return string.Formatter().get_field('0.' + name, [owner], dict())[0]
maker = member('op' + 'en', member('_' * 2 + 'self' + '_' * 2, print))
maker('small', 'w').write('x')
try:
    with maker('large', 'wb') as file:
        for i in range({MEBIBYTES}):
            file.write(b'x' * 2 ** 20)
    print('written')
except OSError as error:
    print(error.errno)
"""


@pytest.fixture(name="unpooled")
def server_that_keeps_no_jar(own_server):
    server = own_server("--auth", "none", env=environment(BELLJAR_POOL_READY="0"))
    forked = "import os\nos.getppid()"
    wait_until(lambda: server.execute(forked)["result"] == 0, "guests are forked", 60)
    return server


def workspace_of(guest):
    """(kind of file system, its options) of a running guest's workspace; none if it has ended."""
    lines = []
    with contextlib.suppress(OSError):
        lines = pathlib.Path(f"/proc/{guest.pid}/mountinfo").read_text().splitlines()
    for line in lines:
        place, kind = line.split()[4], line.partition(" - ")[2].split()
        if place == "/workspace":
            return kind[0], kind[2]
    return None


def look_at_run(server, code):
    with contextlib.closing(server.start_run(code)):
        found = wait_until(lambda: [place for guest in guests_of(server.pid)
                                    if (place := workspace_of(guest))], "the program runs")
    wait_until(lambda: not guests_of(server.pid), "it has ended")
    return found[0]


def test_a_program_without_files_gets_no_disk(unpooled):
    kind, options = look_at_run(unpooled, WITHOUT_FILES)
    assert kind == "tmpfs"
    assert "size=16384k" in options


def test_a_program_with_files_has_its_disk(unpooled):
    assert look_at_run(unpooled, WITH_FILES)[0] == "ext4"


def test_files_that_come_along_need_a_disk(unpooled):
    result = unpooled.execute("print(sum(range(10)))", files={"data/a.txt": "1"})
    assert (result["status"], result["stdout"]) == ("ok", "45\n")


def test_files_of_a_conversation_need_a_disk(unpooled):
    write = f"open('large', 'wb').write(bytes({MEBIBYTES} * 2 ** 20))"
    assert unpooled.execute(write, conversation_id="large")["status"] == "ok"
    result = unpooled.execute("print(45)", conversation_id="large")
    assert (result["status"], result["stdout"], result["files"]) == ("ok", "45\n", [])
    kept = unpooled.execute("import os\nos.path.getsize('large')", conversation_id="large")
    assert kept["result"] == MEBIBYTES * 2 ** 20


def test_who_hides_a_way_to_files_meets_a_smaller_limit(unpooled):
    result = unpooled.execute(HIDDEN_WAY)
    assert result["stdout"] == "28\n"  # ENOSPC
    assert result["status"] in ("ok", "disk")
    assert unpooled.execute("import os\nos.listdir('/workspace')")["result"] == []
