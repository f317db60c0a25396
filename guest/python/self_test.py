"""Looks at the jar from inside, before any work is accepted; its value is Python's version.

Prints nothing. Raises with a sentence if the jar is not as tight as it should be. The arguments
name layers that this installation lacks, and says so: what only they give is not asked for. Without
"namespaces" the jar has no tree and no /proc of its own, so the kernel is asked in other ways.
"""

import errno
import os
import socket
import stat
import sys

REPORT_FD = 5
DESCRIPTOR_NUMBERS = 4096  # as many as the jar lets a process have
SYSTEM = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc"}
ROOT = SYSTEM | {"dev", "proc", "tmp", "workspace", "data", "tools", "logs"}
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
WRITABLE = {"/workspace", "/tmp", "/dev/shm"}
MOUNTS = DEVICES | WRITABLE | {"/", "/dev", "/proc", "/tools", "/logs"} | {
    f"/{name}" for name in SYSTEM}
# Where a program that is not kept from it might leave something.
OUTSIDE_WORKSPACE = {"/", "/dev/shm", "/etc", "/home", "/opt", "/proc/self", "/root", "/run",
                     "/srv", "/tmp", "/usr/bin", "/usr/lib", "/usr/local", "/var", "/var/tmp"}
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")
CAPABILITY_VERSION = 0x20080522
PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET = 21, 39, 47, 1
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


def ask_status():
    """What check_identity() needs of it, without /proc."""
    import ctypes

    kernel = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: low halves, then high ones
    demand(kernel.capget(header, sets) == 0, "its capabilities cannot be told")

    def control(*arguments):
        padded = [*arguments, 0, 0, 0, 0][:5]
        return kernel.prctl(*map(ctypes.c_ulong, padded))

    ambient = sum((control(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number) == 1) << number
                  for number in range(64))
    held = [sets[index] | sets[index + 3] << 32 for index in range(3)]
    return {"CapEff": f"{held[0]:x}", "CapPrm": f"{held[1]:x}", "CapInh": f"{held[2]:x}",
            "CapAmb": f"{ambient:x}", "Seccomp": str(control(PR_GET_SECCOMP)),
            "NoNewPrivs": str(control(PR_GET_NO_NEW_PRIVS))}


def check_identity(absent):
    shared = "namespaces" in absent
    status = ask_status() if shared else read_status()
    # Who has no privilege cannot empty the bounding set; no_new_privs makes it worth nothing.
    for name in CAPABILITY_SETS if shared else (*CAPABILITY_SETS, "CapBnd"):
        held = int(status[name], 16)
        demand(held == 0 or "no_capabilities" in absent, f"{name} is {held:x} and should be 0")
    demand(status["NoNewPrivs"] == "1", "no_new_privs is not set")
    demand(status.get("Seccomp") == "2" or "seccomp" in absent, "no seccomp filter is in force")
    # Without namespaces and a user of its own, a jar keeps the user that started it.
    root_allowed = {"namespaces", "unique_user"} <= absent
    demand(root_allowed or 0 not in (*os.getresuid(), *os.getresgid(), *os.getgroups()),
           "the program runs as root or with root's group")


def socket_refusal(family, kind):
    """The error number with which a socket is refused; 0 if it is given."""
    try:
        socket.socket(family, kind).close()
    except OSError as error:
        return error.errno
    return 0


def check_filter(absent):
    if "seccomp" in absent:
        return
    # The kernel itself gives this kind of socket to anybody, and so do filters of containers.
    refusal = socket_refusal(socket.AF_UNIX, socket.SOCK_RAW)
    demand(refusal == errno.EPERM, "a call that the seccomp filter refuses was not refused")


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
        own = source == "/" or place in DEVICES and source.endswith(place[len("/dev"):])
        demand(own, f"{place} shows {source} of the host")
        demand("nosuid" in options, f"{place} is mounted without nosuid")
        read_only = "ro" in options or place in WRITABLE | DEVICES
        demand(read_only or "read_only_root" in absent, f"{place} is mounted writable")


def check_processes(absent):
    if "namespaces" in absent:
        return
    own = {"1", str(os.getpid())}  # the jar's init, which need not be hidden, and this one
    others = sorted({name for name in os.listdir("/proc") if name.isdigit()} - own, key=int)
    demand(not others, f"{len(others)} processes of others are seen")


def may_write(place, absent):
    allowed = WRITABLE
    if "namespaces" in absent:
        # Directories of the host, made for this program.
        allowed = {os.getcwd(), os.environ.get("HOME"), os.environ.get("TMPDIR")}
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
    directories = set(OUTSIDE_WORKSPACE)
    if "namespaces" not in absent:
        directories |= {f"/{name}" for name in os.listdir("/")}
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


def check_sockets():
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            demand(socket_refusal(family, kind) != 0, "the network of the host can be used")


def check_network(absent):
    if "namespaces" in absent:
        if "seccomp" not in absent:
            check_sockets()
        return
    strangers = sorted(interface_names() - {"lo"})
    demand(not strangers, f"network interfaces beside lo: {', '.join(strangers)}")
    demand(not reaches_outside(), "there is a route to the outside")


def descriptor_numbers(absent):
    if "namespaces" in absent:
        return range(DESCRIPTOR_NUMBERS)
    return map(int, os.listdir("/proc/self/fd"))


def open_descriptors(absent):
    """Number -> mode. The descriptor that lists them is closed by the time it is looked at."""
    found = {}
    for number in descriptor_numbers(absent):
        try:
            found[number] = os.fstat(number).st_mode
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
    return found


def check_descriptors(absent):
    for number, mode in open_descriptors(absent).items():
        demand(number in (0, 1, 2, REPORT_FD), f"descriptor {number} is open")
        demand(not stat.S_ISDIR(mode) and not stat.S_ISSOCK(mode) and not stat.S_ISBLK(mode),
               f"descriptor {number} is a directory, a socket or a disk")


def self_test(absent):
    check_identity(absent)
    check_filter(absent)
    check_mounts(absent)
    check_processes(absent)
    check_writing(absent)
    check_network(absent)
    check_descriptors(absent)
    return sys.version.split()[0]


self_test(frozenset(sys.argv[1:]))
