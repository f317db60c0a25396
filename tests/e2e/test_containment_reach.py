"""What a program can do to the place it runs in, and beyond it."""

import json
import secrets
import socket

from support_binary import GUESTS, belljar, run_code, wait_until
from support_processes import FIRST_JAR_USER, guests_of, user_of


def test_writes_outside_of_the_writable_places_fail():
    places = ["/", "/usr", "/usr/lib", "/usr/local", "/etc", "/dev", "/proc"]
    results = json.loads(belljar("run", GUESTS / "try_to_write.py", *places).stdout)
    # /proc takes no new files at all, whoever asks.
    assert results.pop("/proc") in ("EROFS", "ENOENT", "EACCES", "EPERM")
    assert results == dict.fromkeys(places[:-1], "EROFS")


def test_writable_places_are_writable():
    places = ["/tmp", "/workspace", "/data", "/dev/shm"]
    results = json.loads(belljar("run", GUESTS / "try_to_write.py", *places).stdout)
    assert results == dict.fromkeys(places, "written")


def test_tmp_is_limited():
    ended = belljar("run", "--memory", "512m", GUESTS / "fill_tmp.py")
    error, written = ended.stdout.split()
    assert error == b"ENOSPC"
    assert 63 << 20 <= int(written) <= 64 << 20


def test_nothing_written_is_there_in_the_next_run():
    writer = "for d in ('/tmp', '/workspace', '/dev/shm'): open(d + '/left', 'w').close()"
    reader = "import os; print([os.listdir(d) for d in ('/tmp', '/workspace', '/dev/shm')])"
    assert run_code(writer).returncode == 0
    assert run_code(reader).stdout == b"[[], [], []]\n"


def test_host_cannot_be_reached():
    abstract_name = f"belljar-e2e-{secrets.token_hex(8)}"
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0" + abstract_name)
        abstract.listen()
        port = listener.getsockname()[1]
        ended = belljar("run", GUESTS / "reach_host.py", port, abstract_name)
        results = json.loads(ended.stdout)
        with socket.create_connection(("127.0.0.1", port)), \
                socket.socket(socket.AF_UNIX) as control:
            control.connect("\0" + abstract_name)  # or the test would prove nothing
    assert results.pop("loopback6") in ("ECONNREFUSED", "EADDRNOTAVAIL", "ENETUNREACH")
    assert results == {"loopback": "ECONNREFUSED", "abstract": "ECONNREFUSED",
                       "outside": "ENETUNREACH", "metadata": "ENETUNREACH"}


def test_own_loopback_works():
    code = """
import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    with socket.create_connection(listener.getsockname()) as client:
        listener.accept()[0].sendall(b"hello")
        print(client.recv(5).decode())
"""
    assert run_code(code).stdout == b"hello\n"


def test_two_jars_have_two_users_of_the_host(open_server):
    runs = [open_server.start_run("import time; time.sleep(1000)") for _ in range(2)]
    try:
        wait_until(lambda: len(guests_of(open_server.pid)) == 2, "both programs run")
        users = [user_of(guest.pid) for guest in guests_of(open_server.pid)]
    finally:
        for run in runs:
            run.close()
    assert min(users) >= FIRST_JAR_USER
    assert len(set(users)) == 2


def test_two_runs_in_turn_have_two_users_of_the_host(open_server):
    users = set()
    for _ in range(2):
        with open_server.start_run("import time; time.sleep(1000)"):
            guest = wait_until(lambda: guests_of(open_server.pid), "the program runs")[0]
            users.add(user_of(guest.pid))
        wait_until(lambda: not guests_of(open_server.pid), "the program is gone")
    assert len(users) == 2


def test_no_other_user_can_be_taken():
    code = """
import os
for change in (os.setuid, os.setgid, lambda number: os.setgroups([number])):
    for number in (0, 1, 999, 65534):
        try:
            change(number)
            print("changed to", number)
        except OSError:
            pass
print(os.getresuid(), os.getresgid(), os.getgroups())
"""
    assert run_code(code).stdout == b"(1000, 1000, 1000) (1000, 1000, 1000) []\n"


def test_set_user_id_programs_give_nothing():
    code = """
import os, subprocess
for program in ("/usr/bin/su", "/usr/bin/sudo", "/usr/bin/passwd"):
    if os.path.exists(program):
        asked = subprocess.run([program, "-c", "id"], capture_output=True, stdin=subprocess.DEVNULL)
        print(asked.stdout, asked.returncode == 0)
"""
    assert set(run_code(code).stdout.splitlines()) <= {b"b'' False"}


def test_mounting_is_refused():
    code = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(result):
    return "done" if result == 0 else errno.errorcode[ctypes.get_errno()]
print(attempt(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
      attempt(libc.mount(b"none", b"/", None, 0x20 | 0x1000, None)),
      attempt(libc.umount2(b"/usr", 2)),
      attempt(libc.unshare(0x00020000)),
      attempt(libc.sethostname(b"x", 1)))
"""
    assert set(run_code(code).stdout.split()) == {b"EPERM"}


def test_what_limits_allow_can_be_used_again():
    for _ in range(3):
        ended = run_code("import sys; sys.stdout.write('x' * 3_000_000)")
        assert len(ended.stdout) == 3_000_000
