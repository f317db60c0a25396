"""Collects from outside what holds the processes of a jar, in words that are the same on any host.

Ids become JAR, numbers of pipes and sockets vanish, and what merely comes from the host is left out
or compared with the tests themselves, which come from the same host.
"""

import array
import contextlib
import fcntl
import json
import os
import pathlib
import re
import resource

from support_processes import descendants, status_of

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
NS_GET_USERNS, NS_GET_PARENT, NS_GET_OWNER_UID = 0xB701, 0xB702, 0xB704
# What kernels add to mount options by their own choice.
OPTIONS_OF_THE_KERNEL = {"relatime", "inode64", "inode32", "seclabel"}
# And what they take from their build or their own settings.
CHOSEN_BY_THE_KERNEL = re.compile(r"(redirect_dir|index|nfs_export|metacopy|xino|uuid)=")
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
RLIMITS = {
    "Max core file size": resource.RLIMIT_CORE, "Max open files": resource.RLIMIT_NOFILE,
    "Max processes": resource.RLIMIT_NPROC, "Max file size": resource.RLIMIT_FSIZE,
    "Max locked memory": resource.RLIMIT_MEMLOCK, "Max msgqueue size": resource.RLIMIT_MSGQUEUE,
    "Max pending signals": resource.RLIMIT_SIGPENDING, "Max nice priority": resource.RLIMIT_NICE}
INHERITED_RLIMITS = {
    "Max stack size": resource.RLIMIT_STACK, "Max address space": resource.RLIMIT_AS,
    "Max cpu time": resource.RLIMIT_CPU, "Max data size": resource.RLIMIT_DATA,
    "Max resident set": resource.RLIMIT_RSS, "Max realtime priority": resource.RLIMIT_RTPRIO,
    "Max realtime timeout": resource.RLIMIT_RTTIME}


class Member:
    """A process in a jar."""

    def __init__(self, pid):
        self.pid = pid
        status = status_of(pid)
        self.inner_pid = int(status["NSpid"].split()[-1])
        self.inner_parent = int(status["PPid"])
        self.user = int(status["Uid"].split()[0])
        self.threads = sorted(int(thread) for thread in os.listdir(f"/proc/{pid}/task"))

    def path(self, name):
        return pathlib.Path(f"/proc/{self.pid}/{name}")


def members_of(ancestor):
    """Every process below `ancestor` in a pid namespace that is not ours; init first."""
    ours = os.readlink("/proc/self/ns/pid")
    found = []
    for process in descendants(ancestor):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{process.pid}/ns/pid") != ours:
                found.append(Member(process.pid))
    return sorted(found, key=lambda member: (member.user, member.inner_pid))


def identity_of(status, user):
    """The ids and rights of one thread."""
    def named(text):
        return ["JAR" if part == str(user) else part for part in text.split()]

    found = {"users": named(status["Uid"]), "groups": named(status["Gid"]),
             "supplementary_groups": named(status["Groups"]), "umask": status["Umask"]}
    for name in CAPABILITY_SETS:
        found[name] = status[name]
    found["no_new_privileges"] = int(status["NoNewPrivs"])
    found["seccomp"] = int(status["Seccomp"])
    found["seccomp_filters"] = int(status["Seccomp_filters"])
    return found


def namespaces_of(pid, thread):
    """Its own namespaces as {name: link}; those that the host shares are not among them."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/task/{thread}/ns"):
        link = os.readlink(f"/proc/{pid}/task/{thread}/ns/{name}")
        if link != os.readlink(f"/proc/self/ns/{name}"):
            found[name] = link
    return found


def inode_of(descriptor):
    return os.fstat(descriptor).st_ino


def owners_of(pid):
    """Whose the namespaces are: "host", "jar" or, between them, "nursery", by the user namespace
    that owns each."""
    names = {os.stat("/proc/self/ns/user").st_ino: "host",
             os.stat(f"/proc/{pid}/ns/user").st_ino: "jar"}
    found = {}
    for name in NAMESPACES:
        descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        request = NS_GET_PARENT if name == "user" else NS_GET_USERNS
        owner = fcntl.ioctl(descriptor, request)
        found[name] = names.get(inode_of(owner), "nursery")
        os.close(owner)
        os.close(descriptor)
    return found


def creator_of_user_namespace(pid):
    """The host's user that made it and therefore has every capability in it."""
    descriptor = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    found = array.array("I", [0xFFFFFFFF])
    fcntl.ioctl(descriptor, NS_GET_OWNER_UID, found)
    os.close(descriptor)
    return found[0]


def options_of(text, user):
    options = [option for option in text.split(",") if option not in OPTIONS_OF_THE_KERNEL
               and not CHOSEN_BY_THE_KERNEL.match(option)]
    return ",".join(sorted(option.replace(str(user), "JAR") for option in options))


def mounts_of(pid, user):
    """{place: "kind source root options | options of the file system"}."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, place, options, *propagation = before.split()
        kind, source, inner = after.split(" ", 2)
        if place in DEVICES:  # the host's, on whatever file system it keeps them
            kind, source, inner = "device", "none", ""
        inner = f" | {options_of(inner, user)}" if inner else ""
        spread = " propagates" if propagation else ""
        text = f"{kind} {source} {root} {options_of(options, user)}{inner}{spread}"
        found[place] = f"{found[place]} under {text}" if place in found else text
    return dict(sorted(found.items()))


def descriptors_of(pid):
    """{"number": what kind of thing}; only files keep their name."""
    found = {}
    for number in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        target = os.readlink(f"/proc/{pid}/fd/{number}")
        found[number] = re.sub(r":\[\d+\]$", "", target)
    return found


def pipes_of(pid):
    """The pipes and sockets by their numbers, to find one that two jars share."""
    targets = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    return {target for target in targets if target.startswith(("pipe:", "socket:"))}


def environment_of(pid):
    pairs = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(sorted(pair.split("=", 1) for pair in pairs if pair))


def limits_of(pid):
    """{name: [soft, hard]}: those that jars set, and others only if they are not the host's."""
    found = {name: list(resource.prlimit(pid, number)) for name, number in RLIMITS.items()}
    for name, number in INHERITED_RLIMITS.items():
        limit = resource.prlimit(pid, number)
        if limit != resource.getrlimit(number):
            found[name] = list(limit)
    return found


def schedule_of(pid):
    priority = os.getpriority(os.PRIO_PROCESS, pid)
    return {"policy": os.sched_getscheduler(pid), "nice": priority,
            "oom_score_adj": int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()),
            "personality": pathlib.Path(f"/proc/{pid}/personality").read_text().strip()}


def label_of(pid):
    """What a security module calls the process; None without such a module."""
    try:
        return pathlib.Path(f"/proc/{pid}/attr/current").read_text().rstrip("\0\n") or None
    except OSError:
        return None


def cgroups_of(pid):
    """{controller: path}; the controllers of version 2 are called unified."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller or "unified"] = path
    return found


def place_of(pid):
    program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    return {"root": os.readlink(f"/proc/{pid}/root"), "directory": os.readlink(f"/proc/{pid}/cwd"),
            "program": re.sub(r"[0-9.]+$", "", program)}


def posture_of(member):
    """Everything about one process, in the order of the golden file."""
    pid, user = member.pid, member.user
    return {"identity": identity_of(status_of(pid), user), "place": place_of(pid),
            "schedule": schedule_of(pid), "limits": limits_of(pid),
            "namespace_owners": owners_of(pid), "descriptors": descriptors_of(pid),
            "environment": environment_of(pid), "mounts": mounts_of(pid, user)}


def to_toml(postures):
    """The postures as TOML, as `tests/e2e/posture.toml` has them."""
    lines = []
    for name, posture in postures.items():
        for part, content in posture.items():
            lines += ["", f"[{name}.{part}]"]
            for key, value in content.items():
                key = key if re.fullmatch(r"\w+", key) else json.dumps(key)
                lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines[1:]) + "\n"
