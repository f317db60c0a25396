"""Many files at once: forms, archives in both directions, and what bad ones get."""

import io
import os
import stat
import struct
import zipfile
import zlib

import pytest

from support_files import Files, environment_for_files, form
from support_server import Server


@pytest.fixture(scope="module")
def service(session_place):
    server = Server(session_place / "bulk", env=environment_for_files())
    server.settle()
    yield server
    server.stop()


@pytest.fixture
def files(service):
    return Files(service)


def archive(*entries, method=zipfile.ZIP_DEFLATED):
    """Of (name or ZipInfo, content)."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as made:
        for name, content in entries:
            made.writestr(name, content)
    return written.getvalue()


def test_a_form_writes_all_its_files(files):
    large = os.urandom(100_000)
    answer = files.upload([("a.txt", b"one"), ("d/größe.bin", large), ("empty", b""),
                           ("tricky", b"\r\n--a-boundar\r\n--")])
    assert answer.status == 201, answer
    assert answer.json["count"] == 4
    assert files.paths() == ["a.txt", "d/größe.bin", "empty", "tricky"]
    assert files.get("d/größe.bin").body == large
    assert files.get("tricky").body == b"\r\n--a-boundar\r\n--"
    assert files.upload([("b", b"x")], "?path=in/here").status == 201
    assert files.get("in/here/b").body == b"x"


def test_a_form_is_taken_whole_or_not_at_all(files):
    files.put("there", b"old")
    files.put("folder/x", b"")
    before = files.paths()
    for parts in ([("new", b"1"), ("there", b"2")], [("new", b"1"), ("folder", b"2")],
                  [("new", b"1"), ("there/x", b"2")]):
        assert files.upload(parts).status == 409, parts
    for parts in ([("new", b"1"), ("../x", b"")], [("new", b"1"), ("/x", b"")],
                  [("new", b"1"), ("new", b"2")], [("new", b"1"), ("new/x", b"")],
                  [("new", b"1"), ("", b"")], [("a\nb", b"")]):
        assert files.upload(parts).status == 400, parts
    assert files.paths() == before and files.get("there").body == b"old"
    assert files.upload([("there", b"new")], "?overwrite=true").status == 201
    assert files.get("there").body == b"new"


HEAD = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n'
GARBAGE = {
    "nothing": b"",
    "no boundary in it": b"hello",
    "something before it": b"x\r\n" + HEAD + b"1\r\n--b--",
    "no end": HEAD + b"1\r\n",
    "half an end": HEAD + b"1\r\n--b",
    "something after it": HEAD + b"1\r\n--b--\r\nx",
    "no header": b"--b\r\n\r\n1\r\n--b--",
    "no disposition": b"--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b--",
    "another disposition": b"--b\r\nContent-Disposition: attachment\r\n\r\n1\r\n--b--",
    "no file": b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n1\r\n--b--',
    "parts in parts": HEAD[:-2] + b"Content-Type: multipart/mixed; boundary=c\r\n\r\n1\r\n--b--",
    "an encoding": HEAD[:-2] + b"Content-Transfer-Encoding: base64\r\n\r\n1\r\n--b--",
    "no files": b"--b--\r\n",
}


@pytest.mark.parametrize("what", GARBAGE)
def test_no_garbage_is_taken_for_a_form(files, what):
    answer = files.ask("POST", "/files", GARBAGE[what],
                       Content_Type="multipart/form-data; boundary=b")
    assert answer.status == 400, answer
    assert files.ask("GET", "/files").status in (200, 404)


def test_forms_are_bounded(files):
    huge = b"--b\r\nX-Long: " + b"x" * 1_000_000 + b"\r\n\r\n1\r\n--b--"
    assert files.ask("POST", "/files", huge,
                     Content_Type="multipart/form-data; boundary=b").status == 413
    assert files.upload([(f"f{number}", b"") for number in range(10_000)]).status == 413
    for kind in ("multipart/form-data", "multipart/form-data; boundary=",
                 "multipart/form-data; boundary=" + "b" * 71):
        assert files.ask("POST", "/files", form([("a", b"")]), Content_Type=kind).status == 400
    assert files.ask("POST", "/files", b"x", Content_Type="text/plain").status == 415


def test_an_archive_has_everything(files):
    content = {"a.txt": b"one", "d/b": os.urandom(200_000), "d/e/größe": b"", "-x": b"zero" * 9999}
    for path, data in content.items():
        files.put(path, data)
    files.run("import os; os.makedirs('hollow'); os.symlink('/etc/passwd', 'link')")
    answer = files.ask("GET", "/archive")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/zip"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="files.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.body)) as made:
        assert made.testzip() is None
        assert {info.filename: made.read(info) for info in made.infolist()
                if not info.is_dir()} == content
        assert "hollow/" in made.namelist()
    with zipfile.ZipFile(io.BytesIO(files.ask("GET", "/archive?path=d").body)) as made:
        assert sorted(name for name in made.namelist() if not name.endswith("/")) == [
            "b", "e/größe"]
    assert files.ask("GET", "/archive?path=nothing").status == 404
    assert files.ask("GET", "/archive?path=../d").status == 400
    assert files.ask("HEAD", "/archive").status == 200


def test_an_archive_of_nothing(files):
    assert files.ask("GET", "/archive").status == 404
    files.put("a", b"")
    files.delete("a")
    with zipfile.ZipFile(io.BytesIO(files.ask("GET", "/archive").body)) as made:
        assert made.namelist() == []


def test_no_name_in_an_archive_leads_others_astray(files):
    files.put("..\\..\\evil", b"x")
    with zipfile.ZipFile(io.BytesIO(files.ask("GET", "/archive").body)) as made:
        assert made.namelist() == ["..%5C..%5Cevil"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_is_imported(files, method):
    data = os.urandom(300_000)
    sent = archive(("a.txt", b"one"), ("d/", b""), ("d/größe", data), ("empty", b""),
                   method=method)
    answer = files.load(sent, "?path=in")
    assert answer.status == 201, answer
    assert answer.json["count"] == 3
    assert files.paths() == ["in/a.txt", "in/d/größe", "in/empty"]
    assert files.get("in/d/größe").body == data
    assert files.load(sent, "?path=in").status == 409
    assert files.load(sent, "?path=in&overwrite=true").status == 201


def test_what_was_archived_can_be_imported(files, service):
    for path in ("a", "d/b", "größe 😀"):
        files.put(path, path.encode())
    other = Files(service)
    assert other.load(files.ask("GET", "/archive").body).status == 201
    assert other.paths() == files.paths()
    assert other.get("größe 😀").body == "größe 😀".encode()


def test_programs_in_archives_stay_executable(files):
    info = zipfile.ZipInfo("run.sh")
    info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o755) << 16
    assert files.load(archive((info, "#!/bin/sh\necho ran\n"))).status == 201
    code = "import subprocess; subprocess.run(['./run.sh'], capture_output=True).stdout.decode()"
    assert files.run(code)["result"] == "ran\n"


@pytest.mark.parametrize("name", [
    "../evil", "a/../../evil", "/etc/evil", "..\\evil", "C:/evil", "C:evil", "a//b", "./a", "..",
    "//host/share", "a\\..\\..\\b", "x" * 256, "d/" * 40 + "x", "a\nb"])
def test_no_name_leads_out_of_an_import(files, name):
    answer = files.load(archive(("good", b"x"), (name, b"evil")))
    assert answer.status == 400, answer
    assert files.ask("GET", "/files").status == 404 or files.paths() == []


def with_mode(mode):
    info = zipfile.ZipInfo("thing")
    info.create_system, info.external_attr = 3, mode << 16
    return archive((info, "/etc/passwd"))


def with_flag(flag):
    data = bytearray(archive(("a", b"x")))
    data[6] |= flag
    data[data.rindex(b"PK\x01\x02") + 8] |= flag
    return bytes(data)


def overlapping():
    """Two entries in the list that are one in the archive."""
    data = archive(("aa", b"x" * 1000), ("bb", b"y" * 1000))
    at = data.rindex(b"PK\x01\x02")
    return data[:at + 42] + struct.pack("<I", 0) + data[at + 46:]


def lying(size):
    """Says another size than it has."""
    data = bytearray(archive(("a", bytes(5_000_000))))
    struct.pack_into("<I", data, 22, size)
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, size)
    return bytes(data)


def bomb():
    return archive(*((f"{number}", bytes(50_000_000)) for number in range(4)))


def huge():
    """Says that it has 3 GiB."""
    return lying(3 << 30)


BAD_ARCHIVES = {
    "link": (lambda: with_mode(stat.S_IFLNK | 0o777), 400),
    "device": (lambda: with_mode(stat.S_IFCHR | 0o666), 400),
    "fifo": (lambda: with_mode(stat.S_IFIFO | 0o666), 400),
    "encrypted": (lambda: with_flag(1), 400),
    "overlap": (overlapping, 400),
    "too small a size": (lambda: lying(16), 400),
    "bomb": (bomb, 413),
    "huge": (huge, 413),
    "nothing": (lambda: b"", 400),
    "garbage": (lambda: b"PK" + os.urandom(1000), 400),
    "cut": (lambda: archive(("a", b"x" * 100))[:-5], 400),
    "prefix": (lambda: b"#!/bin/sh\n" + archive(("a", b"x")), 400),
    "suffix": (lambda: archive(("a", b"x")) + b"x", 400),
    "bzip2": (lambda: archive(("a", b"x" * 99), method=zipfile.ZIP_BZIP2), 400),
    "many": (lambda: archive(*((f"{n}", b"") for n in range(10_001))), 413),
    "file and folder": (lambda: archive(("a", b"x"), ("a/b", b"x")), 400),
}


@pytest.mark.parametrize("what", BAD_ARCHIVES)
def test_bad_archives_leave_nothing(files, what):
    make, status = BAD_ARCHIVES[what]
    answer = files.load(make())
    assert answer.status == status, answer
    assert files.ask("GET", "/files").status == 404 or files.paths() == []


def test_names_that_occur_twice(files):
    with pytest.warns(UserWarning):
        sent = archive(("a", b"1"), ("a", b"2"))
    assert files.load(sent).status == 400


def test_damaged_content(files):
    sent = bytearray(archive(("a", os.urandom(1000)), method=zipfile.ZIP_STORED))
    sent[100] ^= 1
    assert files.load(bytes(sent)).status == 400
    broken = zlib.compress(b"x")
    assert files.load(broken).status == 400
    assert files.ask("POST", "/import", b"x", Content_Type="text/plain").status == 415
