"""Where the numbers come from: without this they could not be compared."""

import os
import pathlib
import platform
import shutil
import subprocess
import time

from load import busy_seconds
from timekeepers import PYTHON

VERSIONS = {
    "python": [PYTHON, "--version"], "bubblewrap": ["bwrap", "--version"],
    "crun": ["crun", "--version"], "runc": ["runc", "--version"],
    "docker": ["dockerd", "--version"], "node": ["node", "--version"]}


def first_line(command):
    """What a program calls itself, or None if it is not there."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def field(path, name):
    """The value of a `name: value` line."""
    for line in pathlib.Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def cgroup_layout():
    """Version 1, version 2, or both; and which hierarchies of version 1 are mounted."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    after = [line.partition(" - ")[2].split() for line in lines]
    first = sorted(pathlib.Path(line.split()[4]).name for line, kind in zip(lines, after)
                   if kind[0] == "cgroup")
    second = any(kind[0] == "cgroup2" for kind in after)
    if not first:
        return "v2" if second else "none"
    return f"{'hybrid' if second else 'v1'} ({', '.join(first)})"


def stolen_seconds():
    """Processor time that the hypervisor gave to others."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return int(fields[7]) / os.sysconf("SC_CLK_TCK")


def busy_cores(seconds=2.0):
    """How many cores others keep busy while we do nothing: above 0.1 the machine is not quiet."""
    before, start = busy_seconds(), time.perf_counter()
    time.sleep(seconds)
    return round((busy_seconds() - before) / (time.perf_counter() - start), 2)


def describe(binary):
    memory = int(field("/proc/meminfo", "MemTotal").split()[0])
    versions = {name: first_line(command) for name, command in VERSIONS.items()}
    versions["belljar"] = first_line([str(binary), "version"])
    return {"cores": os.cpu_count(), "usable_cores": len(os.sched_getaffinity(0)),
            "processor": field("/proc/cpuinfo", "model name") or platform.machine(),
            "memory_mib": memory >> 10, "kernel": platform.release(),
            "system": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
            "cgroups": cgroup_layout(), "others_busy_cores": busy_cores(), "versions": versions}
