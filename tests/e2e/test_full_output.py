"""Output that is too long for the result is kept whole and can be fetched."""

import hashlib
import os
import re
import signal
import socket
import urllib.parse

import pytest

from support_binary import environment, run_code, wait_until
from support_mcp import StdioServer, call, initialize
from support_processes import status_of

LONG = "import sys\nfor n in range(400_000): sys.stdout.write(f'{n:08}\\n')"
WHOLE = "".join(f"{n:08}\n" for n in range(400_000)).encode()
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def kept_files(server):
    directory = server.data_directory / "outputs"
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def fetch(server, uri, **headers):
    return server.request("GET", uri, headers={name.replace("_", "-"): value
                                               for name, value in headers.items()})


def test_whole_stream_can_be_fetched(server):
    record = server.execute(LONG)
    assert record["stdout_truncated"] and record["stdout_bytes"] == len(WHOLE)
    listing = fetch(server, record["full_output"]).json
    assert listing["execution_id"] == record["execution_id"]
    (stream,) = listing["streams"]
    assert (stream["name"], stream["bytes"], stream["complete"]) == ("stdout", len(WHOLE), True)
    answer = fetch(server, stream["uri"])
    assert answer.status == 200 and answer.body == WHOLE
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_bytes_are_exact_on_both_streams(server):
    code = ("import sys\nfor _ in range(5000):\n"
            "    sys.stdout.buffer.write(bytes(range(256)))\n"
            "    sys.stderr.buffer.write(bytes(range(255, -1, -1)))")
    record = server.execute(code)
    uri = record["full_output"]
    for name, piece in (("stdout", bytes(range(256))), ("stderr", bytes(range(255, -1, -1)))):
        assert fetch(server, f"{uri}/{name}").body == piece * 5000


def test_range(server):
    uri = server.execute(LONG)["full_output"] + "/stdout"
    part = fetch(server, uri, Range="bytes=900-917")
    assert (part.status, part.body) == (206, b"00000100\n00000101\n")
    assert part.headers["Content-Range"] == f"bytes 900-917/{len(WHOLE)}"
    assert fetch(server, uri, Range="bytes=-9").body == b"00399999\n"
    beyond = fetch(server, uri, Range=f"bytes={len(WHOLE)}-")
    assert beyond.status == 416 and beyond.headers["Content-Range"] == f"bytes */{len(WHOLE)}"
    head = server.request("HEAD", uri)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(WHOLE))


def test_output_that_fits_touches_no_disk(own_server):
    server = own_server()
    record = server.execute("print('x' * (1 << 20), end='')")
    assert "full_output" not in record and not record["stdout_truncated"]
    assert kept_files(server) == set()
    path = f"/v1/runs/{record['execution_id']}/output"
    for uri in (path, path + "/stdout"):
        answer = fetch(server, uri)
        assert answer.status == 404 and len(answer.json["error"]) > 20


def test_token_is_needed(server):
    uri = server.execute(LONG)["full_output"]
    for path in (uri, uri + "/stdout"):
        assert server.request("GET", path, token=False).status == 401


@pytest.mark.parametrize("path", [
    "/v1/runs/../../../../etc/passwd/output/stdout", "/v1/runs/%2e%2e/output/stdout",
    "/v1/runs/..%2f..%2ftoken/output", "/v1/runs//output/stdout", "/v1/runs/lock/output/stdout",
    "/v1/runs/00000000-0000-4000-8000-000000000000/output",
    "/v1/runs/" + "x" * 10_000 + "/output/stdout"])
def test_nothing_else_can_be_fetched(server, path):
    assert fetch(server, path).status == 404


def test_files_are_named_by_our_ids_alone(own_server):
    server = own_server()
    record = server.execute(LONG, args=["../../escape"], files={"stdout": "x"})
    assert UUID.fullmatch(record["execution_id"])
    assert kept_files(server) == {f"{record['execution_id']}/stdout"}
    for path in [server.data_directory / "outputs",
                 *(server.data_directory / "outputs").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_limit_of_a_file(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_OUTPUT_FILE="2m",
                                        BELLJAR_LIMITS_OUTPUT_FLOOD="1g"))
    record = server.execute(LONG)
    (stream,) = fetch(server, record["full_output"]).json["streams"]
    assert (stream["bytes"], stream["complete"]) == (2 << 20, False)
    assert fetch(server, stream["uri"]).body == WHOLE[:2 << 20]
    assert record["stdout_bytes"] == len(WHOLE)


def test_keeping_can_be_switched_off(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_OUTPUT_FILE="0"))
    assert "full_output" not in server.execute(LONG)
    assert kept_files(server) == set()


def test_oldest_go_first(own_server):
    server = own_server(env=environment(BELLJAR_FILES_OUTPUT_KEEP="2"))
    uris = [server.execute(LONG)["full_output"] for _ in range(3)]
    assert [fetch(server, uri).status for uri in uris] == [404, 200, 200]
    assert len(kept_files(server)) == 2


def test_space_is_bounded(own_server):
    server = own_server(env=environment(BELLJAR_FILES_OUTPUT_SPACE="8m"))
    uris = [server.execute(LONG)["full_output"] for _ in range(4)]
    assert [fetch(server, uri).status for uri in uris] == [404, 404, 200, 200]


def test_kept_across_a_restart(own_server):
    first = own_server()
    uri = first.execute(LONG)["full_output"] + "/stdout"
    assert first.stop() == 0
    second = own_server(data_directory=first.data_directory)
    assert fetch(second, uri).body == WHOLE


def test_crash_leaves_nothing_half_done(own_server):
    first = own_server()
    flood = first.start_run("import sys, time\nsys.stdout.write('x' * 3_000_000)\n"
                            "sys.stdout.flush()\ntime.sleep(1000)")
    wait_until(lambda: kept_files(first), "the output goes to a file")
    assert all(name.startswith("unfinished-") for name in kept_files(first))
    first.stop(signal.SIGKILL)
    flood.close()
    second = own_server(data_directory=first.data_directory)
    assert kept_files(second) == set()
    assert list((second.data_directory / "outputs").iterdir()) == []


def test_cancelled_run_leaves_nothing_half_done(own_server):
    server = own_server()
    flood = server.start_run("import sys, time\nsys.stdout.write('x' * 3_000_000)\n"
                             "sys.stdout.flush()\ntime.sleep(1000)")
    wait_until(lambda: kept_files(server), "the output goes to a file")
    flood.close()
    wait_until(lambda: not any("unfinished" in name for name in kept_files(server)), "it is done")


def test_public_address_is_part_of_the_link(own_server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    server = own_server(listen=address,
                        env=environment(BELLJAR_SERVER_PUBLIC_BASE_URL=f"http://{address}//"))
    record = server.execute(LONG)
    assert record["full_output"] == f"http://{address}/v1/runs/{record['execution_id']}/output"


def test_download_costs_no_memory(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_OUTPUT_FLOOD="1g"))
    code = "import os\nfor _ in range(60): os.write(1, b'x' * 1_000_000)"
    uri = server.execute(code)["full_output"] + "/stdout"
    before = memory_peak(server.pid)
    for _ in range(3):
        body = fetch(server, uri).body
        assert hashlib.sha256(body).digest() == hashlib.sha256(b"x" * 60_000_000).digest()
    # A server that has just begun grows by some megabytes for other reasons.
    assert memory_peak(server.pid) - before < len(body) // 3


def memory_peak(pid):
    return int(status_of(pid)["VmHWM"].split()[0]) << 10


def test_one_run_at_the_terminal_keeps_nothing(place):
    ended = run_code(LONG, "--json")
    assert ended.returncode == 0 and b'"full_output"' not in ended.stdout
    assert list(place.iterdir()) == []


def stdio_record(server, code):
    server.ask(initialize())
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return server.ask(call(2, code))["result"]


def test_mcp_over_stdio_keeps_files_in_its_data_directory(place):
    server = StdioServer(environment(BELLJAR_SERVER_DATA_DIR=str(place / "my data")))
    result = stdio_record(server, LONG)
    uri = result["structuredContent"]["full_output"]
    assert uri in result["content"][0]["text"]
    parsed = urllib.parse.urlparse(uri)
    assert (parsed.scheme, parsed.netloc) == ("file", "")
    with open(os.path.join(urllib.parse.unquote(parsed.path), "stdout"), "rb") as file:
        assert file.read() == WHOLE
    assert server.finish()[0] == 0


def test_second_mcp_over_stdio_keeps_nothing(place):
    settings = environment(BELLJAR_SERVER_DATA_DIR=str(place / "data"))
    first = StdioServer(settings)
    assert "full_output" in stdio_record(first, LONG)["structuredContent"]
    second = StdioServer(settings)
    assert "full_output" not in stdio_record(second, LONG)["structuredContent"]
    assert (first.finish()[0], second.finish()[0]) == (0, 0)


def test_mcp_over_stdio_without_a_data_directory_keeps_nothing():
    server = StdioServer()
    assert "full_output" not in stdio_record(server, LONG)["structuredContent"]
    assert server.finish()[0] == 0
