"""A container as Docker makes it, around a command: Debian's runc and Debian's seccomp profile.

Nothing in it is special: the host's /usr read-only, Docker's fourteen capabilities for root and
none for other users, Docker's masked paths, a network of its own with only a loopback address.
"""

import json
import os
import pathlib
import secrets
import subprocess

from support_binary import BINARY, COMMAND_SECONDS, sanitizer_options

PROFILE = pathlib.Path("/usr/share/containers/seccomp.json")
PROGRAMS = "/opt/belljar"
USERS = {"root": 0, "user": 1000}
HOMES = {"root": "/root", "user": "/home/user"}

CAPABILITIES = sorted("CAP_" + name for name in (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"))
MASKED = ["/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
          "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
          "/proc/timer_stats", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n",
    "group": "root:x:0:\nuser:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n",
    "hostname": "container\n",
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n"}

# What Debian's profile, made for podman, leaves to the kernel and Docker's own forbids: each call
# that makes or enters a namespace or changes a mount, and a few that Docker never allowed.
DOCKER_FORBIDS = {
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "mount_setattr", "move_mount",
    "open_tree", "fsconfig", "fsmount", "fsopen", "fspick", "keyctl", "add_key", "request_key",
    "get_mempolicy", "mbind", "set_mempolicy", "process_vm_readv", "process_vm_writev",
    "pidfd_getfd", "name_to_handle_at", "reboot", "syslog"}
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW... flag that clone() takes
ENOSYS, EPERM = 38, 1

# So that a bomb which gets loose inside harms nobody outside.
MOST_PROCESSES = 1024
MOST_MEMORY = 4 << 30


def machine():
    """This machine as the profile's maps and its rules call it."""
    names = {"x86_64": ("SCMP_ARCH_X86_64", "amd64"), "aarch64": ("SCMP_ARCH_AARCH64", "arm64")}
    return names[os.uname().machine]


def rule_applies(rule, capabilities):
    wanted, unwanted = rule.get("includes") or {}, rule.get("excludes") or {}
    architecture = machine()[1]
    if not set(wanted.get("caps", [])) <= capabilities:
        return False
    if capabilities & set(unwanted.get("caps", [])):
        return False
    if architecture in unwanted.get("arches", []):
        return False
    return architecture in wanted.get("arches", [architecture])


def translated(rule, without):
    """One rule in the words of the runtime specification; None if nothing of it is left."""
    names = [name for name in rule["names"] if name not in without]
    if not names:
        return None
    found = {"names": names, "action": rule["action"]}
    if rule.get("args"):
        found["args"] = rule["args"]
    if "errnoRet" in rule:
        found["errnoRet"] = rule["errnoRet"]
    return found


def podman_filter(capabilities):
    """Debian's profile as it is: namespaces may be asked for, and the kernel decides."""
    profile = json.loads(PROFILE.read_text())
    rules = [translated(rule, set()) for rule in profile["syscalls"]
             if rule_applies(rule, capabilities)]
    return {"defaultAction": profile["defaultAction"],
            "defaultErrnoRet": profile.get("defaultErrnoRet", EPERM),
            "architectures": architectures(profile), "syscalls": rules}


def docker_filter(capabilities):
    """The same with Docker's additions: no call that makes a namespace or changes a mount."""
    profile = json.loads(PROFILE.read_text())
    without = DOCKER_FORBIDS | {"clone", "clone3"}
    rules = [translated(rule, without) for rule in profile["syscalls"]
             if rule["action"] == "SCMP_ACT_ALLOW" and rule_applies(rule, capabilities)]
    rules = [rule for rule in rules if rule]
    rules.append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [
        {"index": 0, "value": NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]})
    rules.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS})
    return {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": EPERM,
            "architectures": architectures(profile), "syscalls": rules}


def architectures(profile):
    """This machine's own and those that its kernel runs too."""
    own = machine()[0]
    for known in profile["archMap"]:
        if known["architecture"] == own:
            return [own, *(known.get("subArchitectures") or [])]
    raise AssertionError(f"{PROFILE} does not know {own}")


FILTERS = {"docker": docker_filter, "podman": podman_filter}


def mount(place, kind, *options, source=None):
    return {"destination": place, "type": kind, "source": source or kind, "options": list(options)}


def bind(source, place):
    return mount(place, "bind", "rbind", "ro", "nosuid", "nodev", source=str(source))


def mounts():
    locked = ("nosuid", "noexec", "nodev")
    found = [
        mount("/proc", "proc", *locked),
        mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=620"),
        mount("/sys", "sysfs", *locked, "ro"),
        mount("/sys/fs/cgroup", "cgroup", *locked, "relatime", "ro"),
        mount("/dev/mqueue", "mqueue", *locked),
        mount("/dev/shm", "tmpfs", *locked, "mode=1777", "size=65536k"),
        mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777", "size=256m"),
        mount("/var/tmp", "tmpfs", "nosuid", "nodev", "mode=1777", "size=64m"),
        bind("/usr", "/usr")]
    if os.path.isdir("/etc/alternatives"):
        found.append(bind("/etc/alternatives", "/etc/alternatives"))
    for name in LINKS:
        if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}"):
            found.append(bind(f"/{name}", f"/{name}"))
    found += [bind(program, f"{PROGRAMS}/{program.name}") for program in programs()]
    return found


def programs():
    """What was built: belljar and the programs it starts, which it looks for beside itself."""
    found = [path for path in BINARY.parent.glob("belljar*")
             if path.is_file() and os.access(path, os.X_OK)]
    assert BINARY in found, f"{BINARY} is not there"
    return found


def make_root(root):
    for folder in ("usr", "etc/alternatives", "proc", "sys", "dev", "tmp", "var/tmp", "run", "root",
                   "home/user", PROGRAMS[1:]):
        (root / folder).mkdir(parents=True)
    os.chmod(root / "root", 0o700)
    for folder in ("tmp", "var/tmp"):
        os.chmod(root / folder, 0o1777)  # runc gives what it mounts there the same mode
    os.chown(root / "home/user", USERS["user"], USERS["user"])
    for name in LINKS:
        path = pathlib.Path("/", name)
        if path.is_symlink():
            (root / name).symlink_to(os.readlink(path))
        elif path.is_dir():
            (root / name).mkdir()
    for name, text in ETC.items():
        (root / "etc" / name).write_text(text)
    for program in programs():
        (root / PROGRAMS[1:] / program.name).touch()


def process_of(command, user, environment):
    held = CAPABILITIES if user == "root" else []
    variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "HOSTNAME": "container", "HOME": HOMES[user], "LANG": "C.UTF-8",
                 **sanitizer_options(), **(environment or {})}
    return {"terminal": False, "user": {"uid": USERS[user], "gid": USERS[user]}, "cwd": HOMES[user],
            "args": [str(part) for part in command],
            "env": [f"{name}={value}" for name, value in variables.items()],
            # The bounding set stays, as with `docker run --user`.
            "capabilities": {"bounding": CAPABILITIES, "permitted": held, "effective": held},
            "noNewPrivileges": False}


def specification(process, profile, cgroup):
    kinds = ("pid", "mount", "ipc", "uts", "network", "cgroup")
    return {"ociVersion": "1.0.2", "process": process, "hostname": "container",
            "root": {"path": "rootfs", "readonly": False}, "mounts": mounts(),
            "linux": {"namespaces": [{"type": kind} for kind in kinds],
                      # A relative path begins at the cgroup of the tests themselves.
                      "cgroupsPath": cgroup,
                      "resources": {"devices": [{"allow": False, "access": "rwm"}],
                                    "memory": {"limit": MOST_MEMORY},
                                    "pids": {"limit": MOST_PROCESSES}},
                      "seccomp": FILTERS[profile](set(CAPABILITIES)),
                      "maskedPaths": MASKED, "readonlyPaths": READ_ONLY}}


class Container:
    """Runs commands, each in a new container, from one root directory below `place`.

    `profile` is whose system call filter holds: that of "docker", or the looser one of "podman".
    """

    def __init__(self, place, profile="docker"):
        self.place = pathlib.Path(place)
        self.profile = profile
        self.place.mkdir()
        make_root(self.place / "rootfs")

    def run(self, command, user="root", environment=None, timeout=COMMAND_SECONDS, stdin=b""):
        """Runs one command to its end. The output is bytes, the exit code that of the command."""
        # Named so that the search for leftovers sees its cgroup, should it stay.
        name = f"belljar-container-{secrets.token_hex(4)}"
        process = process_of(command, user, environment)
        text = json.dumps(specification(process, self.profile, name))
        (self.place / "config.json").write_text(text)
        try:
            return subprocess.run(self.runc("run", "--bundle", self.place, name), input=stdin,
                                  capture_output=True, timeout=timeout, check=False)
        finally:
            self.remove(name)

    def runc(self, *arguments):
        return ["runc", "--root", str(self.place / "state"), *map(str, arguments)]

    def remove(self, name):
        """After a time-out it still runs; otherwise nothing of it is there any more."""
        if (self.place / "state" / name).exists():
            subprocess.run(self.runc("delete", "--force", name), capture_output=True,
                           timeout=COMMAND_SECONDS, check=False)
