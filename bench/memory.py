"""What a jar costs while it waits, and what the service costs without any.

A page that several processes share counts in parts (PSS), so that the sum is what would be free
without them; what is unshared goes away with the jar. Memory of the kernel itself is not in it.
"""

import collections
import contextlib
import os
import pathlib
import time

import wire
from candidates_server import answer_of, execute_request, right_record
from stats import median
from support_processes import descendants

SLEEP = "import os, time; time.sleep(2); print(os.readlink('/proc/self/ns/pid'))"
SETTLE_SECONDS = 1.0


def usage(pid):
    """KiB of a process: {"pss", "unshared"}."""
    fields = collections.Counter()
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, amount = line.split()[:2]
        fields[name] += int(amount)
    return {"pss": fields["Pss:"], "unshared": fields["Private_Clean:"] + fields["Private_Dirty:"]}


class Place:
    """The processes that share a process namespace: the service's own, or those of one jar."""

    def __init__(self):
        self.names, self.pss, self.unshared = [], 0, 0

    def add(self, process):
        used = usage(process.pid)
        self.names.append(process.name)
        self.pss += used["pss"]
        self.unshared += used["unshared"]


def places_of(server):
    """{process namespace: Place} of all that the service has started; what ends is passed over."""
    found = collections.defaultdict(Place)
    for process in descendants(server.pid):
        with contextlib.suppress(OSError):
            found[os.readlink(f"/proc/{process.pid}/ns/pid")].add(process)
    return found


def kinds(places):
    """Places that consist of the same programs, with the median of each kind."""
    found = collections.defaultdict(list)
    for place in places:
        found[" + ".join(sorted(place.names))].append(place)
    return [{"processes": names, "count": len(same),
             "pss_kib": median([one.pss for one in same]),
             "unshared_kib": median([one.unshared for one in same])}
            for names, same in sorted(found.items())]


def service(server):
    """The long-lived processes outside of any jar, one by one."""
    own = os.readlink("/proc/self/ns/pid")
    processes = {server.pid: "belljar serve"}
    processes.update((one.pid, one.name) for one in descendants(server.pid))
    found = []
    for pid, name in processes.items():
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/pid") == own:
                used = usage(pid)
                found.append({"process": name, "pss_kib": used["pss"],
                              "unshared_kib": used["unshared"]})
    return found


def measure(server):
    """{"service": [...], "ready": [...], "asleep": [...]}; each kind of place is one entry."""
    time.sleep(SETTLE_SECONDS)
    own = os.readlink("/proc/self/ns/pid")
    ready = [place for namespace, place in places_of(server).items() if namespace != own]
    return {"service": service(server), "ready": kinds(ready), "asleep": kinds(asleep(server))}


def asleep(server):
    """The jar of a program that sleeps, which says at its end in which namespace it was."""
    line = wire.Line(server.address)
    line.send(execute_request(server.address, SLEEP))
    time.sleep(SETTLE_SECONDS)
    places = places_of(server)
    while (answer := line.receive_some()) is None:
        pass
    line.close()
    namespace = right_record(answer_of(*answer))["stdout"].strip()
    return [places[namespace]] if namespace in places else []
