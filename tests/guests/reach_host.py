"""Prints as JSON what happens when it connects to a port of the host's loopback address, to an
abstract socket of the host, and to addresses outside."""

import errno
import json
import socket
import sys

port, abstract_name = int(sys.argv[1]), sys.argv[2]


def attempt(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(5)
        try:
            connection.connect(address)
            return "connected"
        except OSError as error:
            return errno.errorcode.get(error.errno, str(error))


print(json.dumps({
    "loopback": attempt(socket.AF_INET, ("127.0.0.1", port)),
    "loopback6": attempt(socket.AF_INET6, ("::1", port)),
    "abstract": attempt(socket.AF_UNIX, "\0" + abstract_name),
    "outside": attempt(socket.AF_INET, ("192.0.2.1", 80)),
    "metadata": attempt(socket.AF_INET, ("169.254.169.254", 80)),
}))
