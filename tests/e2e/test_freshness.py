"""Hunts for anything that one run has of another.

From outside by what the kernel calls it, held open so that no number can be given twice, and from
inside by marks that every run leaves and looks for.
"""

import contextlib
import dataclasses
import os

import pytest

from support_binary import environment, wait_until
from support_processes import guests_of, user_of

ROUNDS = 12
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
PLACES = ("", "dev", "dev/shm", "proc", "tmp", "usr", "workspace")  # each a file system of its own
FORKED = "import os\nos.getppid()"
ROUTES = {"made ahead": {"BELLJAR_POOL_READY": "2"},
          "made for the run": {"BELLJAR_POOL_READY": "0"}}

# By its name the running program is told from those that wait.
RUN = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b"python-runs", 0, 0, 0)
time.sleep(1000)
"""

# Looks for what an earlier run may have left, then leaves it. Whoever is started stays to the end.
HUNT = """
import builtins, fcntl, gc, os, random, resource, secrets, signal, socket, sys, threading, uuid
import locale, logging, time, warnings

found = []
def look(name, there):
    if there:
        found.append(name)

for place in ("/tmp", "/workspace", "/dev/shm"):
    look(place, os.listdir(place))
look("environment", "MARK" in os.environ)
look("builtins", hasattr(builtins, "mark"))
look("module", hasattr(random, "mark") or "mark" in sys.modules or "colorsys" in sys.modules)
look("path", "/mark" in sys.path)
look("recursion limit", sys.getrecursionlimit() != 1000)
look("collector", gc.get_threshold()[0] != 700 or not gc.isenabled())
look("warnings", any(entry[0] == "error" for entry in warnings.filters))
look("logging", logging.getLogger("mark").handlers)
look("handler", signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL)
look("blocked signals", signal.pthread_sigmask(signal.SIG_BLOCK, []))
look("timer", signal.getitimer(signal.ITIMER_REAL)[0])
look("umask", (mask := os.umask(0o77)) != 0o22)
look("limit", resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 321)
look("priority", os.nice(0) > 0 and os.nice(0) != NICE)
look("threads", threading.active_count() > 1)
look("directory", os.getcwd() != "/workspace")
look("host name", socket.gethostname() != "jar")
look("descriptors", set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3", "4", "5"})
numbers = {name for name in os.listdir("/proc") if name.isdigit()}
look("processes", numbers - {"1", str(os.getpid())})
look("processor time", time.process_time() > 5)
with socket.socket(socket.AF_UNIX) as peer:
    look("abstract socket", peer.connect_ex("\\0mark") == 0)
with socket.socket() as peer:
    look("port", peer.connect_ex(("127.0.0.1", 4242)) == 0)
shared = open("/usr/bin/env", "rb")
try:
    fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    look("lock", True)

for place in ("/tmp", "/workspace", "/dev/shm"):
    open(place + "/mark", "x").close()
os.environ["MARK"] = "1"
builtins.mark = random.mark = 1
import colorsys
sys.modules["mark"] = sys
sys.path.append("/mark")
sys.setrecursionlimit(1234)
gc.set_threshold(123)
warnings.simplefilter("error")
logging.getLogger("mark").addHandler(logging.NullHandler())
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
signal.setitimer(signal.ITIMER_REAL, 1000)
resource.setrlimit(resource.RLIMIT_NOFILE, (321, 321))
abstract, port = socket.socket(socket.AF_UNIX), socket.socket()
abstract.bind("\\0mark")
port.bind(("127.0.0.1", 4242))
for one in (abstract, port):
    one.listen()
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    os.close(5)
    time.sleep(1000)
os.chdir("/tmp")
[found, [os.urandom(16).hex(), secrets.token_hex(16), str(uuid.uuid4()), random.random(),
         random.SystemRandom().random(), random.Random().random()]]
"""


@dataclasses.dataclass
class Jar:
    """What the kernel calls the parts of one jar; while they are held, nothing else."""

    user: int
    process: tuple
    namespaces: dict
    cgroups: set
    devices: dict


def look_at(guest, held):
    root = f"/proc/{guest.pid}"

    def hold(path):
        descriptor = os.open(path, os.O_RDONLY if "/ns/" in path else os.O_PATH)
        held.callback(os.close, descriptor)
        return os.fstat(descriptor)

    with open(f"{root}/cgroup", encoding="utf-8") as file:
        cgroups = {line.strip() for line in file if "/jar-" in line}
    return Jar(user=user_of(guest.pid), process=guest.identity, cgroups=cgroups,
               namespaces={name: hold(f"{root}/ns/{name}").st_ino for name in NAMESPACES},
               devices={place: hold(f"{root}/root/{place}").st_dev for place in PLACES})


@pytest.fixture(params=ROUTES.values(), ids=ROUTES.keys())
def server(request, own_server):
    server = own_server("--auth", "none", env=environment(**request.param))
    wait_until(lambda: server.execute(FORKED)["result"] == 0, "guests are forked", 60)
    return server


def run_and_look(server, held):
    def running():
        return [one for one in guests_of(server.pid) if one.name == "python-runs"]

    with contextlib.closing(server.start_run(RUN)):
        jar = look_at(wait_until(running, "the program runs")[0], held)
    wait_until(lambda: not running(), "it has ended")
    return jar


def test_nothing_that_the_kernel_gave_is_given_again(server):
    with contextlib.ExitStack() as held:
        jars = [run_and_look(server, held) for _ in range(ROUNDS)]
    assert len({jar.user for jar in jars}) == ROUNDS
    assert len({jar.process for jar in jars}) == ROUNDS
    for name in NAMESPACES:
        assert len({jar.namespaces[name] for jar in jars}) == ROUNDS, name
    for place in PLACES:
        assert len({jar.devices[place] for jar in jars}) == ROUNDS, place
    cgroups = [cgroup for jar in jars for cgroup in jar.cgroups]
    assert cgroups and len(set(cgroups)) == len(cgroups)


def test_no_run_finds_what_another_left(server):
    # Where no cgroup shares out the processor, all jars are nice from the start.
    nice = server.execute("import os\nos.nice(0)")["result"]
    answers = [server.execute(HUNT.replace("NICE", str(nice))) for _ in range(ROUNDS)]
    for answer in answers:
        assert answer["status"] == "ok", answer
        assert answer["result"][0] == []
    chances = [value for answer in answers for value in answer["result"][1]]
    assert len(set(chances)) == len(chances)


# Twice in one program: the second time everything is there.
TWICE = """
import contextlib
for _ in range(2):
    names = {{}}
    with contextlib.suppress(FileExistsError):
        exec({hunt!r}, names)
sorted(names["found"])
"""


def test_the_hunt_finds_what_is_there(own_server):
    server = own_server("--auth", "none")
    found = server.execute(TWICE.format(hunt=HUNT.replace("NICE", "0")))["result"]
    assert found == sorted([
        "/dev/shm", "/tmp", "/workspace", "abstract socket", "blocked signals", "builtins",
        "collector", "descriptors", "directory", "environment", "handler", "limit", "lock",
        "logging", "module", "path", "port", "processes", "recursion limit", "timer", "umask",
        "warnings"])
