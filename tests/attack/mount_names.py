# class: HostLeak
# tries: find names of the host in mountinfo, cgroup, cmdline, environ, maps, uname, /etc
# expects: none
# needs: namespaces
import os

from attempt import Attempts, answer, given

attempts = Attempts()
ordinary = {"/usr/bin", "/usr/sbin", "/usr/lib/belljar", "localhost", "jar"}
wanted = {name for name in given["host_names"] if len(name) > 3} - ordinary
files = ["/etc/hostname", "/etc/hosts", "/etc/passwd", "/etc/machine-id", "/etc/resolv.conf",
         "/etc/fstab", "/etc/mtab", "/proc/sys/kernel/hostname", "/proc/version", "/proc/cmdline"]
for pid in ("self", "1", str(os.getppid())):
    files += [f"/proc/{pid}/{name}" for name in
              ("mountinfo", "mounts", "mountstats", "cgroup", "cmdline", "environ", "maps", "comm")]

looked = 0
for path in files:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        continue
    looked += 1
    for name in wanted:
        if name in text:
            attempts.note(f"{path} names {name}")
for name in wanted & {*os.uname(), *os.environ.values()}:
    attempts.note(f"uname or environment names {name}")
try:
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        paths = {line.split(":", 2)[2].strip() for line in file}
    if paths - {"/"}:
        attempts.note(f"its cgroup is {sorted(paths - {'/'})}")
except OSError:
    pass
attempts.verdict() if attempts.through else answer(True, f"none in {looked} files")
