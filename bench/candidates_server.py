"""Hellos that go to a running server: HTTP, MCP over HTTP and MCP over stdio, warm and cold."""

import json
import subprocess
import time

import wire
from candidates_commands import OFTEN, Candidate
from stats import NotHere, Refused, WrongAnswer
from support_binary import BINARY, environment
from support_mcp import MODERN, call, initialize, modern
from support_server import Server
from timekeepers import hello

READY_JARS, NONE_READY = 16, 0  # the first is the product's own setting

PROGRAMS = {
    "python": "print('hello {}')",
    "javascript": "console.log('hello {}')",
    "typescript": "const word: string = 'hello {}'; console.log(word)"}
MCP_HEADERS = (("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", MODERN))


def start_server(place, name, ready_jars=READY_JARS, **settings):
    """A server on a free port; settings that it refuses are a reason, not a failure."""
    try:
        return Server(place / name, "--auth", "none",
                      env=environment(LOG_LEVEL="error", BELLJAR_POOL_READY=str(ready_jars),
                                      **settings))
    except AssertionError as error:
        raise NotHere(str(error).strip()) from None


def program(language, token):
    return PROGRAMS[language].format(token)


class Dialect:
    """How one hello is asked for over HTTP and how its answer is judged."""

    def __init__(self, address, language="python"):
        self.address, self.language = address, language

    def record(self, answer, token):
        """The result record in an answer that is JSON."""
        raise NotImplementedError

    def judge(self, status, body, token):
        judge_record(self.record(answer_of(status, body), token), token)


def answer_of(status, body):
    if status != 200:
        raise Refused(f"status {status}: {body[:200].decode(errors='replace')}")
    return json.loads(body)


def right_record(record):
    """The record of a run that went well."""
    if record.get("status") != "ok":
        raise Refused(f"the run is {record.get('status')}: {str(record)[:200]}")
    return record


def judge_record(record, token):
    if right_record(record)["stdout"] != hello(token):
        raise WrongAnswer(f"printed {record['stdout'][:100]!r} and not {hello(token)!r}")


def execute_request(address, code, language="python"):
    body = json.dumps({"code": code, "language": language}).encode()
    return wire.post(address, "/execute", body)


class Execute(Dialect):
    def question(self, token):
        return execute_request(self.address, program(self.language, token), self.language)

    def record(self, answer, token):
        return answer


class Mcp(Dialect):
    """The newest revision, which needs no conversation before the first call."""

    HEADERS = (*MCP_HEADERS, ("Mcp-Method", "tools/call"), ("Mcp-Name", "execute_code"))

    def question(self, token):
        message = modern(call(token, program(self.language, token), language=self.language))
        return wire.post(self.address, "/mcp", json.dumps(message).encode(), self.HEADERS)

    def record(self, answer, token):
        return record_of_call(answer, token)


def record_of_call(answer, token):
    if "result" not in answer:
        raise Refused(str(answer.get("error"))[:200])
    if answer["id"] != token:
        raise WrongAnswer(f"the answer to {answer['id']} and not to {token}")
    return answer["result"]["structuredContent"]


class Asked(Candidate):
    """One caller on one connection that stays open."""

    frequency = OFTEN

    def __init__(self, rows, dialect):
        super().__init__(rows)
        self.dialect = dialect
        self.line = wire.Line(dialect.address)

    def once(self, token):
        request = self.dialect.question(token)
        start = time.perf_counter()
        try:
            answer = self.line.ask(request)
        except (OSError, Refused):
            self.line.close()
            raise
        elapsed = (time.perf_counter() - start) * 1000
        self.dialect.judge(*answer, token)
        return (elapsed,)

    def close(self):
        self.line.close()


class Stdio(Candidate):
    """`belljar mcp`, which lives as long as this; its start is not measured."""

    frequency = OFTEN

    def __init__(self):
        super().__init__({"mcp_stdio": "MCP over stdio, python, warm"})
        self.process = subprocess.Popen([str(BINARY), "mcp"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=environment(LOG_LEVEL="error"))
        self.ask(initialize("start"))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message):
        """(answer, milliseconds)"""
        start = time.perf_counter()
        self.send(message)
        while line := self.process.stdout.readline():
            elapsed = (time.perf_counter() - start) * 1000
            answer = json.loads(line)
            if "id" in answer:  # what has none is a notification
                return answer, elapsed
        raise Refused(f"belljar mcp ended with exit code {self.process.wait()}")

    def once(self, token):
        answer, elapsed = self.ask(call(token, program("python", token)))
        judge_record(record_of_call(answer, token), token)
        return (elapsed,)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def usable_languages(server):
    """{language: None, or why the server does not run it}"""
    found, line = {}, wire.Line(server.address)
    for language in PROGRAMS:
        dialect = Execute(server.address, language)
        try:
            dialect.judge(*line.ask(dialect.question("1")), "1")
            found[language] = None
        except (Refused, WrongAnswer) as reason:
            found[language] = f"no such runner here: {reason}"
    line.close()
    return found


def warm(server, language):
    return Asked({f"http_{language}": f"POST /execute, {language}, warm"},
                 Execute(server.address, language))


def cold(server, language):
    """The same question to a server that has to make a jar first."""
    return Asked({f"http_{language}_cold": f"POST /execute, {language}, cold"},
                 Execute(server.address, language))


def mcp_over_http(server):
    return Asked({"mcp_http": "MCP over HTTP, python, warm"}, Mcp(server.address))
