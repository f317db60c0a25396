"""The files of a conversation over HTTP: read, written, listed, moved, deleted, one at a time."""

import fcntl
import hashlib
import json
import os
import threading
import time

import pytest

from support_files import Files, environment_for_files
from support_server import Server


@pytest.fixture(scope="module")
def service(session_place):
    server = Server(session_place / "files", env=environment_for_files())
    server.settle()
    yield server
    server.stop()


@pytest.fixture
def files(service):
    return Files(service)


def test_a_file_is_written_read_and_replaced(files):
    made = files.put("d/größe 😀.txt", b"one")
    assert made.status == 201, made
    tag = made.headers["ETag"]
    assert made.json["path"] == "d/größe 😀.txt" and made.json["size"] == 3
    read = files.get("d/größe 😀.txt")
    assert (read.status, read.body) == (200, b"one")
    assert read.headers["ETag"] == tag
    assert read.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert read.headers["Content-Disposition"].startswith("inline; filename=")
    assert "filename*=UTF-8''gr%C3%B6%C3%9Fe%20%F0%9F%98%80.txt" in read.headers[
        "Content-Disposition"]
    assert read.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in read.headers["Content-Security-Policy"]
    assert read.headers["Last-Modified"].endswith("GMT")
    replaced = files.put("d/größe 😀.txt", b"two!")
    assert replaced.status == 204 and replaced.headers["ETag"] != tag
    assert files.get("d/größe 😀.txt").body == b"two!"


def test_head_and_stat_tell_of_a_file(files):
    files.put("a.png", b"x" * 1000)
    head = files.ask("HEAD", files.at("a.png"))
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == "1000"
    assert head.headers["Content-Type"] == "image/png"
    told = files.ask("GET", files.at("a.png") + "?stat=true").json
    assert told["sha256"] == hashlib.sha256(b"x" * 1000).hexdigest()
    assert (told["size"], told["mime"], told["directory"]) == (1000, "image/png", False)
    assert files.ask("HEAD", files.at("b.png")).status == 404


def test_ranges(files):
    content = bytes(range(256)) * 8
    tag = files.put("data.bin", content).headers["ETag"]
    part = files.get("data.bin", Range="bytes=10-19")
    assert (part.status, part.body) == (206, content[10:20])
    assert part.headers["Content-Range"] == f"bytes 10-19/{len(content)}"
    assert files.get("data.bin", Range="bytes=-5").body == content[-5:]
    assert files.get("data.bin", Range="bytes=9999-").status == 416
    assert files.get("data.bin", Range="bytes=0-1,5-6").status == 200
    assert files.get("data.bin", Range="bytes=10-19", If_Range=tag).status == 206
    assert files.get("data.bin", Range="bytes=10-19", If_Range='"other"').body == content


def test_conditions_of_reading(files):
    tag = files.put("a", b"x").headers["ETag"]
    assert files.get("a", If_None_Match=tag).status == 304
    assert files.get("a", If_None_Match=f'"x", W/{tag}').body == b""
    assert files.get("a", If_None_Match='"x"').status == 200
    assert files.get("a", If_Match='"x"').status == 412
    assert files.get("a", If_Match="nonsense").status == 400
    since = files.get("a").headers["Last-Modified"]
    assert files.get("a", If_Modified_Since=since).status == 304


def test_conditions_of_writing(files):
    assert files.put("a", b"1", If_Match="*").status == 412
    made = files.put("a", b"1", If_None_Match="*")
    assert made.status == 201
    assert files.put("a", b"2", If_None_Match="*").status == 412
    tag = made.headers["ETag"]
    assert files.put("a", b"2", If_Match='"another"').status == 412
    assert files.put("a", b"2", If_Match=f'"another", {tag}').status == 204
    assert files.put("a", b"3", If_Match=tag).status == 412
    assert files.put("a", b"3", If_None_Match=tag).status == 204
    assert files.get("a").body == b"3"
    now = files.get("a").headers["ETag"]
    assert files.put("a", b"4", If_None_Match=now).status == 412
    assert files.delete("a", If_Match=tag).status == 412
    assert files.ask("PATCH", files.at("a"), {"to": "b"}, If_Match=tag).status == 412
    assert files.delete("a", If_Match=now).status == 204
    assert files.put("a", b"", Content_Range="bytes 0-1/2").status == 400
    assert files.put("a", b"", Content_Encoding="gzip").status == 400


def test_the_tag_changes_with_what_a_program_writes(files):
    tag = files.put("a.txt", b"one").headers["ETag"]
    files.run("open('a.txt', 'w').write('two')")
    changed = files.get("a.txt")
    assert changed.body == b"two" and changed.headers["ETag"] != tag
    assert files.put("a.txt", b"x", If_Match=tag).status == 412
    assert files.put("a.txt", b"x", If_Match=changed.headers["ETag"]).status == 204


def test_lists_come_in_pages(files):
    for name in ("a", "b/c", "b/d/e", "f"):
        files.put(name, b"")
    assert files.paths() == ["a", "b/c", "b/d/e", "f"]
    assert files.paths("?path=b") == ["b/c", "b/d/e"]
    assert files.paths("?path=b&recursive=false") == ["b/c"]
    assert files.paths("?recursive=false&directories=true") == ["a", "b", "f"]
    assert files.paths("?prefix=b/d") == ["b/d/e"]
    seen, query = [], "?limit=3"
    while query:
        page = files.ask("GET", "/files" + query).json
        seen += [file["path"] for file in page["files"]]
        query = page["next_cursor"] and f"?limit=3&cursor={page['next_cursor']}"
    assert seen == ["a", "b/c", "b/d/e", "f"]
    for bad in ("?limit=0", "?limit=x", "?recursive=maybe", "?path=../x", "?unknown=1"):
        assert files.ask("GET", "/files" + bad).status == 400, bad


def test_moves(files):
    files.put("a", b"1")
    files.put("b", b"2")
    files.put("d/x", b"3")
    move = lambda path, **wish: files.ask("PATCH", files.at(path), wish)  # noqa: E731
    assert move("a", to="b").status == 409
    assert move("a", to="b", overwrite=True).status == 200
    assert files.get("b").body == b"1" and files.get("a").status == 404
    assert move("b", to="new/folder/c").json["path"] == "new/folder/c"
    assert move("d", to="e").status == 200
    assert files.get("e/x").body == b"3"
    assert move("e", to="e/inside").status in (400, 409)
    assert move("nothing", to="x").status == 404
    for bad in ({"to": "../x"}, {"to": "/x"}, {"to": ""}, {}, {"to": 1}, {"to": "x", "more": 1}):
        assert files.ask("PATCH", files.at("e/x"), bad).status == 400, bad
    assert files.ask("PATCH", files.at("e/x"), b"{}").status == 415
    assert files.get("e/x").body == b"3"


def test_deletes(files):
    files.put("a", b"1")
    files.put("d/x", b"2")
    files.put("d/e/y", b"3")
    assert files.delete("a").status == 204
    assert files.delete("a").status == 404
    assert files.delete("d").status == 409
    assert files.paths() == ["d/e/y", "d/x"]
    assert files.delete("d", "?recursive=true").status == 204
    assert files.paths() == []


@pytest.mark.parametrize("name", [
    "-rf", "a'b\"c", "a b", "...", ". .", "a;b&c=d?e#f", "%2e%2e", "..%2f", "e\u0301", "\U0001f600",
    "\u2215etc\u2215passwd", "\uff0e\uff0e\uff0fx", "back\\slash", "..\\..\\x", "C:\\x",
    "n" * 255, "x/" * 31 + "y"])
def test_odd_names_are_plain_names(files, name):
    assert files.put(name, b"odd").status == 201
    assert files.paths() == [name]
    assert files.get(name).body == b"odd"
    assert files.run("open('/workspace/' + input()).read()", stdin=name)["result"] == "odd"
    assert files.delete(name).status == 204


TRAVERSAL = [
    "..", "../x", "a/../../x", "%2e%2e/x", "%2E%2E", ".%2e/x", "..%2fx", "..%2Fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc/passwd", "/etc/passwd", "%2fetc%2fpasswd", "a//b", "a/", "./a", "a/./b",
    "a%00b", "%00", "a%0ab", "a%0d%0ab", "%ff", "%c0%ae%c0%ae/x", "%zz", "a%", "n" * 256,
    "/".join(["d" * 100] * 11), "x" * 4096, "x/" * 32 + "y", "%e0%80%ae%e0%80%ae"]


@pytest.mark.parametrize("path", TRAVERSAL)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_no_spelling_leads_out(files, method, path):
    body = {"PUT": b"x", "PATCH": {"to": "y"}}.get(method)
    answer = files.ask(method, "/files/" + path, body)
    assert answer.status in (400, 404), answer
    assert b"root:" not in answer.body


def test_double_encoding_stays_encoded(files):
    assert files.ask("PUT", "/files/%252e%252e%252fx", b"plain").status == 201
    assert files.paths() == ["%2e%2e%2fx"]


def test_what_a_program_plants_is_never_followed(files):
    files.run("""
import os, socket
os.symlink('/etc/passwd', 'link')
os.symlink('/etc', 'folder')
os.mkfifo('fifo')
socket.socket(socket.AF_UNIX).bind('socket')
open('real', 'w').write('real')
os.link('real', 'twin')
""")
    assert [path for path in files.paths() if path not in ("real", "twin")] == []
    for path in ("link", "folder/passwd", "fifo", "socket"):
        answer = files.get(path)
        assert answer.status == 404 and b"root:" not in answer.body
    assert files.put("link", b"mine").status == 201
    assert files.put("folder/passwd", b"mine").status == 201
    assert files.get("real").body == b"real"


def place_of(files):
    """Where the server keeps them."""
    (found,) = [path for path in files.server.data_directory.glob("conversations/*/*/files")
                if files.id in (path.parent / "about.json").read_text()]
    return found


def test_links_in_the_store_itself_do_not_exist(files):
    files.put("a", b"x")
    found = place_of(files)
    os.symlink("/etc/passwd", found / "link")
    os.symlink("/etc", found / "folder")
    os.mkfifo(found / "fifo")
    for path in ("link", "folder/passwd", "fifo"):
        assert files.get(path).status == 404
        assert files.put(path + "/x", b"").status in (400, 404, 409)
    assert files.paths() == ["a"]
    assert os.stat("/etc/passwd").st_size > 0


def test_one_writer_wins_whole(files):
    size = 300_000
    contents = [bytes([65 + number]) * size for number in range(6)]
    statuses = []

    def write(content):
        statuses.append(files.put("shared", content).status)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    read = [files.get("shared") for _ in range(10)]
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [204] * 5
    assert files.get("shared").body in contents
    assert all(one.status == 404 or one.body in contents for one in read)
    tag = files.get("shared").headers["ETag"]
    statuses.clear()

    def write_if(content):
        statuses.append(files.put("shared", content, If_Match=tag).status)

    threads = [threading.Thread(target=write_if, args=(bytes([97 + n]),)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [204] + [412] * 5


SIZE_OF_DOWNLOAD = 30_000_000


def download(files, meanwhile):
    """Everything that comes, if something happens when it has begun."""
    assert files.put("big", b"a" * SIZE_OF_DOWNLOAD).status == 201
    service = files.server
    with service.connect() as connection:
        lines = [f"GET {files.top}/files/big HTTP/1.1", f"Host: {service.address}",
                 "Connection: close",
                 *(f"{name}: {value}" for name, value in service.headers().items())]
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        received = connection.recv(65536)
        meanwhile()
        while piece := connection.recv(1 << 20):
            received += piece
    return received.split(b"\r\n\r\n", 1)[1]


def test_a_download_is_of_one_file_while_it_is_replaced(files):
    def replace():
        assert files.put("big", b"b" * 10).status == 204
        assert files.ask("PATCH", files.at("big"), {"to": "moved"}).status == 200
        assert files.delete("moved").status == 204

    body = download(files, replace)
    assert len(body) == SIZE_OF_DOWNLOAD == body.count(b"a")


def test_a_file_that_grows_or_shrinks_while_it_is_sent(files):
    def grow():
        with open(place_of(files) / "big", "ab") as file:
            file.write(b"b" * 1_000_000)

    assert download(files, grow) == b"a" * SIZE_OF_DOWNLOAD
    assert files.delete("big").status == 204
    body = download(files, lambda: os.truncate(place_of(files) / "big", 1000))
    # The kernel sends its own pages: the rest of the one in which the file now ends is zero.
    assert len(body) < SIZE_OF_DOWNLOAD and set(body) <= set(b"a\0")
    assert files.get("big").body == b"a" * 1000


def test_a_large_body_is_taken(files):
    content = os.urandom(1 << 20) * 40
    assert files.put("large", content).status == 201
    assert files.get("large").body == content


def test_others_see_nothing(service):
    one, two = Files(service, "one", "shared name"), Files(service, "two", "shared name")
    one.put("a", b"of one")
    assert two.get("a").status == 404
    assert two.delete("a").status == 404
    assert two.ask("PATCH", two.at("a"), {"to": "b"}).status == 404
    assert two.ask("GET", "/archive").status == 404
    two.put("a", b"of two")
    assert one.get("a").body == b"of one"


def test_who_has_no_token_gets_nothing(service, files):
    files.put("a", b"x")
    for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD"):
        assert service.request(method, files.top + "/files/a", token=False).status == 401
    assert files.get("a").body == b"x"


def lock_of(service, files):
    """What whoever changes the conversation has locked meanwhile."""
    for about in (service.data_directory / "conversations").glob("*/*/about.json"):
        if json.loads(about.read_text())["conversation_id"] == files.id:
            return about.with_name("lock")
    raise AssertionError("there is no such conversation")


def test_a_run_waits_for_nobody_elses_files(service):
    crowded, other = Files(service, "one"), Files(service, "two")
    assert crowded.put("first", b"x").status == 201
    answers = []
    writers = [threading.Thread(target=lambda number=number: answers.append(
        crowded.put(f"file {number}", b"x").status)) for number in range(40)]
    with open(lock_of(service, crowded), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for writer in writers:
            writer.start()
        begun = time.monotonic()
        kept = other.run("open('kept.txt', 'w').write('mine')")
        assert time.monotonic() - begun < 5
        assert [file["name"] for file in kept["files"]] == ["kept.txt"] and not kept.get("denials")
        assert other.get("kept.txt").body == b"mine"
        assert not answers
    for writer in writers:
        writer.join()
    assert answers == [201] * 40
