"""A large file over HTTP: what a run printed, beside nginx serving the same bytes.

Both send it to the same reader in turns; one connection each, with clear text on loopback.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

import wire
from candidates_server import answer_of, execute_request, right_record
from stats import NotHere, WrongAnswer, median
from support_binary import environment, wait_until
from support_server import Server

SIZE = 1_000_000_000
PRINT = f"import sys\nfor _ in range({SIZE // 1_000_000}): sys.stdout.write('x' * 1_000_000)"
PIECE = 1 << 20
SECONDS_TO_START = 20

NGINX = """daemon off; master_process off; worker_processes 1; pid {place}/nginx.pid;
error_log {place}/nginx.log;
events {{}}
http {{
  sendfile on; tcp_nopush on; access_log off; types {{}} default_type application/octet-stream;
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
  fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  server {{ listen 127.0.0.1:{port}; root {place}; }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Nginx:
    """In one process, ended by close()."""

    def __init__(self, place):
        if shutil.which("nginx") is None:
            raise NotHere("nginx is not installed")
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        configuration = place / "nginx.conf"
        configuration.write_text(NGINX.format(place=place, port=self.port))
        self.process = subprocess.Popen(["nginx", "-c", str(configuration)],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "nginx listens", SECONDS_TO_START)

    def answers(self):
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        return False

    def close(self):
        self.process.terminate()
        self.process.wait()


def download(address, path, copy=None):
    """Seconds for the whole file; it may be kept in a file."""
    host, port = address.rsplit(":", 1)
    buffer = bytearray(PIECE)
    with socket.create_connection((host, int(port)), 60) as connection:
        start = time.perf_counter()
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n"
                           "Connection: close\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        if not head.startswith(b"HTTP/1.1 200"):
            raise WrongAnswer(head.splitlines()[0].decode(errors="replace"))
        received = 0
        while count := connection.recv_into(buffer):
            received += count
            if copy is not None:
                copy.write(memoryview(buffer)[:count])
        elapsed = time.perf_counter() - start
    if received != SIZE:
        raise WrongAnswer(f"{received} of {SIZE} bytes came")
    return elapsed


def print_file(server):
    """The path of a run's whole output."""
    line = wire.Line(server.address)
    line.send(execute_request(server.address, PRINT))
    while (answer := line.receive_some()) is None:
        pass
    line.close()
    return right_record(answer_of(*answer))["full_output"] + "/stdout"


def measure(place, rounds, progress):
    """{"belljar": {"mb_per_second"}, "nginx": {...}}; nginx with a reason if it is not here."""
    place = pathlib.Path(place) / "download"
    place.mkdir()
    place.chmod(0o755)
    with contextlib.ExitStack() as stack:
        server = Server(place / "server", "--auth", "none", env=environment(
            LOG_LEVEL="error", BELLJAR_LIMITS_OUTPUT_FILE="2g", BELLJAR_LIMITS_OUTPUT_FLOOD="2g",
            BELLJAR_FILES_OUTPUT_SPACE="4g", BELLJAR_LIMITS_TIMEOUT="120s"))
        stack.callback(server.stop)
        candidates = {"belljar": (server.address, print_file(server))}
        with open(place / "file", "wb") as copy:
            download(*candidates["belljar"], copy)
        missing = {}
        try:
            nginx = Nginx(place)
            stack.callback(nginx.close)
            candidates["nginx"] = (nginx.address, "/file")
        except NotHere as reason:
            missing["nginx"] = {"not_run": str(reason)}
        took = {name: [] for name in candidates}
        for turn in range(rounds):
            for name, (address, path) in candidates.items():
                took[name].append(download(address, path))
            progress(f"{turn + 1} of {rounds}")
        os.unlink(place / "file")
    return {**missing, **{name: {"mb_per_second": SIZE / 1e6 / median(times)}
                          for name, times in took.items()}}
