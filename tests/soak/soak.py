#!/usr/bin/env python3
"""Runs thousands of jars of every behaviour on one server, then looks for anything they left.

    ./dev soak            ten thousand runs
    ./dev soak 300        fewer

Every verdict is checked. At the end processes, mounts, cgroups, network namespaces, loop devices,
descriptors and files must be exactly as before, the kernel may hold no more objects, and from the
middle on nobody's memory may have grown. Then a small quiet program is timed beside each
kind of bomb: it may not become more than three times slower.
"""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile

# The server and the search for leftovers are those of the end-to-end tests.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from behaviours import mixed, normal
from load import Load
from machine import MemorySeries, at_rest, kernel_objects, leftovers, objects_left
from neighbour import check_neighbour
from support_binary import environment
from support_processes import adopt_orphans
from support_server import Server

WARM_UP = 20


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("count", nargs="?", type=int, default=10_000, help="runs (default 10000)")
    parser.add_argument("--clients", type=int, default=8, help="at a time (default 8)")
    parser.add_argument("--samples", type=int, default=100,
                        help="quiet runs beside each bomb (default 100)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32),
                        help="decides the order of the runs")
    arguments = parser.parse_args()
    if min(arguments.count, arguments.clients, arguments.samples) < 1:
        parser.error("count, clients and samples must be at least 1")
    return arguments


def soak(server, arguments):
    """Whether everything was right."""
    Load(server, [normal() for _ in range(WARM_UP)], arguments.clients).run()
    before, objects = at_rest(server), kernel_objects()
    memory = MemorySeries(server)
    load = Load(server, mixed(arguments.count), arguments.clients)
    load.run(memory.take)
    good = load.report()
    found = [*memory.judge(), *leftovers(before), *objects_left(objects)]
    for text in found:
        print(f"  LEFT {text}")
    quiet = check_neighbour(server, arguments.samples)
    return good and not found and quiet


def main():
    arguments = parse_arguments()
    random.seed(arguments.seed)
    print(f"seed {arguments.seed}", flush=True)
    adopt_orphans()
    place = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
    place.chmod(0o755)
    server = Server(place / "server", "--auth", "none", env=environment(LOG_LEVEL="error"))
    try:
        good = soak(server, arguments)
    finally:
        ended = server.stop()
        errors = server.errors.splitlines()
        shutil.rmtree(place)
    for line in errors[:10]:
        print(f"  LOG {line}")
    if ended != 0:
        print(f"  the server ended with {ended}")
    passed = good and ended == 0 and not errors
    print("soak: passed" if passed else "soak: FAILED")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
