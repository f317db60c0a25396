"""What a server's surroundings are to it: files, certificates, service managers, sockets."""

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess

from support_binary import BINARY, COMMAND_SECONDS, service_environment, wait_until
from support_server import LAST_LINE_OF_GREETING, SETTLING_SECONDS, Answer, Server


def write_config(place, **sections):
    """A configuration file that the server can read after it gave up root."""
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    path = place / "belljar.toml"
    fresh = place / "belljar.toml.new"
    fresh.write_text("\n".join(lines) + "\n")
    fresh.chmod(0o644)
    fresh.rename(path)
    return path


def log_lines(text, message):
    """The parsed lines of the log with this message."""
    parsed = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in parsed if line["message"] == message]


def make_certificate(directory, name):
    """A key and a certificate for localhost, each in a file."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=COMMAND_SECONDS)
    key.chmod(0o644)
    return certificate, key


def install(source, target):
    """Puts a file in another's place, as programs that renew certificates do."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(source.read_bytes())
    fresh.chmod(0o644)
    fresh.rename(target)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("anything.example", timeout=COMMAND_SECONDS)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(COMMAND_SECONDS)
        self.sock.connect(self.path)


def ask(connection, method, path, body=None, headers=None):
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def peer_name(address, context):
    """The name on the certificate that a new connection is shown."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=COMMAND_SECONDS) as plain, \
            context.wrap_socket(plain, server_hostname="localhost") as secure:
        shown = secure.getpeercert(binary_form=True)
    text = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-subject"],
                          input=shown, capture_output=True, check=True, timeout=COMMAND_SECONDS)
    return re.search(r"CN ?= ?(\S+)", text.stdout.decode())[1]


def unverified_context():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class SecureServer(Server):
    """One whose address speaks TLS."""

    def secure_connection(self, context=None, address="127.0.0.1"):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=context or unverified_context(),
            timeout=SETTLING_SECONDS, source_address=(address, 0))

    def request(self, method, path, body=None, headers=None, token=True):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        kind = {"Content-Type": "application/json"} if body is not None else {}
        return ask(self.secure_connection(), method, path, body,
                   {**self.headers(token), **kind, **(headers or {})})

    def settle(self):
        assert self.request("GET", "/v1/runners").status == 200


class NotifySocket:
    """What systemd would listen on."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        if not address.startswith("@"):
            os.chmod(address, 0o666)
        self.socket.settimeout(COMMAND_SECONDS)

    def next(self, wanted):
        """The fields of the next message that has this one."""
        while True:
            fields = dict(line.split("=", 1)
                          for line in self.socket.recv(4096).decode().splitlines())
            if wanted in fields:
                return fields

    def close(self):
        self.socket.close()


class ActivatedServer:
    """Started as systemd does: with listening sockets from descriptor 3 on."""

    def __init__(self, directory, sockets, **variables):
        directory.mkdir(exist_ok=True)
        self.output_file, self.error_file = directory / "stdout", directory / "stderr"
        numbers = range(3, 3 + len(sockets))

        def arrange():
            copies = [os.dup2(one.fileno(), 100 + place) for place, one in enumerate(sockets)]
            for number, copy in zip(numbers, copies):
                os.dup2(copy, number)

        environment = {**service_environment(), "LISTEN_FDS": str(len(sockets)), **variables}
        command = ["sh", "-c", 'LISTEN_PID=$$ exec "$0" "$@"', str(BINARY), "serve", "--data-dir",
                   str(directory / "data")]
        with open(self.output_file, "wb") as output, open(self.error_file, "wb") as errors:
            self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment,
                preexec_fn=arrange, pass_fds=tuple(numbers))
        self.token_file = directory / "data" / "token"

    def wait_for_greeting(self):
        def greeted():
            assert self.process.poll() is None, self.error_file.read_text()
            return LAST_LINE_OF_GREETING in self.output_file.read_text()

        wait_until(greeted, "the server greets", COMMAND_SECONDS)

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)
