"""A receiver of webhooks on loopback, which can fail in the ways that receivers do."""

import hashlib
import hmac
import http.server
import json
import socket
import struct
import threading

from support_binary import wait_until

SECRET = "the key of the webhook"


def signature_of(secret, stamp, body):
    return hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()


class Received:
    def __init__(self, headers, body):
        self.headers, self.body = headers, body

    @property
    def alert(self):
        return json.loads(self.body)

    def is_signed(self, secret=SECRET):
        fields = dict(one.split("=", 1) for one in self.headers["Belljar-Signature"].split(","))
        return hmac.compare_digest(fields["v1"], signature_of(secret, fields["t"], self.body))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        deed = self.server.receiver.next_deed()
        self.server.receiver.attempts.append(Received(self.headers, body))
        if deed == "drop":
            # Reset, not an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.send_response(deed)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if deed == 200:
            self.server.receiver.taken.append(Received(self.headers, body))

    def log_message(self, *_):
        pass


class Receiver:
    """`deeds` are statuses, or "drop", for the first attempts; then everything is taken."""

    def __init__(self, deeds=(), port=0):
        self.deeds, self.attempts, self.taken = list(deeds), [], []
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.http.receiver = self
        self.thread = threading.Thread(target=self.http.serve_forever,
                                       kwargs={"poll_interval": 0.05})
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}/alerts?from=belljar"

    def next_deed(self):
        return self.deeds.pop(0) if self.deeds else 200

    def wait_for(self, count, seconds=30):
        wait_until(lambda: len(self.taken) >= count, f"{count} alerts come", seconds)
        return [one.alert for one in self.taken]

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
