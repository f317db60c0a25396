# class: HostLeak
# tries: read files of the host by every path: direct, ../ chains, links, /proc/PID/root and cwd
# expects: no such file, or no permission; their bytes appear nowhere
import os

from attempt import Attempts, given

attempts = Attempts()


def roots():
    yield ""
    yield "../" * 64
    for folder in (os.getcwd(), "/tmp", "/usr/bin", "/dev/fd"):
        yield folder + "/" + "../" * 64
    pids = ["self", "thread-self", "1", str(os.getppid()), str(given["server_pid"])]
    for pid in [*pids, *map(str, given["warden_pids"])]:
        yield f"/proc/{pid}/root"
        yield f"/proc/{pid}/cwd/" + "../" * 64
    for number in range(16):
        yield f"/proc/self/fd/{number}/" + "../" * 64


def read(path):
    with open(path, "rb") as file:
        content = file.read(4096)
    print(path, content)


def links(path, number):
    """The same file under names of our own."""
    os.symlink(path, f"soft-{number}")
    yield f"soft-{number}"
    os.symlink("../" * 64 + path, f"chain-{number}")
    yield f"chain-{number}"
    try:
        os.link(path, f"hard-{number}")
        yield f"hard-{number}"
    except OSError:
        pass


for number, flag in enumerate(given["flags"]):
    for root in roots():
        attempts.call(root + flag, read, root + flag)
    for link in links(flag, number):
        attempts.call(f"{link} to {flag}", read, link)
    attempts.open(flag, os.O_RDWR)

# Whatever else can be walked through, except for what jars and hosts have in common.
wanted = os.path.basename(given["flags"][0])
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if folder != "/" or name not in ("usr", "proc", "sys")]
    for name in names:
        if name == wanted:
            attempts.call(f"{folder}/{name}", read, f"{folder}/{name}")

attempts.verdict()
