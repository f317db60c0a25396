"""Logs that lie outside, searched inside: large, packed, rotated, damaged and hostile ones."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from support_binary import environment
from support_server import Server

MILLION = """
import sys
with open(sys.argv[1], "w") as file:
    for number in range(1_000_000):
        level = "ERROR" if number % 5000 == 7 else "INFO"
        file.write(f"2026-01-{1 + number // 40_000:02d}T12:00:00Z {level} order {number} of "
                   f"user{number}@example.com from 10.{number % 200}.0.1 paid with "
                   f"4111111111111111\\n")
"""

# As seed document 000 prints it.
EXAMPLE = '''# This code runs INSIDE the sandbox
import tools.log_store as logs
import tools.privacy as privacy

# Process large data locally
errors = logs.search_logs("payment-service", "ERROR", limit=100)

# Scrub PII before sending to LLM
safe_errors = [privacy.scrub_all_pii(e) for e in errors]

# Only return the small, clean result
print(f"Found {len(errors)} errors (sanitized):")
for err in safe_errors[:10]:
    print(err)
'''


@pytest.fixture(scope="module")
def logs(session_place):
    folder = session_place / "service-logs"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", MILLION, str(folder / "payment-service.log")],
                   check=True)
    return folder


@pytest.fixture(scope="module")
def log_server(session_place, logs):
    env = environment(BELLJAR_TOOLS_LOGS_PATH=str(logs))
    server = Server(session_place / "log-server", env=env)
    server.settle()
    yield server
    assert server.stop() == 0


@pytest.fixture
def call(log_server):
    def ask(function, *arguments, **more):
        code = (f"import json, log_store\n"
                f"log_store.{function}(*json.loads({json.dumps(json.dumps(arguments))}), "
                f"**json.loads({json.dumps(json.dumps(more))}))")
        record = log_server.execute(code)
        assert record["status"] == "ok", record["stderr"]
        return record["result"]
    return ask


def test_the_example_gives_ten_clean_lines_of_a_million(log_server):
    record = log_server.execute(EXAMPLE)
    assert record["status"] == "ok", record["stderr"]
    lines = record["stdout"].splitlines()
    assert lines[0] == "Found 100 errors (sanitized):" and len(lines) == 11
    for line in lines[1:]:
        assert "[EMAIL_REDACTED]" in line and "[IP_REDACTED]" in line and "[CC_REDACTED]" in line
        assert "@example.com" not in line and "4111" not in line
    # The latest hundred, the oldest of them first.
    assert lines[1].startswith("2026-01-13T12:00:00Z ERROR order 500007 of ")


def test_only_the_lines_asked_for_come_back(call):
    found = call("search_logs", "payment-service", "error", limit=3)
    assert [line.split(" of ")[0].split()[-1] for line in found] == ["985007", "990007", "995007"]
    assert call("search_logs", "payment-service", "order 17 ") == [
        "2026-01-01T12:00:00Z INFO order 17 of user17@example.com from 10.17.0.1 paid with "
        "4111111111111111"]
    assert call("search_logs", "payment-service", "xyzzy") == [
        "No logs found for service 'payment-service' matching 'xyzzy'"]
    assert call("search_logs", "nobody", "x") == [
        "No logs found for service 'nobody' matching 'x'"]


def test_levels_and_times(call):
    assert len(call("search_logs", "payment-service", "", limit=1000, log_level="error")) == 200
    found = call("search_logs", "payment-service", "order", limit=1,
                 until="2026-01-02T00:00:00Z")
    assert "order 39999 " in found[0]
    assert call("search_logs", "payment-service", "ERROR", since="2027-01-01") == [
        "No logs found for service 'payment-service' matching 'ERROR'"]


def test_errors_are_counted_by_type(call, logs):
    told = call("get_error_summary", "payment-service", hours=1_000_000)
    assert told.pop("error_rate_per_hour") == 0.0
    assert told == {"service": "payment-service", "time_range_hours": 1_000_000,
                    "total_errors": 200, "errors_by_type": {"Other": 200},
                    "most_frequent_error": "Other"}
    (logs / "typed.log").write_text(
        "2099-01-01 00:00:00 ERROR KeyError: a\n  traceback of it\n"
        "2099-01-01 00:00:01 WARN KeyError: b\n2099-01-01 00:00:02 FATAL KeyError: c\n"
        "2000-01-01 00:00:02 ERROR ValueError: old\n")
    told = call("get_error_summary", "typed")
    assert (told["total_errors"], told["errors_by_type"]) == (2, {"KeyError": 2})
    assert told["error_rate_per_hour"] == 0.08


def test_the_type_of_an_error_is_a_word(call, logs):
    (logs / "words.log").write_text(
        "ERROR my.app.DatabaseError: a\nERROR IOError.Failure.of it\nERROR Error: none\n"
        "ERROR 7.x1Timeout\nERROR AnErrors NotFoundException2\nERROR a Thing.Error.ValueError!\n")
    told = call("get_error_summary", "words")
    assert told["errors_by_type"] == {"my.app.DatabaseError": 1, "IOError.Failure": 1, "Other": 2,
                                      "x1Timeout": 1, "Thing.Error.ValueError": 1}


@pytest.mark.parametrize("line, count", [("ERROR " + "a." * 5000, 500), ("ERROR", 200_000)],
                         ids=["many words", "no times"])
def test_no_line_takes_longer_than_its_length(log_server, logs, line, count):
    (logs / "long.log").write_text(f"{line}\n" * count)
    record = log_server.execute("import log_store\nlog_store.get_error_summary('long')",
                                timeout=60)
    assert record["status"] == "ok", record["stderr"]
    assert record["result"]["errors_by_type"] == {"Other": count}
    assert record["usage"]["cpu_seconds"] < 8


def test_the_end_is_read_from_the_end(call):
    lines = call("tail_logs", "payment-service", lines=2)
    assert ["999998" in lines[0], "999999" in lines[1]] == [True, True]


def test_parts_are_one_log(call, logs):
    (logs / "parts.log").write_text("2026-03-05 INFO newest x\n")
    (logs / "parts.log.1").write_text("2026-03-04 INFO x\n2026-03-04 INFO last of 1 x\n")
    with gzip.open(logs / "parts.log.2.gz", "wt") as file:
        file.write("2026-03-03 INFO packed x\n" * 3)
    with open(logs / "parts.log.10.gz", "wb") as file:  # several members, one after the other
        for word in (b"oldest x\n", b"second x\n"):
            file.write(gzip.compress(word))
    (logs / "partsother.log").write_text("not this x\n")
    (logs / "parts.log.bak").write_text("not this x\n")
    found = call("search_logs", "parts", "X", limit=10)
    assert found == ["oldest x", "second x", *["2026-03-03 INFO packed x"] * 3,
                     "2026-03-04 INFO x", "2026-03-04 INFO last of 1 x",
                     "2026-03-05 INFO newest x"]
    assert call("search_logs", "parts", "x", limit=2) == found[-2:]
    assert call("search_logs", "parts", "x", limit=5) == found[-5:]
    assert call("tail_logs", "parts", lines=4) == found[-4:]


def test_dates_in_names_are_parts(call, logs):
    for name in ("dated.log-20260102", "dated.log-20260110", "dated.log.2026-01-20"):
        (logs / name).write_text(f"{name} x\n")
    assert call("search_logs", "dated", "x") == [
        "dated.log-20260102 x", "dated.log-20260110 x", "dated.log.2026-01-20 x"]
    assert "dated" in call("list_services")


def test_lines_of_json(call, logs):
    entries = [{"time": "2099-01-01T00:00:00Z", "level": "info", "msg": "started, no ERROR"},
               {"time": "2099-01-01T00:00:01Z", "level": "error", "msg": "Grüße",
                "error": {"type": "DatabaseTimeout"}},
               {"time": "2099-01-01T00:00:02Z", "level": 50, "msg": "as Node does it"}]
    (logs / "lines.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries))
    assert [json.loads(line)["msg"] for line in call("search_logs", "lines", "", log_level="ERROR")
            ] == ["Grüße", "as Node does it"]
    assert len(call("search_logs", "lines", "grüße")) == 1
    assert json.loads(call("search_logs", "lines", "GRÜSSE".replace("SS", "ß"))[0])["level"]
    told = call("get_error_summary", "lines")
    assert told["errors_by_type"] == {"DatabaseTimeout": 1, "Other": 1}


def test_bytes_that_are_no_text(call, logs):
    (logs / "binary.log").write_bytes(bytes(range(256)) * 1000 + b"\nERROR \xff needle\n")
    assert call("search_logs", "binary", "needle") == ["ERROR \ufffd needle"]
    (logs / "one_line.log").write_bytes(b"x" * (20 << 20) + b" needle")
    found = call("search_logs", "one_line", "needle")
    assert len(found) == 1 and len(found[0]) <= 10_000
    (logs / "empty.log").write_bytes(b"")
    assert call("tail_logs", "empty") == []


def test_a_damaged_archive_is_read_as_far_as_it_goes(log_server, logs):
    packed = gzip.compress(b"begin x\n" + os.urandom(100_000).hex().encode() + b"\nend x\n")
    (logs / "damaged.log.1.gz").write_bytes(packed[:len(packed) // 2])
    (logs / "damaged.log").write_text("current x\n")
    (logs / "damaged.log.2.gz").write_bytes(b"no archive at all")
    record = log_server.execute("import log_store\nlog_store.search_logs('damaged', ' x')")
    assert record["result"] == ["begin x", "current x"]
    assert "damaged.log.2.gz is damaged" in record["stderr"]
    assert "damaged.log.1.gz ends before its end" in record["stderr"]


ROTATING = """
import os, log_store
open('logs/large.log', 'w').write('line\\n' * 4_000_000)
found = []
for round in range(3):
    found.append(len(log_store.search_logs('mine', 'line', limit=10_000)))
    os.replace('logs/mine.log', f'logs/mine.log.{3 - round}')
    open('logs/mine.log', 'w').write('line\\n')
block = log_store._plain_blocks(os.open('logs/large.log', os.O_RDONLY), None)
first = len(next(block).data)
os.truncate('logs/large.log', 10)
[found, first, sum(len(one.data) for one in block)]
"""


def test_files_that_change_while_they_are_read(server):
    record = server.execute(ROTATING, files={"logs/mine.log": "line\n" * 5})
    assert record["status"] == "ok", record["stderr"]
    counts, first, rest = record["result"]
    assert counts == [5, 6, 7] and first > 8_000_000 and rest <= 10


@pytest.mark.parametrize("name", ["../etc/passwd", "a/b", "", ".hidden", "a\x00b", "a\nb",
                                  "x" * 300, 7, None, "..", "/etc/shadow"])
def test_a_service_is_a_plain_name(log_server, name):
    record = log_server.execute(f"import log_store\nlog_store.search_logs({name!r}, 'x')")
    assert record["error"]["type"] == "ValueError"


def test_what_is_no_log_file_is_no_log(call, logs):
    (logs / "folder.log").mkdir(exist_ok=True)
    os.mkfifo(logs / "pipe.log")
    (logs / "away.log").symlink_to("/nonexistent/away.log")
    (logs / "unreadable.log").write_text("secret x\n")
    (logs / "unreadable.log").chmod(0o600)
    for name in ("folder", "pipe", "away", "unreadable"):
        assert call("search_logs", name, "x") == [
            f"No logs found for service '{name}' matching 'x'"]


def test_logs_cannot_be_written(log_server):
    record = log_server.execute("open('/logs/payment-service.log', 'a')")
    assert "Read-only file system" in record["error"]["message"], record["error"]
    record = log_server.execute("import fcntl\nlog = open('/logs/payment-service.log')\n"
                                "fcntl.flock(log, fcntl.LOCK_EX)\n'ok'")
    assert record["result"] == "ok"  # of the jar's own view of it, which no writer of logs meets


GIGABYTES = """
import os, sys
line = "2026-01-01T12:00:00Z INFO order 17 of somebody, nothing to see here, go on please\\n"
block = (line * (1 + (8 << 20) // len(line))).encode()
with open(sys.argv[1], "wb") as file:
    file.write(b"2025-01-01T00:00:00Z ERROR FirstError: needle\\n")
    for _ in range(int(sys.argv[2]) // len(block) + 1):
        file.write(block)
"""


def test_a_gigabyte_is_searched_in_little_memory(log_server, logs, capsys):
    path = logs / "huge.log"
    subprocess.run([sys.executable, "-c", GIGABYTES, str(path), str(1 << 30)], check=True)
    code = ("import log_store\n"
            "[log_store.search_logs('huge', 'needle'), log_store.tail_logs('huge', 1)]")
    try:
        record = log_server.execute(code, timeout=60, memory_limit="128m")
    finally:
        size = path.stat().st_size
        path.unlink()
    assert record["status"] == "ok", record["stderr"]
    assert record["result"][0] == ["2025-01-01T00:00:00Z ERROR FirstError: needle"]
    rate = size / record["usage"]["cpu_seconds"] / 1e6
    with capsys.disabled():
        print(f"\n[log_store: {size / 1e9:.2f} GB, {rate:.0f} MB per second of processor, "
              f"{record['usage']['memory_peak_bytes'] / 1e6:.0f} MB at most]")
    assert rate > 50
