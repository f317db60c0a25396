"""A server that is killed at any moment loses nothing that it has acknowledged."""

import hashlib
import http.client
import itertools
import os
import random
import signal
import sqlite3
import threading

from support_binary import wait_until
from support_mcp import call_tool
from support_traces import Traces, wait_until_gone

SEED = 20260117
ROUNDS = 5
ACKNOWLEDGED = 500  # uploads and runs, in all rounds together
WRITERS, RUNNERS, PATHS = 5, 2, 7
SECONDS = 60


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Book:
    """What was asked for and what was acknowledged, by conversation and path."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kept, self.asked, self.count, self.wrong = {}, {}, 0, []
        self.reached = threading.Condition(self.lock)

    def ask(self, key, content):
        with self.lock:
            self.asked.setdefault(key, set()).add(digest(content))

    def acknowledge(self, key, content):
        with self.lock:
            self.kept[key] = digest(content)
            self.asked[key] = {digest(content)}
            self.count += 1
            self.reached.notify_all()

    def wait_for(self, count):
        with self.lock:
            assert self.reached.wait_for(lambda: self.count >= count, SECONDS), self.count


def keep_asking(ask, book, stop):
    """Until the server is gone."""
    for number in itertools.count():
        if stop.is_set():
            return
        try:
            ask(number)
        except (OSError, http.client.HTTPException):
            return
        except AssertionError as error:
            book.wrong.append(error)
            return


def upload(server, book, writer, dice):
    def ask(number):
        key = (f"upload {writer % 2}", f"{writer}/{number % PATHS}.txt")
        content = f"{writer} {number} " * dice.randrange(1, 20_000)
        book.ask(key, content)
        result = call_tool(server, "write_file", conversation_id=key[0], path=key[1],
                           content=content)
        assert not result["isError"], result
        book.acknowledge(key, content)
    return ask


def run(server, book, runner, dice):
    def ask(number):
        key = (f"run {runner}", f"out/{number % PATHS}.txt")
        content = f"{runner} {number} " * dice.randrange(1, 20_000)
        book.ask(key, content)
        code = (f"import os\nos.makedirs('out', exist_ok=True)\n"
                f"open('{key[1]}', 'w').write({content.split()[0]!r})\n"
                f"open('{key[1]}', 'w').write('{runner} {number} ' * {content.count(' ') // 2})")
        record = server.execute(code, conversation_id=key[0])
        assert record["status"] == "ok" and not record["denials"], record
        book.acknowledge(key, content)
    return ask


def kill_while_busy(server, book, dice, until):
    stop = threading.Event()
    asks = [upload(server, book, writer, random.Random(dice.random()))
            for writer in range(WRITERS)]
    asks += [run(server, book, runner, random.Random(dice.random())) for runner in range(RUNNERS)]
    threads = [threading.Thread(target=keep_asking, args=(ask, book, stop)) for ask in asks]
    for thread in threads:
        thread.start()
    try:
        book.wait_for(until)
    finally:
        os.kill(server.pid, signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join(SECONDS)
    server.process.wait(SECONDS)
    assert not book.wrong, book.wrong


def conversations(server):
    """The directories of all, whosoever."""
    return [about.parent for about in
            (server.data_directory / "conversations").glob("*/*/about.json")]


def names(book):
    return {hashlib.sha256(key[0].encode()).hexdigest(): key[0] for key in list(book.asked)}


def assert_files_are_whole(server, book):
    ids, found = names(book), {}
    for directory in conversations(server):
        files = directory / "files"
        for path in (one for one in files.rglob("*") if one.is_file()):
            key = (ids[directory.name], str(path.relative_to(files)))
            found[key] = hashlib.sha256(path.read_bytes()).hexdigest()
            assert found[key] in book.asked[key], f"{key} is not what anybody wrote"
    lost = {key for key in book.kept if key not in found}
    assert not lost


def nothing_unfinished(server):
    left = [one for directory in conversations(server)
            for one in (directory / "incoming").iterdir()]
    return not left and not list((server.data_directory / "conversations").glob("*/unfinished-*"))


def test_what_was_acknowledged_survives_being_killed(own_server, place):
    dice = random.Random(SEED)
    before, book, data = Traces(), Book(), None
    for number in range(1, ROUNDS + 1):
        server = own_server(data_directory=data)
        data = server.data_directory
        jitter = dice.randrange(-ACKNOWLEDGED // ROUNDS // 2, 1) if number < ROUNDS else 0
        kill_while_busy(server, book, dice, number * ACKNOWLEDGED // ROUNDS + jitter)
        assert_files_are_whole(server, book)
    server = own_server(data_directory=data)
    assert_files_are_whole(server, book)
    wait_until(lambda: nothing_unfinished(server), "what was begun is gone")
    assert server.execute("6*7")["result"] == 42
    assert server.stop() == 0
    with sqlite3.connect(data / "state" / "state.sqlite3") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        states = dict(database.execute("SELECT state, count(*) FROM runs GROUP BY state"))
        assert list(states) == ["ended"] and states["ended"] > ROUNDS
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    wait_until_gone(before, 10)


def test_a_damaged_database_stops_the_start_and_is_left_alone(own_server, place):
    server = own_server()
    assert server.execute("6*7")["result"] == 42
    assert server.stop() == 0
    file = server.data_directory / "state" / "state.sqlite3"
    file.write_bytes(b"not a database " * 1000)
    try:
        own_server(data_directory=server.data_directory)
        raise RuntimeError("it started")
    except AssertionError as error:
        assert "state.sqlite3" in str(error) and "move it" in str(error), error
        assert "ended with 1" in str(error)
    assert file.read_bytes() == b"not a database " * 1000
