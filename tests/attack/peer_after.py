# class: Lateral
# tries: look for what the jar before left: files, keys, IPC objects, sockets, its user id
# expects: nothing, and another user id
import os
import socket
import tempfile

from attempt import Attempts, answer, first, given, host_name, lacks, wait_for_other
from kernel import syscall

PLACES = [os.getcwd(), tempfile.gettempdir(), "/dev/shm", "/var/tmp", "/run", "/dev/mqueue"]
name = f"left-{given['token']}"
key = int(given["token"], 16) & 0x3FFFFFFF
SESSION, USER = -3, -4
attempts = Attempts()


def quietly(action, *arguments):
    try:
        return action(*arguments)
    except OSError:
        return None


def leave():
    for place in PLACES:
        quietly(lambda: open(f"{place}/{name}", "w").close())
    for ring in (SESSION, USER):
        quietly(syscall, "add_key", b"user", name.encode(), b"left", 4, ring)
    quietly(syscall, "shmget", key, 4096, 0o1600)
    quietly(syscall, "mq_open", name.encode(), os.O_CREAT | os.O_RDWR, 0o600, 0)


def look():
    for place in PLACES:
        if os.path.lexists(f"{place}/{name}"):
            attempts.note(f"{place} still has the file")
    for place in (os.getcwd(), tempfile.gettempdir(), "/dev/shm"):
        strangers = [one for one in quietly(os.listdir, place) or [] if one.startswith("left-")]
        if strangers:
            attempts.note(f"{place} has {strangers}")
    for ring in (SESSION, USER):
        attempts.call("a key", syscall, "keyctl", 10, ring, b"user", name.encode(), 0,
                      also=(126, 127, 128))
    if not lacks("namespaces"):
        attempts.call("System V memory", syscall, "shmget", key, 0, 0)
        attempts.call("POSIX queue", syscall, "mq_open", name.encode(), os.O_RDWR, 0, 0,
                      also=(24,))


(leave if first else look)()
if socket.gethostname() == host_name and not lacks("namespaces"):
    attempts.note("the host's name")
if not wait_for_other():  # whoever looks at our user from outside
    attempts.note("nobody looked from outside")
attempts.verdict() if attempts.through else answer(True, "nothing was left")
