"""What Belljar could leave behind on the host."""

import os
import pathlib
import re

from support_binary import TEMPORARY, wait_until
from support_processes import (NURSERY_USER, all_processes, descendants, descriptors,
                               is_zygote, network_namespaces)

TEMPORARY_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")
LOOP_MAJOR = "7"
# What the warden makes there as root: images of workspaces, and workspaces without namespaces.
MADE_BY_WARDENS = re.compile(r"belljar-(scratch-)?[A-Za-z0-9]{6}")


def mounts():
    """The host's mount table, without the ids that change when something is mounted again."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return {" ".join(line.split()[3:5]) for line in lines}


def own_cgroups():
    """The directory of our own cgroup in every mounted hierarchy."""
    membership = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            membership[controller.removeprefix("name=")] = path
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, place = before.split()[3:5]
        if kind == "cgroup2":
            names = [""]
        elif kind == "cgroup":
            names = [option.removeprefix("name=") for option in options.split(",")]
        else:
            continue
        for name in names:
            if name in membership:
                inner = membership[name].removeprefix(root.rstrip("/"))
                found.append(pathlib.Path(place + inner.rstrip("/")))
                break
    return found


def cgroups():
    """Every belljar-* directory and what is in it."""
    found = set()
    for own in own_cgroups():
        for tree in own.glob("belljar-*"):
            # A directory may go while it is looked at; os.walk passes over it.
            found.update(folder for folder, _, _ in os.walk(tree))
    return found


def loop_devices():
    """Those that hold the image of a workspace."""
    found = set()
    for entry in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            file = entry.read_text()
        except OSError:
            continue  # detached while it was looked at
        if MADE_BY_WARDENS.search(file):
            found.add(f"/dev/{entry.parts[3]}")
    return found


def inhabited_by_strangers(cgroup, ours):
    """Whether a process that is none of these tests lives in it, as in a container of others."""
    try:
        members = (pathlib.Path(cgroup) / "cgroup.procs").read_text().split()
    except OSError:
        return False  # removed in the meantime
    return any(int(member) not in ours for member in members)


def mounted_loop_devices(pid):
    """Those that are mounted where this process lives."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    except OSError:
        return set()  # it has ended
    numbers = [line.split()[2].split(":") for line in lines]
    return {f"/dev/loop{minor}" for major, minor in numbers if major == LOOP_MAJOR}


def held_by_strangers():
    """What wardens and jars that are none of these tests hold: cgroups, images and files."""
    ours = {process.pid for process in descendants()}
    held = set()
    for process in all_processes().values():
        if process.pid not in ours:
            held.update(target for target in descriptors(process.pid).values()
                        if "/belljar-" in target or target.startswith("/dev/loop"))
            held |= mounted_loop_devices(process.pid)
    return held


def temporary_files():
    """Files of wardens, of the server's user or of a jar's, in the places for passing files."""
    found = {str(path) for path in TEMPORARY.rglob("*")}
    for place in TEMPORARY_PLACES:
        for entry in os.scandir(place):
            try:
                owner = entry.stat(follow_symlinks=False).st_uid
            except OSError:
                continue
            # A directory of the server's user may be the data directory of another server.
            lowest = NURSERY_USER if entry.is_dir(follow_symlinks=False) else NURSERY_USER - 1
            if owner >= lowest or MADE_BY_WARDENS.fullmatch(entry.name):
                found.add(entry.path)
    return found


class Traces:
    """All of it at one moment."""

    def __init__(self):
        self.processes = [one for one in descendants() if not is_zygote(one)]
        self.mounts = mounts()
        self.cgroups = cgroups()
        self.networks = network_namespaces(self.processes) - {os.readlink("/proc/self/ns/net")}
        self.files = temporary_files()
        self.loop_devices = loop_devices()

    def since(self, before):
        """What is here now and was not before, as sentences."""
        known = {process.identity for process in before.processes}
        found = [f"process {one}" for one in self.processes if one.identity not in known]
        found += [f"mount {line}" for line in sorted(self.mounts - before.mounts)]
        found += [f"network namespace {one}" for one in sorted(self.networks - before.networks)]
        paths = {"cgroup": self.cgroups - before.cgroups, "file": self.files - before.files,
                 "loop device": self.loop_devices - before.loop_devices}
        if not any(paths.values()):
            return found
        held = held_by_strangers()
        ours = {process.pid for process in self.processes}
        paths["cgroup"] = {path for path in paths["cgroup"]
                           if not inhabited_by_strangers(path, ours)}
        for kind, new in paths.items():
            found += [f"{kind} {path}" for path in sorted(new)
                      if not any(path == one or path.startswith(one + "/") for one in held)]
        return found


def wait_until_gone(before, seconds):
    """Until there is nothing more than before; what is left is named."""
    found = []

    def is_gone():
        found[:] = Traces().since(before)
        return not found

    try:
        wait_until(is_gone, "everything is gone", seconds)
    except AssertionError as late:
        raise AssertionError("\n  ".join([str(late), *found])) from None
