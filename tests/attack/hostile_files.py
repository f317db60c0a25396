# class: HostLeak
# tries: leave traps: links to host files, FIFOs, sockets, loops, strange names, sparse files
# expects: the run ends; none of them comes back as a file
import os
import socket

from attempt import answer, given

made = 0


def quietly(action, *arguments):
    global made
    try:
        action(*arguments)
        made += 1
    except (OSError, ValueError):
        pass


def sparse(name):
    descriptor = os.open(name, os.O_CREAT | os.O_WRONLY)
    try:
        os.ftruncate(descriptor, 1 << 40)
    except OSError:
        os.unlink(name)
        raise
    finally:
        os.close(descriptor)


def bind(name):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(name)


for number, flag in enumerate(given["flags"]):
    quietly(os.symlink, flag, f"trap-link-{number}")
    quietly(os.symlink, "../" * 16 + flag[1:], f"trap-chain-{number}")
    quietly(os.symlink, os.path.dirname(flag), f"trap-folder-{number}")
    quietly(os.link, flag, f"trap-hard-{number}")
for name, target in (("passwd", "/etc/passwd"), ("root", "/"), ("proc", "/proc/self/root"),
                     ("stdin", "/dev/stdin"), ("zero", "/dev/zero"), ("self", "trap-self")):
    quietly(os.symlink, target, f"trap-{name}")
quietly(os.symlink, ".", "trap-loop")
quietly(os.mkfifo, "trap-fifo")
quietly(bind, "trap-socket")
quietly(sparse, "trap-sparse")
quietly(os.link, "/usr/bin/id", "trap-program")
for name in (b"trap-\xff\xfe", b"trap-\n\r\x1b[2J", b"trap-" + b"n" * 250, b"trap-.."):
    quietly(os.symlink, b"/etc/passwd", name)
folder = os.getcwd()
for _ in range(64):
    quietly(os.mkdir, "trap-deep" + "d" * 200)
    quietly(os.chdir, "trap-deep" + "d" * 200)
os.chdir(folder)
with open("plain.txt", "w", encoding="utf-8") as file:
    file.write("an ordinary file\n")
answer(True, f"{made} traps laid, none sprung")
