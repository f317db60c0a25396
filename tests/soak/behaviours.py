"""The programs of a soak, and what must become of each."""

import dataclasses
import random
import secrets


@dataclasses.dataclass(frozen=True)
class Job:
    """One request, and what its record must say; a value of None matches anything."""

    kind: str
    code: str
    status: str
    arguments: dict = dataclasses.field(default_factory=dict)
    exit_code: int | None = None
    signal: int | None = None
    stdout: str | None = None
    result: object = None

    @property
    def body(self):
        return {"code": self.code, **self.arguments}

    def wrong(self, record):
        """What the record says otherwise, as words; empty if it is right."""
        expected = {"status": self.status, "success": self.status == "ok"}
        for name in ("exit_code", "signal", "stdout", "result"):
            if getattr(self, name) is not None:
                expected[name] = getattr(self, name)
        found = [f"{name} is {record.get(name)!r:.200} and not {value!r:.200}"
                 for name, value in expected.items() if record.get(name) != value]
        if found and record.get("stderr"):
            found.append(f"stderr ends with {record['stderr'][-200:]!r}")
        return ", ".join(found)


# Whatever an earlier run left would be found: files, a changed umask, processes, shared memory.
NORMAL = """
import os
found = [os.listdir(folder) for folder in ("/tmp", "/workspace", "/dev/shm")]
processes = [name for name in os.listdir("/proc") if name.isdigit()]
for folder in ("/tmp", "/workspace", "/dev/shm"):
    open(folder + "/{token}", "w").close()
print("{token}", found, len(processes))
sum(range({number}))
"""
CHILDREN = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
print("left", flush=True)
"""
FORK_BOMB = "import os\nwhile True: os.fork()"
STUBBORN_FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
MEMORY_BOMB = "data = []\nwhile True: data.append(bytearray(b'x') * (4 << 20))"
FLOOD = "while True: print('x' * 100_000)"
FILL_DISK = """
import errno, os
file, written = os.open("/tmp/big", os.O_WRONLY | os.O_CREAT), 0
try:
    while written < 1 << 30:
        written += os.write(file, bytes(1 << 20))
except OSError as error:
    print(errno.errorcode[error.errno])
"""
MANY_FILES = """
import errno
try:
    for number in range(1_000_000):
        open(f"/tmp/{number}", "w").close()
except OSError as error:
    print(errno.errorcode[error.errno])
"""
SPIN = """
import os
for _ in range(3):
    os.fork()
while True: pass
"""


def normal():
    token, number = secrets.token_hex(8), random.randrange(1000)
    return Job("normal", NORMAL.format(token=token, number=number), "ok", exit_code=0,
               stdout=f"{token} [[], [], []] 1\n", result=sum(range(number)))


def crash():
    return random.choice([
        Job("crash", "1/0", "error", exit_code=1),
        Job("crash", "import sys; sys.exit(7)", "error", exit_code=7),
        Job("crash", "def broken(:", "error", exit_code=1),
        Job("crash", "import os; os.kill(os.getpid(), 11)", "killed", signal=11),
        Job("crash", "import os; os.abort()", "killed", signal=6)])


def timeout():
    code = random.choice(["import time; time.sleep(1000)", "while True: pass",
                          "import os; os.kill(os.getpid(), 19)"])
    return Job("timeout", code, "timeout", {"timeout": 1})


def children():
    return Job("children", CHILDREN, "ok", exit_code=0, stdout="left\n")


def fork_bomb():
    # With room for every interpreter, or the memory limit would come first.
    if random.random() < 0.5:
        return Job("fork bomb", FORK_BOMB, "processes", {"memory_limit": "2g", "timeout": 30})
    return Job("fork bomb", STUBBORN_FORK_BOMB, "timeout", {"memory_limit": "2g", "timeout": 1})


def memory_bomb():
    return Job("memory bomb", MEMORY_BOMB, "memory", {"memory_limit": "64m"})


def flood():
    return Job("flood", FLOOD, "output")


def disk():
    return Job("disk", FILL_DISK, "ok", exit_code=0, stdout="ENOSPC\n")


def many_files():
    return Job("many files", MANY_FILES, "ok", exit_code=0, stdout="ENOSPC\n")


# Of a hundred runs. The dear ones are rare, so that ten thousand take minutes.
MIX = {normal: 72, crash: 12, timeout: 3, children: 4, fork_bomb: 1, memory_bomb: 3, flood: 1,
       disk: 2, many_files: 2}

# What may run beside a quiet program for as long as it likes.
BOMBS = {
    "spinning": Job("spinning", SPIN, "timeout", {"timeout": 20}),
    "fork bomb": Job("fork bomb", STUBBORN_FORK_BOMB, "timeout",
                     {"memory_limit": "2g", "timeout": 20}),
    "memory bomb": Job("memory bomb", MEMORY_BOMB, "memory", {"memory_limit": "1g"}),
    "flood": flood(),
    "disk": disk(),
    "many files": many_files()}


def mixed(count):
    """That many jobs in an order that the seed of `random` decides; each kind at least once."""
    kinds = list(MIX)
    chosen = kinds[:count] + random.choices(kinds, MIX.values(), k=max(0, count - len(kinds)))
    random.shuffle(chosen)
    return [make() for make in chosen]
