"""Addresses of files that need no token."""

import hashlib
import hmac
import re
import time
import urllib.parse

import pytest

from support_files import SECRET, Files, as_caller, environment_for_files, path_of, quoted
from support_server import Server


@pytest.fixture(scope="module")
def service(session_place):
    server = Server(session_place / "signed", env=environment_for_files())
    server.settle()
    yield server
    server.stop()


@pytest.fixture
def files(service):
    return Files(service, "one")


def fetch(service, url, method="GET", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return service.request(method, path_of(url), headers=named, token=False)


def test_an_address_is_enough(service, files):
    files.put("d/größe ß.txt", b"content")
    signed = files.sign("d/größe ß.txt")
    assert signed["url"].startswith(f"http://{service.address}/files/")
    assert "one" not in urllib.parse.parse_qs(signed["url"].split("?")[1])["by"]
    answer = fetch(service, signed["url"])
    assert (answer.status, answer.body) == (200, b"content")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert fetch(service, signed["url"], "HEAD").headers["Content-Length"] == "7"
    assert fetch(service, signed["url"], Range="bytes=1-2").body == b"on"
    assert fetch(service, signed["url"], "PUT").status == 405
    lifetime = time.mktime(time.strptime(signed["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.mktime(
        time.gmtime())
    assert 3500 < lifetime <= 3600


def test_nothing_without_a_signature(service, files):
    files.put("a", b"x")
    place = f"/files/{quoted(files.id)}/a"
    for query in ("", "?sig=", "?sig=" + "0" * 64, "?exp=9999999999&sig=" + "0" * 64, "?x",
                  "?sig=%zz", "?by=AAAA&sig=" + "0" * 64, "?sig=" + "0" * 5000):
        there = service.request("GET", place + query, token=False)
        absent = service.request("GET", place + "b" + query, token=False)
        assert there.status == absent.status == 403, query
        assert there.body == absent.body


def test_no_part_can_be_changed(service, files):
    files.put("a", b"x")
    files.put("b", b"y")
    url = files.sign("a")["url"]
    fields = dict(urllib.parse.parse_qsl(url.split("?")[1]))
    stem = url.split("?")[0]

    def status(place=stem, **changes):
        kept = {name: value for name, value in {**fields, **changes}.items() if value}
        return fetch(service, f"{place}?{urllib.parse.urlencode(kept)}").status

    assert status() == 200
    assert status(place=stem[:-1] + "b") == 403
    assert status(exp=str(int(fields["exp"]) + 1)) == 403
    assert status(exp=None) == 403
    assert status(exp="0" + fields["exp"]) == 403
    assert status(by=None) == 403
    assert status(once="1") == 403
    assert status(sig=fields["sig"].upper()) == 403
    assert status(sig=fields["sig"][:-1]) == 403
    assert status(more="1") == 403
    assert fetch(service, url + "&sig=" + fields["sig"]).status == 403
    of_two = Files(service, "two", files.id)
    of_two.put("a", b"of two")
    other = dict(urllib.parse.parse_qsl(of_two.sign("a")["url"].split("?")[1]))
    assert status(by=other["by"]) == 403
    assert fetch(service, of_two.sign("a")["url"]).body == b"of two"


def test_an_address_ends(service, files):
    files.put("a", b"x")
    url = files.sign("a", expires_in=1)["url"]
    end = int(re.search(r"exp=(\d+)", url).group(1))
    while time.time() < end:
        time.sleep(0.05)
    over = fetch(service, url)
    assert over.status == 403
    assert over.body == fetch(service, url[:-1] + ("1" if url[-1] == "0" else "0")).body
    asked = files.sign("a", expires_in=315_360_000)["url"]  # a week is the most
    assert int(re.search(r"exp=(\d+)", asked).group(1)) <= time.time() + 7 * 24 * 3600
    assert "exp=" in files.sign("a", expires_in="never")["url"]


def test_an_address_for_one_use(service, files):
    files.put("a", b"x")
    url = files.sign("a", single_use=True)["url"]
    assert fetch(service, url, "HEAD").status == 200
    assert fetch(service, url).body == b"x"
    assert fetch(service, url).status == 403
    assert fetch(service, files.sign("a", single_use=True)["url"]).body == b"x"


def test_a_file_that_is_gone(service, files):
    url = files.sign("later.txt")["url"]
    assert fetch(service, url).status == 404
    files.put("later.txt", b"here")
    assert fetch(service, url).body == b"here"
    files.delete("later.txt")
    assert fetch(service, url).status == 404
    files.run("import os; os.symlink('/etc/passwd', 'later.txt')")
    assert fetch(service, url).status == 404


def test_orders_that_cannot_be(files):
    for bad in ({}, {"path": "../x"}, {"path": "/x"}, {"path": 1}, {"path": "a", "expires_in": 0},
                {"path": "a", "expires_in": "soon"}, {"path": "a", "expires_in": 1e9},
                {"path": "a", "method": "PUT"}, {"path": "a", "more": 1},
                {"path": "a", "single_use": "yes"}):
        assert files.ask("POST", "/files:sign", bad).status == 400, bad


def test_results_name_addresses(service, files):
    record = files.run("open('plot.txt', 'w').write('drawn')")
    (file,) = record["files"]
    assert fetch(service, file["url"]).body == b"drawn"
    assert file["uri"].startswith("belljar://")
    (gone,) = files.run("import os; os.remove('plot.txt')")["files"]
    assert gone["change"] == "deleted" and not gone.get("url")


def test_tools_of_the_older_dialect_name_addresses(service, files):
    def tool(name, arguments):
        answer = service.request("POST", "/mcp", {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": name, "arguments": {"conversationId": files.id, **arguments}}},
            {**as_caller("one"), "Accept": "application/json, text/event-stream"})
        assert answer.status == 200, answer
        text = answer.body.decode()
        return re.search(r"http://[^\"\\]+/files/[^\"\\]+", text.replace("\\u0026", "&")).group(0)

    url = tool("upload_file", {"filename": "up.txt", "content": "aGVsbG8="})
    assert fetch(service, url).body == b"hello"
    url = tool("sandbox.run_code", {"language": "python", "code": "print(1)"})
    assert fetch(service, url).body == b"hello"


def legacy(conversation, name):
    return hmac.new(SECRET.encode(), f"{conversation}/{name}".encode(), hashlib.sha256).hexdigest()


def test_the_form_without_an_end(service):
    nameless = Files(service)
    nameless.put("plot.png", b"picture")
    place = f"/files/{quoted(nameless.id)}/plot.png"
    signature = legacy(nameless.id, "plot.png")
    assert service.request("GET", f"{place}?sig={signature}", token=False).body == b"picture"
    wrong = legacy(nameless.id, "plot.pn")
    assert service.request("GET", f"{place}?sig={wrong}", token=False).status == 403
    of_one = Files(service, "one")
    of_one.put("plot.png", b"of one")
    answer = service.request("GET", f"/files/{quoted(of_one.id)}/plot.png"
                             f"?sig={legacy(of_one.id, 'plot.png')}", token=False)
    assert answer.status == 404


def test_the_older_form_is_off_by_default_and_the_secret_is_kept(own_server):
    server = own_server()
    files = Files(server)
    files.put("a", b"x")
    secret_file = server.data_directory / "file_secret"
    assert secret_file.stat().st_mode & 0o777 == 0o600
    secret = secret_file.read_text().strip()
    signature = hmac.new(secret.encode(), f"{files.id}/a".encode(), hashlib.sha256).hexdigest()
    answer = server.request("GET", f"/files/{quoted(files.id)}/a?sig={signature}", token=False)
    assert answer.status == 403
    url = files.sign("a", expires_in=600)["url"]
    assert fetch(server, url).body == b"x"
    server.stop()
    again = own_server(data_directory=server.data_directory)
    assert fetch(again, url).body == b"x"
