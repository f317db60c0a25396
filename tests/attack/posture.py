# class: Escape
# tries: looked at from outside and inside: ids, capabilities, filter, namespaces, mounts, limits
# expects: exactly the posture of a jar
import os
import resource
import stat
import threading

from attempt import Attempts, answer, given, lacks, wait_for_other

ENVIRONMENT = {"HOME", "LANG", "LC_CTYPE", "PATH", "TMPDIR", "USER"}
LARGEST = {
    resource.RLIMIT_CORE: 1, resource.RLIMIT_NOFILE: 65536, resource.RLIMIT_MEMLOCK: 0,
    resource.RLIMIT_MSGQUEUE: 0, resource.RLIMIT_SIGPENDING: 65536, resource.RLIMIT_NICE: 0,
    resource.RLIMIT_RTPRIO: 0, resource.RLIMIT_FSIZE: given["limits"]["workspace_bytes"]}

attempts = Attempts()
done = threading.Event()
threads = [threading.Thread(target=done.wait) for _ in range(3)]
for thread in threads:
    thread.start()

for name in sorted(set(os.environ) - ENVIRONMENT):
    attempts.note(f"environment has {name}")
for kind, largest in LARGEST.items():
    soft, hard = resource.getrlimit(kind)
    if not 0 <= soft <= hard <= largest:
        attempts.note(f"limit {kind} is {hard}, at most {largest}")
for name, host in given["namespaces"].items():
    try:
        same = os.readlink(f"/proc/self/ns/{name}") == host
    except OSError:
        same = False
    if same and not lacks("namespaces"):
        attempts.note(f"shares the host's {name} namespace")


def check_mount(place, options):
    """Writable is what belongs to the guest; devices work, but only the known ones are there."""
    try:
        status = os.stat(place)
    except OSError:
        return  # out of reach
    device = stat.S_ISCHR(status.st_mode) or place == "/dev"
    if "rw" in options and status.st_uid != os.getuid() and not device:
        attempts.note(f"{place} is mounted writable")
    if "nosuid" not in options or ("nodev" not in options and not device):
        attempts.note(f"{place} is mounted with {','.join(options)}")


if not lacks("namespaces"):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            check_mount(line.split()[4], line.split()[5].split(","))

looked_at = wait_for_other()
done.set()
for thread in threads:
    thread.join()

if not looked_at:
    attempts.note("nobody looked from outside")
attempts.verdict() if attempts.through else answer(True, "as expected, inside and outside")
