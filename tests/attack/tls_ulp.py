# class: Escape
# tries: turn a connection over to the kernel's TLS or ESP code (TCP_ULP)
# expects: refused
# needs: seccomp
import errno
import socket

from attempt import Attempts, answer

SOL_TCP, TCP_ULP = 6, 31
attempts = Attempts()


def connection():
    """A connection of the jar to itself, if it may have one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client = socket.create_connection(listener.getsockname(), timeout=2)
        return client, listener.accept()[0]


def ulp(one, name):
    one.setsockopt(SOL_TCP, TCP_ULP, name)


try:
    sockets = connection()
except OSError as error:
    sockets = ()
    refused = error.errno
for one in sockets:
    for name in (b"tls", b"espintcp", b"mptcp", b"smc"):
        attempts.call(f"TCP_ULP {name.decode()}", ulp, one, name, also=(errno.ENOPROTOOPT,))
if sockets:
    verdict = attempts.verdict()
else:
    verdict = answer(True, f"no TCP at all ({refused})")
verdict
