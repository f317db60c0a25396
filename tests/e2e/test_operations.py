"""How a server meets its surroundings: TLS, Unix sockets, systemd, SIGHUP, proxies, log files."""

import http.client
import json
import os
import signal
import socket
import ssl
import stat

import pytest

from support_binary import COMMAND_SECONDS, belljar, environment, wait_until
from support_operations import (ActivatedServer, NotifySocket, SecureServer, UnixConnection, ask,
                                install, log_lines, make_certificate, peer_name,
                                unverified_context, write_config)
from support_processes import guests_of


@pytest.fixture(scope="module")
def certificates(session_place):
    directory = session_place / "certificates"
    directory.mkdir()
    directory.chmod(0o777)
    return {name: make_certificate(directory, name) for name in ("first", "second", "third")}


@pytest.fixture(scope="module")
def operated(session_place, certificates):
    """A server with a certificate, a configuration file, a log file and a Unix socket."""
    directory = session_place / "operated"
    directory.mkdir()
    directory.chmod(0o777)
    certificate, key = directory / "server.crt", directory / "server.key"
    install(certificates["first"][0], certificate)
    install(certificates["first"][1], key)
    settings = {
        "server": {"tls_certificate": str(certificate), "tls_key": str(key),
                   "unix_socket": str(directory / "socket"), "trusted_proxies": ["127.0.0.1"],
                   "allowed_hosts": ["jars.example"]},
        "limits": {"body": "1m"},
        "log": {"path": str(directory / "log")},
    }
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(directory / "socket"))
    stale.close()  # the file stays
    server = SecureServer(directory, "--config", write_config(directory, **settings))
    server.settle()
    server.place, server.settings = directory, settings
    server.certificate, server.key = certificate, key
    server.socket, server.log = directory / "socket", directory / "log"
    yield server
    assert server.stop() == 0
    assert not server.socket.exists()


def reload(server, /, **changes):
    """Writes the configuration with these changes and waits until the server has read it."""
    merged = {section: {**server.settings.get(section, {}), **changes.get(section, {})}
              for section in {*server.settings, *changes}}
    write_config(server.place, **merged)
    message = "the configuration was read again"
    before = len(log_lines(server.log.read_text(), message))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(log_lines(server.log.read_text(), message)) > before, "the reload")


def test_tls_serves_whoever_knows_the_certificate(operated, certificates):
    assert operated.scheme == "https" and "curl -s https://" in operated.greeting
    context = ssl.create_default_context(cafile=certificates["first"][0])
    body = json.dumps({"code": "print('x' * 3_000_000)"})
    headers = {**operated.headers(), "Content-Type": "application/json"}
    record = ask(operated.secure_connection(context), "POST", "/execute", body, headers).json
    assert record["stdout_bytes"] == 3_000_001
    whole = ask(operated.secure_connection(context), "GET", record["full_output"] + "/stdout",
                None, operated.headers())
    assert (whole.status, len(whole.body)) == (200, 3_000_001)
    assert ask(operated.secure_connection(context), "GET", "/v1/runners").status == 401


def test_tls_client_that_leaves_ends_its_run(operated):
    connection = operated.secure_connection()
    body = json.dumps({"code": "import time; time.sleep(1000)"})
    connection.request("POST", "/execute", body, {**operated.headers(),
                                                  "Content-Type": "application/json"})
    wait_until(lambda: guests_of(operated.pid), "the program runs")
    connection.close()
    wait_until(lambda: not guests_of(operated.pid), "the program is gone", 10)


def test_tls_is_the_only_language(operated):
    plain = operated.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"HTTP/1.1" not in plain
    old = unverified_context()
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    other = unverified_context()
    other.set_alpn_protocols(["h2"])
    for context in (old, other):
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            peer_name(operated.address, context)
    known = unverified_context()
    known.set_alpn_protocols(["h2", "http/1.1"])
    with operated.connect() as connection, known.wrap_socket(connection) as encrypted:
        assert encrypted.selected_alpn_protocol() == "http/1.1"


def test_tls_certificate_is_renewed_without_a_restart(operated, certificates):
    context = unverified_context()
    kept = operated.secure_connection(context)
    kept.request("GET", "/health")
    kept.getresponse().read()
    install(certificates["second"][1], operated.key)
    install(certificates["second"][0], operated.certificate)
    wait_until(lambda: peer_name(operated.address, context) == "second", "the new certificate")
    kept.request("GET", "/health")
    assert kept.getresponse().status == 200
    kept.close()


def test_bad_tls_pair_keeps_the_old_one(operated, certificates):
    context = unverified_context()
    name = peer_name(operated.address, context)
    before = operated.key.read_bytes()
    operated.key.write_bytes(certificates["third"][1].read_bytes())
    operated.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "fits the certificate" in operated.log.read_text(), "the reason is said")
    assert peer_name(operated.address, context) == name
    operated.key.chmod(0o600)
    operated.process.send_signal(signal.SIGHUP)
    wait_until(lambda: f"{operated.key} cannot be read" in operated.log.read_text(),
               "a key out of reach is named")
    assert peer_name(operated.address, context) == name
    operated.key.write_bytes(before)
    operated.key.chmod(0o644)


def test_tls_that_cannot_begin_ends_the_start(place, certificates):
    (place / "data").mkdir()
    ended = belljar("serve", "--listen", "127.0.0.1:0", "--data-dir", place / "data",
                    env=environment(BELLJAR_SERVER_TLS_CERTIFICATE=str(certificates["first"][0]),
                                    BELLJAR_SERVER_TLS_KEY=str(certificates["second"][1])))
    assert ended.returncode == 1 and b"server.tls_key" in ended.stderr
    ended = belljar("serve", env=environment(BELLJAR_SERVER_TLS_KEY="key.pem"))
    assert ended.returncode == 1 and b"server.tls_certificate" in ended.stderr


def test_unix_socket(operated):
    mode = operated.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660
    assert ask(UnixConnection(operated.socket), "GET", "/health").status == 200
    assert ask(UnixConnection(operated.socket), "GET", "/v1/runners").status == 401
    body = json.dumps({"code": "6*7"})
    headers = {**operated.headers(), "Content-Type": "application/json"}
    answer = ask(UnixConnection(operated.socket), "POST", "/execute", body, headers)
    assert answer.json["result"] == 42


def test_unix_socket_of_another_server_is_left_alone(operated, place):
    for path, reason in ((operated.socket, b"another program listens"),
                         (operated.place / "belljar.toml", b"is no socket")):
        ended = belljar("serve", "--listen", "127.0.0.1:0", "--data-dir", place / "data",
                        env=environment(BELLJAR_SERVER_UNIX_SOCKET=str(path)))
        assert ended.returncode == 1 and reason in ended.stderr
    assert ask(UnixConnection(operated.socket), "GET", "/health").status == 200


def from_address(server, address, headers):
    connection = server.secure_connection(address=address)
    return ask(connection, "GET", "/health", None, headers).status


def test_only_trusted_proxies_are_believed(operated):
    named = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "jars.example"}
    strange = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "evil.example"}
    assert from_address(operated, "127.0.0.1", named) == 200
    assert from_address(operated, "127.0.0.1", strange) == 403
    assert from_address(operated, "127.0.0.1", {"Forwarded": "for=_a;host=evil.example"}) == 403
    assert from_address(operated, "127.0.0.2", strange) == 200
    both = {"X-Forwarded-For": "192.0.2.7", "Forwarded": "for=192.0.2.8"}
    assert from_address(operated, "127.0.0.1", both) == 400
    assert from_address(operated, "127.0.0.2", both) == 200


def test_hang_up_applies_what_can_change(operated):
    large = {"code": "1", "files": {"a.txt": "x" * (2 << 20)}}
    assert operated.request("POST", "/execute", large).status == 413
    token = "another-token-that-is-long-enough"
    reload(operated, limits={"body": "4m", "connections_per_address": 3}, sessions={"most": 7},
           auth={"tokens": [f"guest:{token}"]}, log={"level": "debug"})
    text = operated.log.read_text()
    changed = {line["key"]: line for line in log_lines(text, "a setting has changed")}
    assert (changed["limits.body"]["from"], changed["limits.body"]["to"]) == ("1m", "4m")
    assert {"auth.tokens", "log.level", "limits.connections_per_address"} <= set(changed)
    assert token not in text
    refused = log_lines(text, "a setting has changed that needs a restart")
    assert [line["key"] for line in refused] == ["sessions.most"]
    assert operated.request("POST", "/execute", large).status == 200
    guest = {"Authorization": f"Bearer {token}"}
    assert operated.request("GET", "/v1/runners", headers=guest).status == 200


def test_diagnostics_keep_their_log_when_its_level_changes(operated):
    reload(operated)
    reload(operated, log={"level": "debug"})
    assert operated.request("POST", "/execute", {"code": "6*7"}).json["result"] == 42
    log = operated.request("GET", "/v1/admin/diagnostics").json["log"]
    assert any('"message":"run"' in line for line in log)
    reload(operated)


def test_connections_of_one_address_are_limited(operated):
    reload(operated, limits={"connections_per_address": 3}, server={"trusted_proxies": []})
    held = [operated.connect() for _ in range(3)]
    with operated.connect() as refused:
        assert refused.recv(1) == b"", "closed at once"
    assert from_address(operated, "127.0.0.2", {}) == 200
    for connection in held:
        connection.close()
    reload(operated)
    assert operated.request("GET", "/health").status == 200


def test_silent_connections_are_closed(operated):
    reload(operated, limits={"idle_time": "300ms"})
    with operated.connect() as plain, unverified_context().wrap_socket(plain) as connection:
        assert connection.recv(1) == b""
    reload(operated)


def test_handshakes_run_out_of_time(operated):
    reload(operated, limits={"head_time": "300ms"})
    with operated.connect() as connection:
        connection.sendall(b"\x16\x03\x01")
        assert connection.recv(1) == b""
    reload(operated)


def test_bad_configuration_changes_nothing(operated):
    (operated.place / "belljar.toml").write_text("[limits]\nbody = 'much'\n[log]\nlevel='debug'\n")
    operated.process.send_signal(signal.SIGHUP)
    message = "the configuration is not valid; the one in force stays"
    line = wait_until(lambda: log_lines(operated.log.read_text(), message), "the complaint")[-1]
    assert "limits.body" in line["reason"]
    assert operated.request("GET", "/health").status == 200
    reload(operated)


def test_log_file_that_was_moved_is_begun_anew(operated):
    operated.log.rename(operated.place / "log.1")
    wait_until(operated.log.exists, "a new log file")
    reload(operated)
    assert log_lines(operated.log.read_text(), "the configuration was read again")


def test_log_file_can_be_cut_short(operated):
    reload(operated)
    os.truncate(operated.log, 0)
    message = "the configuration was read again"
    operated.process.send_signal(signal.SIGHUP)
    wait_until(lambda: log_lines(operated.log.read_text(), message), "the reload")
    assert b"\0" not in operated.log.read_bytes()


def test_systemd_passes_sockets_and_is_told(place):
    network = socket.create_server(("127.0.0.1", 0))
    local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    local.bind(str(place / "passed"))
    local.listen()
    manager = NotifySocket(f"@belljar-test-{os.getpid()}")
    server = ActivatedServer(place / "activated", [network, local],
                             NOTIFY_SOCKET=f"@belljar-test-{os.getpid()}", WATCHDOG_USEC="400000")
    try:
        assert manager.next("READY")["READY"] == "1"
        server.wait_for_greeting()
        assert manager.next("WATCHDOG")["WATCHDOG"] == "1"
        host, port = network.getsockname()
        connection = http.client.HTTPConnection(host, port, timeout=COMMAND_SECONDS)
        assert ask(connection, "GET", "/v1/sessions", None, server.headers).status == 200
        assert ask(UnixConnection(place / "passed"), "GET", "/health").status == 200
        server.process.send_signal(signal.SIGHUP)
        assert int(manager.next("RELOADING")["MONOTONIC_USEC"]) > 0
        assert manager.next("READY")["READY"] == "1"
        server.process.send_signal(signal.SIGTERM)
        assert manager.next("STOPPING")["STOPPING"] == "1"
        assert server.process.wait(timeout=COMMAND_SECONDS) == 0
    finally:
        server.stop()
        manager.close()
        network.close()
        local.close()
    assert (place / "passed").exists(), "it belongs to whoever made it"


def test_passed_socket_on_a_public_address_needs_a_token(place):
    network = socket.create_server(("0.0.0.0", 0))
    server = ActivatedServer(place / "activated", [network], BELLJAR_AUTH_MODE="none")
    assert server.process.wait(timeout=COMMAND_SECONDS) == 1
    assert "loopback" in server.error_file.read_text()
    network.close()
