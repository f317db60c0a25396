"""The host before and after a soak: nothing may have come to stay."""

import collections
import contextlib
import pathlib
import re
import time

from support_processes import (all_processes, descendants, descriptors, is_zygote,
                               reap_adopted)
from support_traces import Traces

SECONDS_TO_CLEAN_UP = 20
# Of one process over the whole soak; allocators keep some of what they once had.
MOST_GROWTH = 32 << 20

# Of one name from the middle of a soak to its end, when everything has been used for a while.
MOST_LATE_GROWTH = 4 << 20
LONG_LIVED = ("belljar", "belljar-keeper", "belljar-warden", "belljar-nursery")
SHOWN_SAMPLES = 11

# What the kernel still holds when all jars are gone is no more than what waits on its free lists,
# by processor. One object of each run, or of each hundredth, would be more in a long soak.
MOST_OBJECTS = 400

# Output that was too long for its result is kept, until newer output takes its place.
KEPT_OUTPUT = re.compile(r"outputs/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
                         r"(/std(out|err)(\.cut)?)?")
# The audit trail goes on in another file when one is full.
TRAIL = re.compile(r"audit/trail-\d{6}\.jsonl")


def files_below(folder):
    names = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return {name for name in names if not KEPT_OUTPUT.fullmatch(name) and not TRAIL.fullmatch(name)}


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    return 0


def kernel_objects():
    """{"net_namespace": count, ...} of what the kernel keeps for jars."""
    found = {}
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/slabinfo").read_text().splitlines():
            name, *numbers = line.split()
            if name in ("net_namespace", "pid_namespace", "mnt_cache", "user_namespace"):
                found[name] = int(numbers[0])
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cgroups").read_text().splitlines():
            if line.startswith(("memory", "pids", "cpu\t")):
                found[f"{line.split()[0]} cgroups"] = int(line.split()[2])
    return found


class MemorySeries:
    """What the server, the warden, the keeper, the nursery and zygotes hold during a load."""

    def __init__(self, server):
        self.server = server
        self.samples = {}  # name: [bytes of the largest]

    def take(self):
        largest = collections.Counter()
        for process in [all_processes()[self.server.pid], *descendants(self.server.pid)]:
            with contextlib.suppress(OSError):
                name = "zygote" if is_zygote(process) else process.name
                if name in (*LONG_LIVED, "zygote"):
                    largest[name] = max(largest[name], resident_bytes(process.pid))
        for name, size in largest.items():
            self.samples.setdefault(name, []).append(size)

    def judge(self):
        """Prints the series; gives what still grew in its second half, as sentences."""
        found = []
        for name, series in self.samples.items():
            last = len(series) - 1
            shown = [series[last * step // (SHOWN_SAMPLES - 1)] >> 10
                     for step in range(SHOWN_SAMPLES)]
            print(f"memory of {name} meanwhile, KiB: {', '.join(map(str, shown))}")
            middle, end = series[last * 4 // 10:last * 6 // 10 + 1], series[last * 8 // 10:]
            grown = sorted(end)[len(end) // 2] - sorted(middle)[len(middle) // 2]
            if grown > MOST_LATE_GROWTH:
                found.append(f"{name} has grown by {grown >> 20} MiB since the middle")
        return found


class Machine:
    """All of it at one moment, with the processes of one server."""

    def __init__(self, server):
        reap_adopted({server.pid})
        self.server = server
        self.traces = Traces()
        processes = all_processes()
        self.names = {pid: processes[pid].name for pid in server.descriptor_counts()}
        self.descriptors = {pid: kinds_of(pid) for pid in self.names}
        self.resident = memory_of(server.pid)
        self.files = files_below(server.data_directory)

    def since(self, before):
        """What is here now and was not before, or is not any more, as sentences."""
        found = self.traces.since(before.traces)
        found += [f"file {path}" for path in sorted(self.files - before.files)]
        for pid, name in before.names.items():
            now, then = self.descriptors.get(pid), before.descriptors[pid]
            if now is None:
                found.append(f"{name}[{pid}] is gone")
            else:
                found += [f"{name}[{pid}] has opened {target}" for target in now - then]
                found += [f"{name}[{pid}] has closed {target}" for target in then - now]
        return found

    def growth(self, before):
        """Prints the memory of each process that has lived through it: server, warden, keeper,
        warm interpreters. Gives what has grown too much, as sentences."""
        found = []
        for identity, (name, then) in before.resident.items():
            if identity not in self.resident:
                continue  # a jar; that the others are still there is known by their descriptors
            now = self.resident[identity][1]
            print(f"memory of {name}: {then >> 10} KiB before, {now >> 10} KiB after")
            if now - then > MOST_GROWTH:
                found.append(f"{name}[{identity[0]}] has grown by {(now - then) >> 20} MiB")
        return found


def memory_of(ancestor):
    """{(pid, start): (name, resident bytes)} of a process and all below it."""
    found = {}
    for process in [all_processes()[ancestor], *descendants(ancestor)]:
        with contextlib.suppress(OSError):
            found[process.identity] = process.name, resident_bytes(process.pid)
    return found


def kinds_of(pid):
    """What the descriptors are, without the numbers of sockets, pipes and files of the trail."""
    targets = (TRAIL.sub("audit/trail", target) for target in descriptors(pid).values())
    return collections.Counter(target.split(":")[0] for target in targets)


def at_rest(server):
    """The machine once the server has nothing more to do."""
    deadline = time.monotonic() + SECONDS_TO_CLEAN_UP
    before = Machine(server)
    while True:
        time.sleep(1)
        now = Machine(server)
        if not now.since(before) and not before.since(now):
            return now
        if time.monotonic() > deadline:
            raise RuntimeError(f"the server does not come to rest: {now.since(before)}")
        before = now


def leftovers(before):
    """What stays although there was time to clean up."""
    deadline = time.monotonic() + SECONDS_TO_CLEAN_UP
    while True:
        now = Machine(before.server)
        found = now.since(before)
        if not found or time.monotonic() > deadline:
            return found + now.growth(before)
        time.sleep(0.1)


def objects_left(before):
    """Prints how many there are once there was time to clean up; gives what has become too many."""
    deadline = time.monotonic() + SECONDS_TO_CLEAN_UP
    while True:
        now = kernel_objects()
        found = [f"{now.get(name, 0) - count} more in {name}" for name, count in before.items()
                 if now.get(name, 0) - count > MOST_OBJECTS]
        if not found or time.monotonic() > deadline:
            break
        time.sleep(1)
    print("kernel objects: " + ", ".join(f"{name} {count} before, {now.get(name)} after"
                                         for name, count in before.items()))
    return found
