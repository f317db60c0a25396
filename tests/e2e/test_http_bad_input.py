"""Bad input gets a 4xx with a sentence, and the server goes on."""

import json
import subprocess

import pytest

from support_binary import COMMAND_SECONDS, environment
from support_server import status_of_bytes

BODY_LIMIT = 16 << 20
HEADER_LIMIT = 32 << 10


@pytest.fixture(autouse=True)
def still_answers(open_server):
    yield
    assert open_server.execute("6*7")["result"] == 42
    assert open_server.process.poll() is None


def refusal(answer, *statuses):
    assert answer.status in statuses, answer
    assert list(answer.json) == ["error"]
    sentence = answer.json["error"]
    assert len(sentence) > 20, sentence
    for secret in ("/work/", "/proc", "/root", "errno", "boost", ".cpp"):
        assert secret not in sentence, sentence
    return sentence


MALFORMED = {
    "empty": b"",
    "blank": b"  \n ",
    "cut": b'{"code": "1"',
    "cut in a text": b'{"code": "1',
    "text after the end": b'{"code": "1"} x',
    "two documents": b'{"code": "1"}{"code": "2"}',
    "single quotes": b"{'code': '1'}",
    "comment": b'{"code": "1" /* no */}',
    "trailing comma": b'{"code": "1",}',
    "not a number": b'{"code": "1", "timeout": NaN}',
    "infinite": b'{"code": "1", "timeout": Infinity}',
    "plain text": b"print(6*7)",
    "array": b'["code"]',
    "text": b'"code"',
    "number": b"42",
    "null": b"null",
    "form": b"code=print(1)",
    "NUL byte": b'{"code": "1\x00"}',
    "NUL byte at the end": b'{"code": "1"}\x00',
    "control character": b'{"code": "1\n2"}',
    "invalid UTF-8": b'{"code": "\xff\xfe"}',
    "overlong UTF-8": b'{"code": "\xc0\xaf"}',
    "surrogate in UTF-8": b'{"code": "\xed\xa0\x80"}',
    "cut UTF-8": b'{"code": "\xe2\x82"}',
    "UTF-16": '{"code": "1"}'.encode("utf-16"),
    "deep arrays": b"[" * 10_000 + b"]" * 10_000,
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep and cut": b"[" * 1_000_000,
    "deep value": b'{"code": "1", "args": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "same key twice": b'{"code": "print(1)", "code": "print(2)"}',
    "same key twice, once escaped": b'{"code": "print(1)", "c\\u006fde": "print(2)"}',
    "same variable twice": b'{"code": "1", "env": {"A": "1", "A": "2"}}',
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_body(open_server, name):
    refusal(open_server.request("POST", "/execute", MALFORMED[name]), 400)


WRONG = {
    "no code": {},
    "code is a number": {"code": 1},
    "code is null": {"code": None},
    "code is an array": {"code": ["print(1)"]},
    "NUL in code": {"code": "print(1)\0"},
    "unknown argument": {"code": "1", "tiemout": 5},
    "empty name": {"code": "1", "": 5},
    "timeout is a text": {"code": "1", "timeout": "5"},
    "timeout is true": {"code": "1", "timeout": True},
    "timeout is 0": {"code": "1", "timeout": 0},
    "timeout is tiny": {"code": "1", "timeout": 1e-300},
    "timeout is negative": {"code": "1", "timeout": -1},
    "timeout is -0.0": {"code": "1", "timeout": -0.0},
    "timeout is more than a day": {"code": "1", "timeout": 86401},
    "timeout is absurd": {"code": "1", "timeout": 1e308},
    "timeout is a huge integer": {"code": "1", "timeout": 10 ** 40},
    "timeout is the largest integer": {"code": "1", "timeout": 2 ** 64 - 1},
    "memory is a number": {"code": "1", "memory_limit": 256},
    "memory is no size": {"code": "1", "memory_limit": "lots"},
    "memory is negative": {"code": "1", "memory_limit": "-1m"},
    "memory is too little": {"code": "1", "memory_limit": "1k"},
    "memory is too much": {"code": "1", "memory_limit": "999t"},
    "memory is absurd": {"code": "1", "memory_limit": "9" * 100},
    "stdin is a number": {"code": "1", "stdin": 5},
    "args is a text": {"code": "1", "args": "a b"},
    "args holds a number": {"code": "1", "args": ["a", 5]},
    "NUL in args": {"code": "1", "args": ["a\0b"]},
    "too many args": {"code": "1", "args": ["a"] * 100_000},
    "env is an array": {"code": "1", "env": ["A=1"]},
    "env holds a number": {"code": "1", "env": {"A": 1}},
    "env with = in a name": {"code": "1", "env": {"A=B": "1"}},
    "env with an empty name": {"code": "1", "env": {"": "1"}},
    "NUL in env": {"code": "1", "env": {"A": "\0"}},
    "files is a text": {"code": "1", "files": "a.txt"},
    "file above": {"code": "1", "files": {"../a": "x"}},
    "file above in the middle": {"code": "1", "files": {"a/../../b": "x"}},
    "file with full path": {"code": "1", "files": {"/etc/passwd": "x"}},
    "file without name": {"code": "1", "files": {"": "x"}},
    "file named .": {"code": "1", "files": {".": "x"}},
    "file that ends with /": {"code": "1", "files": {"a/": "x"}},
    "NUL in a file name": {"code": "1", "files": {"a\0b": "x"}},
    "long file name": {"code": "1", "files": {"a" * 300: "x"}},
    "file content is a number": {"code": "1", "files": {"a": 5}},
    "language is a number": {"code": "1", "language": 5},
    "language is unknown": {"code": "1", "language": "cobol"},
    "language is long": {"code": "1", "language": "x" * 100_000},
    "network": {"code": "1", "network": True},
    "session": {"code": "1", "session": "yes"},
    "profile is unknown": {"code": "1", "profile": "bsic"},
    "profile is a number": {"code": "1", "profile": 5},
    "network is a text": {"code": "1", "network": "yes"},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_argument(open_server, name):
    refusal(open_server.request("POST", "/execute", WRONG[name]), 400, 422)


def test_lone_surrogate_is_refused(open_server):
    refusal(open_server.request("POST", "/execute", b'{"code": "\'\\ud800\'"}'), 400)


def test_unknown_argument_is_named(open_server):
    sentence = refusal(open_server.request("POST", "/execute", WRONG["unknown argument"]), 400)
    assert "tiemout" in sentence and "timeout" in sentence


def test_bad_base64_names_the_argument(open_server):
    arguments = {"code": "1", "files": {"a": {"base64": "!!"}}}
    assert "files" in refusal(open_server.request("POST", "/execute", arguments), 400)


def test_unknown_language_names_the_known(open_server):
    sentence = refusal(open_server.request("POST", "/execute", WRONG["language is unknown"]), 422)
    assert "cobol" in sentence and "python" in sentence


def test_too_long_timeout_names_the_longest(open_server):
    answer = open_server.request("POST", "/execute", WRONG["timeout is absurd"])
    assert "300" in refusal(answer, 400)


def test_too_much_code_is_413(open_server):
    answer = open_server.request("POST", "/execute", {"code": "#" * ((1 << 20) + 1)})
    assert "1048576" in refusal(answer, 413)


@pytest.mark.parametrize("path", [
    "/nothing", "/execute/", "/health/x", "/%2e%2e/etc", "//", "/mcp/.."])
def test_unknown_path_is_404(open_server, path):
    refusal(open_server.request("GET", path), 404)


@pytest.mark.parametrize(("method", "path", "allowed"), [
    ("GET", "/execute", "POST"), ("PUT", "/execute", "POST"), ("DELETE", "/execute", "POST"),
    ("POST", "/health", "GET"), ("DELETE", "/ready", "GET"), ("GET", "/mcp", "POST"),
    ("OPTIONS", "/execute", "POST"), ("NONSENSE", "/execute", "POST")])
def test_wrong_method_is_405_and_names_the_right(open_server, method, path, allowed):
    answer = open_server.request(method, path)
    refusal(answer, 405)
    assert allowed in answer.headers["Allow"]


@pytest.mark.parametrize("content_type", [
    "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json",
    "application/jsonx", "text/plain; application/json"])
def test_other_content_is_415(open_server, content_type):
    answer = open_server.request("POST", "/execute", b'{"code": "1"}',
                                 {"Content-Type": content_type})
    refusal(answer, 415)


def test_json_with_charset_is_fine(open_server):
    answer = open_server.request("POST", "/execute", b'{"code": "6*7"}',
                                 {"Content-Type": "Application/JSON; charset=utf-8"})
    assert answer.status == 200


def test_body_at_the_limit_is_read(open_server):
    body = json.dumps({"code": "6*7", "stdin": ""}).encode()
    body = body[:-2] + b"x" * (BODY_LIMIT - len(body)) + body[-2:]
    assert len(body) == BODY_LIMIT
    assert open_server.request("POST", "/execute", body).status == 200


@pytest.mark.parametrize("headers", [
    ["-H", "Expect:"], ["-H", "Expect: 100-continue"],
    ["-H", "Expect:", "-H", "Transfer-Encoding: chunked"]],
    ids=["plain", "after asking", "chunked"])
def test_oversize_body_is_413_for_curl(open_server, place, headers):
    file = place / "body"
    file.write_bytes(b'{"code": "' + b"x" * (BODY_LIMIT + (4 << 20)) + b'"}')
    command = ["curl", "-s", "-S", "-o", str(place / "answer"), "-w", "%{http_code}",
               "-H", "Content-Type: application/json", *headers, "--data-binary", f"@{file}",
               f"http://{open_server.address}/execute"]
    ended = subprocess.run(command, capture_output=True, env=environment(), check=False,
                           timeout=COMMAND_SECONDS)
    assert (ended.stdout, ended.returncode) == (b"413", 0), ended.stderr
    assert "16777216" in json.loads((place / "answer").read_bytes())["error"]


def head(server, *lines):
    return "\r\n".join(["POST /execute HTTP/1.1", f"Host: {server.address}",
                        "Content-Type: application/json", *lines, "", ""]).encode()


@pytest.mark.parametrize("length", [BODY_LIMIT + 1, 10 ** 12, 2 ** 63, 2 ** 64 - 1])
def test_announced_oversize_body_is_413_at_once(open_server, length):
    received = open_server.raw(head(open_server, f"Content-Length: {length}"))
    assert status_of_bytes(received) == 413


@pytest.mark.parametrize("line", ["GET /health", "POST /health", "GET /openapi.json"])
def test_a_body_is_413_where_everybody_may_ask(open_server, line):
    lines = [f"{line} HTTP/1.1", f"Host: {open_server.address}", "Content-Length: 1000000"]
    received = open_server.raw("\r\n".join([*lines, "", ""]).encode())
    assert status_of_bytes(received) == 413


@pytest.mark.parametrize("rest", [b"3;" + b"x" * (1 << 20), b"0\r\nA: " + b"x" * (1 << 20)],
                         ids=["between chunks", "behind the last"])
def test_an_endless_line_of_a_chunked_body_is_400(open_server, rest):
    received = open_server.raw(head(open_server, "Transfer-Encoding: chunked") + rest)
    assert status_of_bytes(received) == 400


def test_announced_oversize_body_is_not_asked_for(open_server):
    received = open_server.raw(
        head(open_server, f"Content-Length: {BODY_LIMIT + 1}", "Expect: 100-continue"))
    assert status_of_bytes(received) == 413


def test_oversize_headers_are_431(open_server):
    received = open_server.raw(head(open_server, "X-Much: " + "x" * (HEADER_LIMIT + 1000)))
    assert status_of_bytes(received) == 431


def test_too_many_headers_are_431(open_server):
    received = open_server.raw(head(open_server, *(f"X-{n}: y" for n in range(10_000))))
    assert status_of_bytes(received) == 431


def test_oversize_target_is_refused(open_server):
    received = open_server.raw(b"GET /" + b"x" * (HEADER_LIMIT * 2) + b" HTTP/1.1\r\n\r\n")
    assert status_of_bytes(received) in (400, 414, 431)


GARBAGE = {
    "words": b"hello there\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + b"\r\n\r\n" + bytes(200),
    "zeros": bytes(4096),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9": b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "no version": b"GET /health\r\n\r\n",
    "bad header": b"GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
    "space before colon": b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "NUL in a header": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\x00b\r\n\r\n",
    "negative length": b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "two lengths": (b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                    b"Content-Length: 2\r\n\r\n12"),
    "length and chunks": (b"POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                          b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "bad chunk": (b"POST /execute HTTP/1.1\r\nHost: localhost\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_400(open_server, name):
    received = open_server.raw(GARBAGE[name])
    assert status_of_bytes(received) == 400
    assert b"Connection: close" in received


def test_client_that_leaves_at_once_does_no_harm(open_server):
    for data in (b"", b"GET", b"POST /execute HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"):
        with open_server.connect() as connection:
            connection.sendall(data)


def test_oversize_body_is_413_for_a_client_that_sends_before_it_reads(open_server):
    body = b'"' + b"x" * (BODY_LIMIT + (4 << 20)) + b'"'
    assert "16777216" in refusal(open_server.request("POST", "/execute", body), 413)
