"""What the kernel says of a run: which files it read, wrote and deleted, and what it sent."""

import pytest

from test_conversations import Talk

FILES = {"a.txt": "alpha", "b.txt": "beta", "c.txt": "gamma", "deep/d.txt": "delta"}


def access_of(record):
    """As (read, written, deleted); nothing of it may have been missed."""
    access = record.get("file_access", {"read": [], "written": [], "deleted": [],
                                        "complete": True})
    assert access["complete"] is True and "more" not in access, access
    return access["read"], access["written"], access["deleted"]


@pytest.fixture
def talk(server):
    made = Talk(server)
    code = "import os\nos.makedirs('deep')\n" + "".join(
        f"open({name!r}, 'w').write({text!r})\n" for name, text in FILES.items())
    assert access_of(made.ask(code)) == ([], sorted(FILES), [])
    return made


PYTHON = {
    "nothing": ("1", [], [], []),
    "looking": ("import os\nos.listdir('.'), os.stat('a.txt').st_size, os.path.exists('b.txt')",
                [], [], []),
    "opening": ("open('a.txt').close()", [], [], []),
    "reading": ("open('a.txt').read()", ["a.txt"], [], []),
    "reading deep": ("open('/data/deep/d.txt').read()", ["deep/d.txt"], [], []),
    "a part": ("import os\nos.pread(os.open('b.txt', os.O_RDONLY), 1, 2)", ["b.txt"], [], []),
    "mapping": ("import mmap\nwith open('c.txt') as f:\n"
                "    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:2]", ["c.txt"], [], []),
    "sending": ("import os, socket\na, b = socket.socketpair()\n"
                "os.sendfile(a.fileno(), os.open('a.txt', os.O_RDONLY), 0, 5)", ["a.txt"], [], []),
    "copying": ("import shutil\nshutil.copyfile('a.txt', 'e.txt')", ["a.txt"], ["e.txt"], []),
    "in the kernel": ("import os\nos.copy_file_range(os.open('a.txt', os.O_RDONLY), "
                      "os.open('e.txt', os.O_WRONLY | os.O_CREAT), 5)", ["a.txt"], ["e.txt"], []),
    "overwriting": ("open('a.txt', 'w').write('new')", [], ["a.txt"], []),
    "the same again": ("open('a.txt', 'w').write('alpha')", [], ["a.txt"], []),
    "appending": ("open('a.txt', 'a').write('more')", [], ["a.txt"], []),
    "changing": ("with open('a.txt', 'r+') as f:\n    f.read()\n    f.write('more')",
                 ["a.txt"], ["a.txt"], []),
    "deleting": ("import os\nos.remove('a.txt')", [], [], ["a.txt"]),
    "renaming": ("import os\nos.rename('a.txt', 'z.txt')", [], ["z.txt"], ["a.txt"]),
    "replacing": ("import os\nopen('n', 'w').write('x')\nos.replace('n', 'b.txt')",
                  [], ["b.txt"], []),
    "by a link": ("import os\nos.link('a.txt', '/workspace/l')\nopen('l').read()\nos.remove('l')",
                  ["a.txt"], [], []),
    "by a symbolic link": ("import os\nos.symlink('a.txt', 'l')\nopen('l').read()\nos.remove('l')",
                           ["a.txt"], [], []),
    "in a child": ("import subprocess\nsubprocess.run(['cat', 'b.txt'], capture_output=True)",
                   ["b.txt"], [], []),
    "in a thread": ("import threading\nt = threading.Thread(target=lambda: open('c.txt').read())\n"
                    "t.start()\nt.join()", ["c.txt"], [], []),
    "and dying": ("import os, signal\nopen('b.txt').read()\nos.kill(os.getpid(), signal.SIGKILL)",
                  ["b.txt"], [], []),
    # Who hides what it did is told as one who may have done it.
    "setting times back": ("import os\ns = os.stat('a.txt')\nopen('a.txt').read()\n"
                           "os.utime('a.txt', ns=(s.st_atime_ns, s.st_mtime_ns))",
                           ["a.txt"], [], []),
    "setting times ahead": ("import os\nos.utime('a.txt', (4e9, 1e9))\nopen('a.txt').read()",
                            ["a.txt"], ["a.txt"], []),
    "changing the mode": ("import os\nos.chmod('c.txt', 0o600)", ["c.txt"], [], []),
    "without a trace": ("import os\ntry:\n    os.open('a.txt', os.O_RDONLY | os.O_NOATIME)\n"
                        "except PermissionError:\n    os.read(os.open('a.txt', os.O_RDONLY), 9)",
                        ["a.txt"], [], []),
    "without a trace later": ("import fcntl, os\nf = os.open('a.txt', os.O_RDONLY)\ntry:\n"
                              "    fcntl.fcntl(f, fcntl.F_SETFL, os.O_NOATIME)\n"
                              "except PermissionError:\n    os.read(f, 9)", ["a.txt"], [], []),
}
BASH = {
    "reading": ("cat a.txt > /dev/null", ["a.txt"], [], []),
    "redirecting": ("read line < b.txt; echo \"$line\"", ["b.txt"], [], []),
    "executing": ("printf 'echo ran' > run.sh; sh run.sh; rm a.txt", [], ["run.sh"], ["a.txt"]),
    "searching": ("grep -r gamma . > /dev/null", sorted(FILES), [], []),
    "moving": ("mv deep deeper", [], ["deeper/d.txt"], ["deep/d.txt"]),
    "listing": ("ls -lR > /dev/null; test -f a.txt", [], [], []),
}


@pytest.mark.parametrize("case", PYTHON)
def test_files_of_python(talk, case):
    code, *expected = PYTHON[case]
    status = "killed" if case == "and dying" else "ok"
    assert access_of(talk.ask(code, status)) == tuple(expected)


@pytest.mark.parametrize("case", BASH)
def test_files_of_bash(talk, case):
    code, *expected = BASH[case]
    assert access_of(talk.ask(code, language="bash")) == tuple(expected)


def test_each_cell_is_told_what_it_did(talk):
    first = talk.ask("open('a.txt').read()", session=True)
    assert access_of(first) == (["a.txt"], [], [])
    assert access_of(talk.ask("1", session=True)) == ([], [], [])
    assert access_of(talk.ask("open('a.txt').read()", session=True)) == (["a.txt"], [], [])
    assert access_of(talk.ask("open('new.txt', 'w').write('x')", session=True)) == (
        [], ["new.txt"], [])
    assert access_of(talk.ask("open('new.txt').read()", session=True)) == (["new.txt"], [], [])
    last = talk.ask("import os\nos.remove('new.txt')", session=True)
    assert access_of(last) == ([], [], ["new.txt"])
    assert talk.server.request("DELETE", f"/v1/sessions/{last['session_id']}").status == 200


def test_more_files_than_are_listed_are_counted(server):
    record = Talk(server).ask("for n in range(400):\n    open(f'f{n:03}', 'w').close()")
    access = record["file_access"]
    assert len(access["written"]) == 256 and access["more"] == 144


def test_a_run_that_is_ended_is_told_of_as_well(talk):
    record = talk.ask("open('b.txt').read()\nimport time\ntime.sleep(60)", "timeout", timeout=1)
    assert access_of(record) == (["b.txt"], [], [])


def test_runs_without_a_conversation_say_nothing_of_files(server):
    assert "file_access" not in server.execute("open('x', 'w').write('1')\nopen('x').read()")


# The jar's own network, which leads nowhere; addresses are the jar's own or of documentation.


def attempts_of(record):
    found = record.get("network_attempts")
    return found and (found["without_route"], found["connections"], found["datagrams"],
                      found["places"])


NETWORK = {
    "nothing": ("1", None),
    "pairs": ("import socket\na, b = socket.socketpair()\na.send(b'x')", None),
    "a socket": ("import socket\nsocket.socket().close()", None),
    "a refused connection": ("import socket\nsocket.socket().connect_ex(('127.0.0.1', 9))",
                             (0, 1, 0, [])),
    "a server of its own": (
        "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
        "for _ in range(3):\n    socket.create_connection(s.getsockname()).close()", (0, 3, 0, [])),
    "a place outside": ("import socket\nsocket.socket().connect_ex(('192.0.2.7', 443))",
                        (1, 0, 0, ["192.0.2.7:443"])),
    "a place outside by IPv6": (
        "import socket\nsocket.socket(socket.AF_INET6).connect_ex(('2001:db8::7', 443))",
        (1, 0, 0, ["[2001:db8::7]:443"])),
    "datagrams": ("import socket\nu = socket.socket(type=socket.SOCK_DGRAM)\n"
                  "u.bind(('127.0.0.1', 0))\nfor _ in range(5):\n"
                  "    u.sendto(b'x', u.getsockname())", (0, 0, 5, [])),
    "datagrams to nowhere": (
        "import socket\nu = socket.socket(type=socket.SOCK_DGRAM)\nfor _ in range(4):\n    try:\n"
        "        u.sendto(b'x', ('192.0.2.9', 53))\n    except OSError:\n        pass",
        (4, 0, 0, [])),
}


@pytest.mark.parametrize("case", NETWORK)
def test_attempts_are_what_the_kernel_counted(server, case):
    code, expected = NETWORK[case]
    assert attempts_of(server.execute(code)) == expected


def test_attempts_of_children_and_of_dying_programs_count(server):
    code = ("import os, socket\nif os.fork() == 0:\n"
            "    socket.socket().connect_ex(('192.0.2.1', 80))\n    os._exit(0)\n"
            "os.wait()\nsocket.socket().connect_ex(('192.0.2.2', 80))\nos.abort()")
    without, opened, sent, places = attempts_of(server.execute(code))
    assert (without, opened, sent) == (2, 0, 0)
    assert sorted(places) == ["192.0.2.1:80", "192.0.2.2:80"]


def test_attempts_of_each_cell_are_its_own(server):
    code = "import socket\nsocket.socket().connect_ex(('192.0.2.1', 80))"
    first = server.execute(code, session=True)
    name = first["session_id"]
    assert attempts_of(first)[:3] == (1, 0, 0)
    assert attempts_of(server.execute("1", session_id=name)) is None
    again = server.execute(code.replace("80", "81"), session_id=name)
    assert attempts_of(again)[:3] == (1, 0, 0)
    assert server.request("DELETE", f"/v1/sessions/{name}").status == 200


def test_attempts_of_bash(server):
    record = server.execute("exec 3<>/dev/tcp/192.0.2.5/80; echo end", language="bash")
    assert attempts_of(record) == (1, 0, 0, ["192.0.2.5:80"])
