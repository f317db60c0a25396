"""Guests that are forked from a warm interpreter: fresh, and like those that start their own."""

import contextlib
import json
import os
import pathlib
import signal
import threading

import pytest

from support_binary import environment, run_code, wait_until
from support_processes import descendants, is_zygote, status_of

FORKED = "import os\nos.getppid()"  # 0: its parent is outside of the jar
CAPABILITIES = (1 << 18) | (1 << 19) | (1 << 21)  # chroot, ptrace, admin


def zygotes(server):
    """Not the guest of a run that has just been answered, which the kernel still takes apart."""
    return [one for one in descendants(server.pid) if is_zygote(one)]


@pytest.fixture
def warm_server(own_server):
    server = own_server("--auth", "none", env=environment())
    wait_until(lambda: server.execute(FORKED)["result"] == 0, "guests are forked", 60)
    return server


def test_guests_share_what_was_there_and_no_chance(warm_server):
    code = "import random, secrets, uuid\n[hash('x'), random.random(), secrets.token_hex(8), " \
           "str(uuid.uuid4()), id(random) > 0]"
    one, other = (warm_server.execute(code)["result"] for _ in range(2))
    assert one[0] == other[0]
    assert all(first != second for first, second in zip(one[1:4], other[1:4], strict=True))


def test_a_guest_knows_its_own_thread(warm_server):
    code = "import os, threading\n[threading.main_thread().native_id, os.getpid()]"
    own, process = warm_server.execute(code)["result"]
    assert own == process


def test_a_guest_that_forks_is_told_of_it(warm_server):
    """By its modules, although they were there before the guest was."""
    code = """
import os, random, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, f"{threading.active_count()} {random.random()}".encode())
    os._exit(0)
os.wait()
threads, number = os.read(reader, 100).split()
[int(threads), threading.active_count(), float(number) != random.random()]"""
    assert warm_server.execute(code)["result"] == [1, 2, True]


def test_a_guest_sees_nothing_of_another(warm_server):
    code = """
import builtins, os, sys, random
found = [hasattr(builtins, "mark"), "mark" in sys.modules, hasattr(random, "mark"),
         os.path.exists("/tmp/mark"), "MARK" in os.environ]
builtins.mark = random.mark = 1
sys.modules["mark"] = sys
os.environ["MARK"] = "1"
open("/tmp/mark", "w").close()
found"""
    assert [warm_server.execute(code)["result"] for _ in range(2)] == [[False] * 5] * 2


def test_it_reads_what_it_is_given(warm_server):
    record = warm_server.execute("print(input(), input())", stdin="one\ntwo\n")
    assert record["stdout"] == "one two\n"


# What a program shows of how its interpreter begins and ends.
HABITS = {
    "exit functions": "import atexit\natexit.register(print, 'bye')",
    "a file that nobody closes": "file = open(1, 'w', closefd=False)\nfile.write('text')",
    "finalizers": "class Noisy:\n    def __del__(self): print('gone')\nnoisy = Noisy()",
    "a thread that goes on": "import threading, time\ndef work():\n    time.sleep(0.2)\n"
                             "    print('done')\nthreading.Thread(target=work).start()",
    "a daemon that does not": "import threading, time\n"
                              "threading.Thread(target=time.sleep, args=(60,),"
                              " daemon=True).start()",
    "a broken pipe": "import os\nreader, writer = os.pipe()\nos.close(reader)\n"
                     "try:\n    os.write(writer, b'x')\nexcept BrokenPipeError as error:\n"
                     "    print(error)",
    "an exit code": "import sys\nsys.exit(7)",
    "a text as exit code": "import sys\nsys.exit('no')",
    "an exception": "1/0",
    "an abort": "import os\nos.abort()",
    "a signal to itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "an interrupt": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)",
    "subprocesses": "import subprocess\n"
                    "print(subprocess.run(['/bin/echo', 'hi'], capture_output=True).stdout)",
    "a pool of processes": "import multiprocessing\ndef square(x): return x * x\n"
                           "with multiprocessing.Pool(2) as pool:\n"
                           "    print(pool.map(square, [2, 3]))",
    "an event loop": "import asyncio\nasync def f(): return 6*7\nprint(asyncio.run(f()))",
    "itself": "import os, sys\nprint(os.getuid(), os.getcwd(), sys.argv, sys.flags.isolated, "
              "sorted(os.environ), os.listdir('/proc/self/fd'), __name__, __file__)",
    "its limits": "import resource\nprint([resource.getrlimit(number) for number in range(16)])",
    "what others are told of forks": "import os\nprint(os.register_at_fork)",
    "its signals": "import signal\nprint([str(signal.getsignal(n)) for n in (2, 13, 15, 17, 25)], "
                   "signal.pthread_sigmask(signal.SIG_BLOCK, []))",
}


@pytest.mark.parametrize("habit", HABITS)
def test_it_begins_and_ends_like_any_interpreter(warm_server, habit):
    forked = warm_server.execute(HABITS[habit])
    expected = json.loads(run_code(HABITS[habit], "--json").stdout)
    for name in ("status", "exit_code", "stdout", "stderr", "signal", "variables"):
        assert forked.get(name) == expected.get(name), name


# Told before the kernel has taken the process apart, and still what a wait would say.
ENDS = {
    "import sys; sys.exit(7)": (7, None),
    "import os; os._exit(3)": (3, None),
    "1 / 0": (1, None),
    "print(6 * 7)": (0, None),
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)": (None, signal.SIGTERM),
    "import os; os.abort()": (None, signal.SIGABRT),
    "import threading; threading.Thread(target=print, args=(1,)).start(); raise SystemExit(9)":
        (9, None),
    "import os, time\nif os.fork() == 0: time.sleep(100)\nraise SystemExit(4)": (4, None),
    "import os, sys\nos.execv(sys.executable, ['python3', '-c', 'raise SystemExit(5)'])": (5, None),
    "x = b'x' * (100 << 20); print(len(x), flush=True); raise SystemExit(6)": (6, None),
}


@pytest.mark.parametrize("code", ENDS)
def test_its_end_is_the_kernels_word(warm_server, code):
    for _ in range(10):
        record = warm_server.execute(code)
        found = (record["exit_code"], record.get("signal"))
        assert found == (ENDS[code][0], ENDS[code][1] and int(ENDS[code][1])), record


def test_nothing_printed_before_the_end_is_lost(warm_server):
    code = "import os\nos.write(1, b'o' * 50_000)\nos.write(2, b'e' * 50_000)\nos._exit(0)"
    for _ in range(20):
        record = warm_server.execute(code)
        assert (record["stdout_bytes"], record["stderr_bytes"]) == (50_000, 50_000)


def test_a_zygote_that_dies_is_replaced(warm_server):
    (first,) = zygotes(warm_server)
    os.kill(first.pid, signal.SIGKILL)
    assert warm_server.execute("print(1)")["stdout"] == "1\n"

    def replaced():
        return [one for one in zygotes(warm_server) if one.pid != first.pid]

    wait_until(replaced, "another zygote", 60)
    wait_until(lambda: warm_server.execute(FORKED)["result"] == 0, "guests are forked again", 60)


def test_without_namespaces_there_is_none(own_server):
    server = own_server("--auth", "none", env=environment(
        BELLJAR_ISOLATION_MODE="nested", BELLJAR_ISOLATION_REQUIRE="basic"))
    assert server.execute("6*7")["result"] == 42
    runners = server.request("GET", "/v1/runners").json["runners"]
    [python] = [one for one in runners if one["language"] == "python"]
    assert python["kind"] == "started"
    assert server.stop() == 0
    assert "zygote" not in server.errors


def test_an_end_of_init_is_no_end_of_a_program(own_server):
    """Whenever it comes: also while the guest waits to be let in."""
    server = own_server("--auth", "none", env=environment(BELLJAR_POOL_READY="0"))
    wait_until(lambda: server.execute(FORKED)["result"] == 0, "guests are forked", 60)
    ended = threading.Event()

    def kill_inits():
        while not ended.wait(0.001):
            for one in descendants(server.pid):
                if one.name == "belljar-jar":
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_inits)
    killer.start()
    try:
        answers = [server.request("POST", "/execute", {"code": "print(1)"}) for _ in range(100)]
    finally:
        ended.set()
        killer.join()
    ends = {(answer.status, answer.json.get("status")) for answer in answers}
    assert ends <= {(200, "ok"), (200, "killed"), (500, None)}
    assert (500, None) in ends
    wait_until(lambda: not [one for one in descendants(server.pid) if one.name == "belljar-jar"],
               "nothing is left of the jars")
    assert server.execute(FORKED)["result"] == 0


def test_a_zygote_has_no_rights_on_the_host(warm_server):
    (one,) = zygotes(warm_server)
    status = status_of(one.pid)
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == CAPABILITIES
    assert status["NoNewPrivs"] == "1"
    assert int(status["Uid"].split()[0]) > 65535
    for kind in ("user", "mnt", "net", "ipc", "uts"):
        own = os.readlink(f"/proc/{one.pid}/ns/{kind}")
        assert own != os.readlink(f"/proc/self/ns/{kind}"), kind
    root = pathlib.Path(f"/proc/{one.pid}/root")
    assert sorted(os.listdir(root / "workspace")) == sorted(os.listdir(root / "proc")) == []
    assert not (root / "root").exists()


def test_a_zygote_holds_what_it_works_with(warm_server):
    (one,) = zygotes(warm_server)
    held = {number: os.readlink(f"/proc/{one.pid}/fd/{number}")
            for number in os.listdir(f"/proc/{one.pid}/fd")}
    assert sorted(held) == ["0", "1", "2", "3", "4", "5"]
    assert not [target for target in held.values() if target.startswith("/proc")]


def test_a_zygote_is_in_large_pages(warm_server):
    (one,) = zygotes(warm_server)
    large = sum(int(line.split()[1]) for line in open(f"/proc/{one.pid}/smaps")
                if line.startswith("AnonHugePages"))
    assert large >= 4096
    # What is too small for one of its own is in pieces of some, and no longer in its file.
    mapped = pathlib.Path(f"/proc/{one.pid}/maps").read_text().splitlines()
    assert not [line for line in mapped if " r-xp " in line and "/libc.so" in line]
    assert not [line for line in mapped if " rw-p " in line and line.endswith("/python3.11")]


def test_nobody_in_a_jar_reaches_the_zygote(warm_server):
    (one,) = zygotes(warm_server)
    code = f"""
import os, signal
refused = []
for attempt in (lambda: os.kill({one.pid}, 0), lambda: os.kill(os.getppid() or {one.pid}, 9),
                lambda: open("/proc/{one.pid}/maps")):
    try:
        attempt()
    except OSError as error:
        refused.append(error.errno)
refused"""
    assert warm_server.execute(code)["result"] == [3, 3, 2]
    assert [other.pid for other in zygotes(warm_server)] == [one.pid]
