"""HTTP with as little work as possible, so that what is measured is the server and not the client.

A request is bytes that were made before; of an answer only status and length are read.
"""

import socket

from stats import Refused

PATIENCE_SECONDS = 120
END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"\r\ncontent-length:"


def post(address, path, body, headers=()):
    """The bytes of a request on a connection that stays open."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {address}", "Content-Type: application/json",
             f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode() + END_OF_HEAD + body


def delete(address, path):
    return f"DELETE {path} HTTP/1.1\r\nHost: {address}".encode() + END_OF_HEAD


def take_answer(received):
    """(status, body, bytes used) of the first answer in `received`; None if it is not complete."""
    end = received.find(END_OF_HEAD)
    if end < 0:
        return None
    head = bytes(received[:end + 2])
    place = head.lower().find(LENGTH)
    if place < 0:
        raise Refused("an answer without a length")
    length = int(head[place + len(LENGTH):].split(b"\r\n", 1)[0])
    total = end + len(END_OF_HEAD) + length
    if len(received) < total:
        return None
    return int(head.split(b" ", 2)[1]), bytes(received[end + len(END_OF_HEAD):total]), total


def connect(address):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Line:
    """One connection with one request at a time. It is opened again after an answer failed."""

    def __init__(self, address):
        self.address, self.connection = address, None
        self.received = bytearray()

    def open(self):
        if self.connection is None:
            self.connection, self.received = connect(self.address), bytearray()

    def send(self, request):
        self.open()
        self.connection.sendall(request)

    def receive_some(self):
        """The answer if it is complete now."""
        part = self.connection.recv(262144)
        if not part:
            raise Refused("the server closed the connection")
        self.received += part
        answer = take_answer(self.received)
        if answer is None:
            return None
        status, body, used = answer
        del self.received[:used]
        return status, body

    def ask(self, request):
        """(status, body)"""
        self.send(request)
        while (answer := self.receive_some()) is None:
            pass
        return answer

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
