"""The two small processes that start and time programs, as objects to ask."""

import json
import pathlib
import subprocess

from stats import Refused, WrongAnswer

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"


def hello(token):
    """What every candidate must print; the token is another one each time."""
    return f"hello {token}\n"


class Timekeeper:
    """One of launcher.py and warm_fork.py. `surroundings` is a command that it is started by."""

    def __init__(self, program, surroundings=()):
        command = [*surroundings, PYTHON, "-I", "-B", str(HERE / program)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise Refused(f"it ended with exit code {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def ask(self, order):
        self.send(order)
        return self.receive()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def checked(answer, expected):
    """The answer if the program ended well and printed what is expected."""
    if answer["code"] != 0:
        words = (answer["errors"] or answer["output"]).strip().splitlines()
        raise Refused(f"exit code {answer['code']}: {words[-1] if words else 'no output'}")
    if answer["output"] != expected:
        raise WrongAnswer(f"printed {answer['output'][:100]!r}")
    return answer
