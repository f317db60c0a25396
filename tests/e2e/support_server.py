"""A running `belljar serve` and talking to it."""

import http.client
import json
import signal
import socket
import subprocess
import threading

from support_binary import BINARY, COMMAND_SECONDS, service_environment, wait_until
from support_processes import descendants, descriptors

LAST_LINE_OF_GREETING = "Stop it with Ctrl-C."
SETTLING_SECONDS = 300  # a compiler takes its time where others are at work


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Server:
    """Started on a free port. `directory` takes its output, and its data unless said otherwise."""

    running = []

    def __init__(self, directory, *options, env=None, data_directory=None,
                 listen="127.0.0.1:0", program=BINARY):
        directory.mkdir(exist_ok=True)
        self.data_directory = data_directory or directory / "data"
        self.output_file = directory / "stdout"
        self.error_file = directory / "stderr"
        command = [str(program), "serve", "--listen", listen, "--data-dir",
                   str(self.data_directory), *map(str, options)]
        with open(self.output_file, "wb") as output, open(self.error_file, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=errors, env=service_environment(env))
        Server.running.append(self)
        try:
            wait_until(self.has_greeted, "the server greets", COMMAND_SECONDS)
            url = self.greeting.split(" listens on ")[1].split()[0]
            self.scheme, self.address = url.split("://")
        except BaseException:
            self.stop()
            raise
        self.host, port = self.address.rsplit(":", 1)
        self.port = int(port)
        token_file = self.data_directory / "token"
        self.token = token_file.read_text().strip() if token_file.exists() else None

    def has_greeted(self):
        ended = self.process.poll()
        assert ended is None, f"ended with {ended}: {self.errors}"
        return LAST_LINE_OF_GREETING in self.greeting

    def settle(self):
        """Waits for the trials of languages after the start, which look like somebody's runs."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SETTLING_SECONDS)
        try:
            connection.request("GET", "/v1/runners", headers=self.headers())
            assert connection.getresponse().status == 200
        except BaseException:
            self.stop()
            raise
        finally:
            connection.close()

    @property
    def greeting(self):
        return self.output_file.read_text()

    @property
    def errors(self):
        return self.error_file.read_text()

    @property
    def pid(self):
        return self.process.pid

    def helper(self, name):
        """The pid of the warden or the keeper."""
        found = [one.pid for one in descendants(self.pid) if one.name == name]
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def descriptor_counts(self):
        helpers = [one.pid for one in descendants(self.pid) if one.name.startswith("belljar-")]
        return {pid: len(descriptors(pid)) for pid in [self.pid, *helpers]}

    def stop(self, number=signal.SIGTERM):
        """Ends it and gives its exit code."""
        if self in Server.running:
            Server.running.remove(self)
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def headers(self, token=True):
        return {"Authorization": f"Bearer {self.token}"} if token and self.token else {}

    def request(self, method, path, body=None, headers=None, token=True):
        """One request on a connection of its own. Objects are sent as JSON."""
        sent = self.headers(token)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        connection = http.client.HTTPConnection(self.host, self.port, timeout=COMMAND_SECONDS)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def execute(self, code, **arguments):
        """The result record of a run."""
        answer = self.request("POST", "/execute", {"code": code, **arguments})
        assert answer.status == 200, answer
        return answer.json

    def connect(self):
        connection = socket.create_connection((self.host, self.port), timeout=COMMAND_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def execute_bytes(self, code, *extra_headers, **arguments):
        """The bytes of an /execute request."""
        body = json.dumps({"code": code, **arguments}).encode()
        lines = ["POST /execute HTTP/1.1", f"Host: {self.address}",
                 "Content-Type: application/json", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in self.headers().items()), *extra_headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def start_run(self, code, **arguments):
        """Sends the request and leaves; the connection is the caller's to read and to close."""
        connection = self.connect()
        connection.sendall(self.execute_bytes(code, **arguments))
        return connection

    def raw(self, data):
        """Sends bytes and gives everything that comes back until the server closes."""
        with self.connect() as connection:
            # A server that has heard enough may close before it has taken everything.
            sender = threading.Thread(target=send_what_is_taken, args=(connection, data))
            sender.start()
            received = read_to_end(connection)
            sender.join()
            return received


def send_what_is_taken(connection, data):
    try:
        connection.sendall(data)
    except OSError:
        pass


def read_to_end(connection):
    received = b""
    while True:
        try:
            chunk = connection.recv(65536)
        except ConnectionResetError:
            return received
        if not chunk:
            return received
        received += chunk


def read_answer(connection):
    """The next answer on a connection that stays open."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return Answer(response.status, response.headers, response.read())


def status_of_bytes(received):
    assert received.startswith(b"HTTP/1.1 "), received[:200]
    return int(received.split(b" ", 2)[1])
