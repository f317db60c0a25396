"""Sends the jobs of a soak over connections that stay open, and judges the answers."""

import collections
import http.client
import json
import queue
import sys
import threading
import time

ANSWER_SECONDS = 120
WRONG_SHOWN = 20


class Client:
    """One connection; opened again after an answer did not come."""

    def __init__(self, server):
        self.server = server
        self.connection = None

    def send(self, job):
        """The record, or a text that says why there is none."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.server.host, self.server.port,
                                                         timeout=ANSWER_SECONDS)
        headers = {"Content-Type": "application/json", **self.server.headers()}
        try:
            self.connection.request("POST", "/execute", json.dumps(job.body), headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return f"no answer: {type(error).__name__}: {error}"
        if answer.status != 200:
            return f"answered {answer.status}: {text.decode(errors='replace')[:300]}"
        return json.loads(text)

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Load:
    """All jobs by several clients at once."""

    def __init__(self, server, jobs, clients):
        self.server, self.total = server, len(jobs)
        self.waiting = queue.SimpleQueue()
        for job in jobs:
            self.waiting.put(job)
        self.clients = clients
        self.lock = threading.Lock()
        self.done = collections.Counter()
        self.wrong = []
        self.seconds = 0.0

    def run(self, each_second=lambda: None):
        """Returns when the last answer has come."""
        start = time.monotonic()
        threads = [threading.Thread(target=self.work) for _ in range(self.clients)]
        for thread in threads:
            thread.start()
        progress = Progress(self)
        for thread in threads:
            while thread.is_alive():
                thread.join(timeout=1)
                each_second()
                progress.show()
        progress.finish()
        self.seconds = time.monotonic() - start

    def work(self):
        client = Client(self.server)
        while True:
            try:
                job = self.waiting.get_nowait()
            except queue.Empty:
                client.close()
                return
            record = client.send(job)
            wrong = record if isinstance(record, str) else job.wrong(record)
            with self.lock:
                self.done[job.kind] += 1
                if wrong:
                    self.wrong.append(f"{job.kind}: {wrong}")

    def report(self):
        """Prints what was done; gives whether every verdict was right."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.done.items()))
        print(f"{self.total} runs in {self.seconds:.1f} s, {self.total / self.seconds:.1f} per "
              f"second, {self.clients} at a time: {kinds}")
        for text in self.wrong[:WRONG_SHOWN]:
            print(f"  WRONG {text}")
        if len(self.wrong) > WRONG_SHOWN:
            print(f"  and {len(self.wrong) - WRONG_SHOWN} more")
        return not self.wrong


class Progress:
    """A line that is written over each second; where there is no terminal, one each minute."""

    def __init__(self, load):
        self.load = load
        self.start = self.last = time.monotonic()
        self.begin, self.end, self.pause = ("\r\033[K", "", 1) if sys.stdout.isatty() else \
            ("", "\n", 60)

    def show(self):
        now = time.monotonic()
        if now - self.last < self.pause:
            return
        self.last = now
        done = sum(self.load.done.values())
        rate = done / (now - self.start)
        left = (self.load.total - done) / rate if rate else 0
        print(f"{self.begin}{done} of {self.load.total} runs, {rate:.1f} per second, "
              f"{len(self.load.wrong)} wrong, {left:.0f} s to go", end=self.end, flush=True)

    def finish(self):
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)
