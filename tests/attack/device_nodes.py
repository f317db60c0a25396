# class: Escape
# tries: open every device below /dev; make nodes for memory and disks
# expects: the five harmless memory devices; no new nodes
import os
import stat
import tempfile

from attempt import Attempts

HARMLESS = {os.makedev(1, minor) for minor in (3, 5, 7, 8, 9)}  # null zero full random urandom
KNOWN = ["kmsg", "mem", "port", "kvm", "fuse", "net/tun", "vhost-net", "vhost-vsock", "ptmx",
         "loop-control", "loop0", "sda", "vda", "nvme0n1", "mapper/control", "tty", "tty0", "core",
         "console", "hpet", "userfaultfd", "snapshot", "dri/card0", "bus/usb", "uinput", "vsock",
         "cuse"]
attempts = Attempts()
allowed = set()


def nodes():
    found = {f"/dev/{name}" for name in KNOWN}
    for folder, _, names in os.walk("/dev"):
        found.update(os.path.join(folder, name) for name in names)
    return sorted(found)


for path in nodes():
    try:
        status = os.stat(path)
    except OSError:
        continue
    if stat.S_ISCHR(status.st_mode) and status.st_rdev in HARMLESS:
        allowed.add(path)
    elif os.path.basename(path).startswith(("watchdog", "st", "nst")):
        continue  # to open one of these is to do something with it
    elif stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        attempts.open(path)
        attempts.open(path, os.O_RDWR)

for place in {os.getcwd(), tempfile.gettempdir(), "/dev/shm", "/dev"}:
    for kind, device in ((stat.S_IFCHR, (1, 1)), (stat.S_IFCHR, (10, 232)), (stat.S_IFBLK, (8, 0)),
                         (stat.S_IFBLK, (254, 0)), (stat.S_IFCHR, (5, 1))):
        attempts.call(f"mknod {place} {device}", os.mknod, f"{place}/node-{device[0]}-{device[1]}",
                      0o600 | kind, os.makedev(*device))
verdict = attempts.verdict()
if verdict["held"]:
    verdict["seen"] = f"{len(allowed)} memory devices; {verdict['seen']}"
verdict
