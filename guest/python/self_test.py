"""Looks at the jar from inside, before any work is accepted; its value is Python's version.

Prints nothing. Raises with a sentence if the jar is not as tight as it should be. The arguments
name layers that this installation lacks, and says so: what only they give is not asked for.
"""

import errno
import os
import socket
import stat
import sys

REPORT_FD = 5
ROOT = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc", "tmp",
        "workspace", "data", "tools", "servers", "skills"}
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
WRITABLE = {"/workspace", "/tmp", "/dev/shm"}
MOUNTS = DEVICES | WRITABLE | {"/", "/dev", "/proc", "/etc/alternatives"} | {
    f"/{name}" for name in ROOT - {"etc", "data"}}
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
# Reserved for documentation; nobody has it, and connecting a datagram socket sends nothing.
OUTSIDE = ("192.0.2.1", 9)


class JarProblem(Exception):
    pass


def demand(condition, sentence):
    if not condition:
        raise JarProblem(f"The jar does not hold: {sentence}.")


def read_status():
    with open("/proc/self/status", encoding="utf-8") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def check_identity(absent):
    status = read_status()
    for name in CAPABILITY_SETS:
        held = int(status[name], 16)
        demand(held == 0 or "no_capabilities" in absent, f"{name} is {held:x} and should be 0")
    demand(status["NoNewPrivs"] == "1", "no_new_privs is not set")
    demand(status.get("Seccomp") == "2" or "seccomp" in absent, "no seccomp filter is in force")
    # Without namespaces and a user of its own, a jar keeps the user that started it.
    root_allowed = {"namespaces", "unique_user"} <= absent
    demand(root_allowed or 0 not in (*os.getresuid(), *os.getresgid(), *os.getgroups()),
           "the program runs as root or with root's group")


def read_mounts():
    """(place, path within its file system, options) of every mount. No expected path has a blank or
    another character that is written differently here."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        rows = [line.split(" ") for line in file]
    return [(row[4], row[3], row[5].split(",")) for row in rows]


def check_mounts(absent):
    if "namespaces" in absent:
        return  # the host's mounts are seen, and other layers keep the program from them
    strangers = sorted(set(os.listdir("/")) - ROOT)
    demand(not strangers, f"unknown names in /: {', '.join(strangers)}")
    for place, source, options in read_mounts():
        demand(place in MOUNTS, f"{place} is mounted and should not be")
        inner = place[len("/dev"):] if place in DEVICES else place
        demand(source == "/" or source.endswith(inner), f"{place} shows {source} of the host")
        demand("nosuid" in options, f"{place} is mounted without nosuid")
        read_only = "ro" in options or place in WRITABLE | DEVICES
        demand(read_only or "read_only_root" in absent, f"{place} is mounted writable")


def may_write(place, absent):
    allowed = set(WRITABLE)
    if "namespaces" in absent:
        # Directories of the host, made for this program.
        allowed |= {os.getcwd(), os.environ.get("HOME", ""), os.environ.get("TMPDIR", "")}
    real = os.path.realpath(place)
    return any(real == one or real.startswith(one + "/")
               for one in map(os.path.realpath, filter(None, allowed)))


def can_make_file(directory):
    path = os.path.join(directory, f"belljar-self-test-{os.getpid()}")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    os.unlink(path)
    return True


def can_open_for_writing(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def check_writing(absent):
    if {"read_only_root", "landlock"} <= absent:
        return
    directories = {"/", "/usr/bin", "/usr/lib", "/usr/local", "/var/tmp", "/proc/self",
                   *(f"/{name}" for name in os.listdir("/"))}
    for directory in sorted(filter(os.path.isdir, directories)):
        demand(may_write(directory, absent) or not can_make_file(directory),
               f"a file could be made in {directory}")
    for path in ("/etc/passwd", os.path.realpath(sys.executable), "/proc/sysrq-trigger",
                 "/proc/sys/kernel/core_pattern"):
        demand(not can_open_for_writing(path), f"{path} could be opened for writing")


def interface_names():
    with open("/proc/self/net/dev", encoding="utf-8") as file:
        return {line.partition(":")[0].strip() for line in file if ":" in line}


def reaches_outside():
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect(OUTSIDE)
    except OSError as error:
        return error.errno not in (errno.ENETUNREACH, errno.EPERM, errno.EACCES,
                                   errno.EAFNOSUPPORT, errno.ENOSYS)
    return True


def check_network(absent):
    if "namespaces" in absent:
        return
    strangers = sorted(interface_names() - {"lo"})
    demand(not strangers, f"network interfaces beside lo: {', '.join(strangers)}")
    demand(not reaches_outside(), "there is a route to the outside")


def open_descriptors():
    """Number -> mode. The descriptor that lists them is closed by the time it is looked at."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.fstat(int(name)).st_mode
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
    return found


def check_descriptors():
    for number, mode in open_descriptors().items():
        demand(number in (0, 1, 2, REPORT_FD), f"descriptor {number} is open")
        demand(not stat.S_ISDIR(mode) and not stat.S_ISSOCK(mode) and not stat.S_ISBLK(mode),
               f"descriptor {number} is a directory, a socket or a disk")


def self_test(absent):
    check_identity(absent)
    check_mounts(absent)
    check_writing(absent)
    check_network(absent)
    check_descriptors()
    return sys.version.split()[0]


self_test(frozenset(sys.argv[1:]))
