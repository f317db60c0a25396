# class: Exfil
# tries: connect to an abstract unix socket of the host
# expects: nobody there, or refused
import errno
import socket

from attempt import Attempts, given

attempts = Attempts()


def dial(kind):
    with socket.socket(socket.AF_UNIX, kind) as one:
        one.connect("\0" + given["abstract_socket"])


for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    attempts.call(f"connect {kind.name}", dial, kind, also=(errno.ECONNREFUSED, errno.EPROTOTYPE))
if "EPROTOTYPE" in attempts.refusals:
    attempts.note("the host's socket was found, of another type")
attempts.verdict()
