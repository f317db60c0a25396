"""A call that is given up ends its program at once, in every era and over every transport."""

import json
import os
import pathlib
import select
import statistics
import threading
import time
import uuid

import pytest

from support_binary import sanitizer_options, wait_until
from support_mcp import StdioServer, call, initialize
from support_processes import guests_of
from support_wire import (INITIALIZED, OldSession, Session, Stream, cancelled, enveloped,
                          modern_headers)

TIMES = 50
LIMIT_SECONDS = 0.1
PATIENCE_MS = 30_000

# A loop, and a child in a session of its own that waits. Each becomes a program whose command line,
# other than that of the runner, shows the mark.
ENDLESS = """
import os, sys
code = "while True: pass"
if os.fork() == 0:
    os.setsid()
    code = "import time; time.sleep(1000)"
os.execv(sys.executable, [sys.executable, "-c", code, sys.argv[1]])
"""


def endless_call(number, mark):
    return call(number, ENDLESS, args=[mark], timeout=60)


def shows(process, mark):
    try:
        return mark.encode() in pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return False


class Watch:
    """Descriptors of the two processes with a mark, which tell of their end as it happens."""

    def __init__(self, server_pid, mark):
        found = wait_until(lambda: self.both(server_pid, mark), "both processes run")
        self.open = {os.pidfd_open(process.pid) for process in found}

    @staticmethod
    def both(server_pid, mark):
        found = [process for process in guests_of(server_pid) if shows(process, mark)]
        return found if len(found) == 2 else None

    def wait(self):
        poll = select.poll()
        for descriptor in self.open:
            poll.register(descriptor, select.POLLIN)
        while self.open:
            ended = poll.poll(PATIENCE_MS)
            assert ended, f"still there after {PATIENCE_MS} ms"
            for descriptor, _ in ended:
                poll.unregister(descriptor)
                self.open.remove(descriptor)
                os.close(descriptor)


# Each era starts a call and gives back what cancels it. Its server lives as long as the era.


class ModernHttp:
    """The client disconnects."""

    def __init__(self, server):
        self.server, self.pid = server, server.pid

    def start(self, number, mark):
        message = endless_call(number, mark)
        connection = self.server.connect()
        connection.sendall(post_bytes(self.server, enveloped(message), modern_headers(message)))
        return connection.close

    def close(self):
        pass


class ModernHttpStream(ModernHttp):
    """The same in the middle of a stream of progress."""

    def start(self, number, mark):
        message = endless_call(number, mark)
        code = "print('begun', flush=True)\n" + message["params"]["arguments"]["code"]
        message["params"]["arguments"]["code"] = code
        stream = Stream(self.server, enveloped(message, progressToken=number),
                        modern_headers(message))
        assert stream.next()["method"] == "notifications/progress"
        return stream.close


class LegacyHttp:
    """A notification in the same session, on another connection."""

    def __init__(self, server):
        self.server, self.pid = server, server.pid
        self.session = Session(server)
        self.asked = []

    def start(self, number, mark):
        thread = threading.Thread(target=self.session.post, args=[endless_call(number, mark)])
        thread.start()
        self.asked.append(thread)
        return lambda: self.session.post(cancelled(number))

    def close(self):
        for thread in self.asked:
            thread.join()
        self.session.delete()


class HttpSse:
    """2024-11-05: a notification to the address that the stream has named."""

    def __init__(self, server):
        self.session, self.pid = OldSession(server), server.pid

    def start(self, number, mark):
        self.session.post(endless_call(number, mark))
        return lambda: self.session.post(cancelled(number))

    def close(self):
        self.session.close()


class LegacyStdio:
    def __init__(self, server):
        del server  # it has its own
        self.stdio = StdioServer()
        self.pid = self.stdio.process.pid
        self.greet()

    def greet(self):
        self.stdio.ask(initialize(0))
        self.stdio.send(INITIALIZED)

    def start(self, number, mark):
        self.stdio.send(self.dressed(endless_call(number, mark)))
        return lambda: self.stdio.send(cancelled(number))

    @staticmethod
    def dressed(message):
        return message

    def close(self):
        assert self.stdio.finish() == (0, []), "a cancelled call gets no answer"


class ModernStdio(LegacyStdio):
    def greet(self):
        pass

    dressed = staticmethod(enveloped)


def post_bytes(server, message, headers):
    body = json.dumps(message).encode()
    lines = ["POST /mcp HTTP/1.1", f"Host: {server.address}", "Content-Type: application/json",
             f"Content-Length: {len(body)}",
             *(f"{name}: {value}" for name, value in {**server.headers(), **headers}.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


ERAS = [ModernHttp, ModernHttpStream, LegacyHttp, HttpSse, ModernStdio, LegacyStdio]


def seconds_to_end(era, number):
    mark = str(uuid.uuid4())
    cancel = era.start(number, mark)
    watch = Watch(era.pid, mark)
    start = time.monotonic()
    cancel()
    watch.wait()
    return time.monotonic() - start


@pytest.mark.parametrize("kind", ERAS)
def test_cancellation_ends_the_processes_at_once(open_server, kind):
    era = kind(open_server)
    try:
        took = [seconds_to_end(era, number) for number in range(1, TIMES + 1)]
    finally:
        era.close()
    median = statistics.median(took)
    print(f"{kind.__name__}: median {median * 1000:.1f} ms, longest {max(took) * 1000:.1f} ms")
    if not sanitizer_options():  # they make everything several times slower
        assert median < LIMIT_SECONDS, sorted(took)


def test_legacy_request_outlives_its_connection(open_server):
    """Only the newest revision takes the end of a connection for the wish to cancel."""
    session = Session(open_server)
    mark = str(uuid.uuid4())
    message = endless_call(7, mark)
    connection = open_server.connect()
    connection.sendall(post_bytes(open_server, message, {
        "Accept": "application/json, text/event-stream", **session.headers}))
    watch = Watch(open_server.pid, mark)
    connection.close()
    assert session.post({"jsonrpc": "2.0", "id": 8, "method": "ping"}).answer["result"] == {}
    assert Watch.both(open_server.pid, mark), "it still runs"
    session.post(cancelled(7))
    watch.wait()
    session.delete()


def test_end_of_a_session_ends_what_it_runs(open_server):
    session = Session(open_server)
    mark = str(uuid.uuid4())
    thread = threading.Thread(target=session.post, args=[endless_call(7, mark)])
    thread.start()
    watch = Watch(open_server.pid, mark)
    assert session.delete().status in (200, 204)
    watch.wait()
    thread.join()


def test_end_of_an_old_stream_ends_what_it_runs(open_server):
    session = OldSession(open_server)
    mark = str(uuid.uuid4())
    session.post(endless_call(7, mark))
    watch = Watch(open_server.pid, mark)
    session.close()
    watch.wait()


def test_cancellation_of_another_session_does_nothing(open_server):
    session, other = Session(open_server), Session(open_server)
    mark = str(uuid.uuid4())
    thread = threading.Thread(target=session.post, args=[endless_call(7, mark)])
    thread.start()
    watch = Watch(open_server.pid, mark)
    for one in (other.post(cancelled(7)), other.delete()):
        assert one.status < 300
    assert Watch.both(open_server.pid, mark), "it still runs"
    session.delete()
    watch.wait()
    thread.join()
