"""Programs do in a jar what they do outside: the same exit code, signal and bytes.

The programs are in parity/LANGUAGE.txt, each behind a line `### name | key: value | ...`. What the
bare interpreter does with one is not written down: it is run here, in an empty directory.
"""

import os
import pathlib
import re
import signal
import subprocess

import pytest


HERE = pathlib.Path(__file__).parent / "parity"
SECONDS = 20
ENDLESS_SECONDS = 2
COMMANDS = {
    "python": ["/usr/bin/python3", "-E", "-s", "-B", "-X", "utf8"],
    "javascript": ["node"],
    "bash": ["/bin/bash"],
}
SUFFIX = {"python": "py", "javascript": "cjs", "bash": "sh"}
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin",
               "TMPDIR": "/tmp", "USER": "guest"}


class Program:
    def __init__(self, language, header, code):
        self.language, self.code = language, code
        self.name, *settings = header.split(" | ")
        self.stdin, self.arguments, self.environment, self.files = "", [], {}, {}
        for setting in settings:
            key, value = setting.split(": ", 1)
            if key == "stdin":
                self.stdin = value.encode().decode("unicode_escape").encode("latin-1").decode()
            elif key == "args":
                self.arguments = value.split(",")
            elif key == "env":
                self.environment.update([value.split("=", 1)])
            else:
                path, content = value.split("=", 1)
                self.files[path] = content

    @property
    def endless(self):
        return self.name.startswith("endless ")

    def __repr__(self):
        return f"{self.language}: {self.name}"

    def run_bare(self, directory):
        for path, content in self.files.items():
            place = directory / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)
        suffix = "mjs" if self.name.startswith("module: ") else SUFFIX[self.language]
        program = directory / f"main.{suffix}"
        program.write_text(self.code)
        command = [*COMMANDS[self.language], str(program), *self.arguments]
        process = subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**ENVIRONMENT, **self.environment},
                                   start_new_session=True, preexec_fn=heed_signals)
        try:
            seconds = ENDLESS_SECONDS if self.endless else SECONDS
            out, _ = process.communicate(self.stdin.encode(), timeout=seconds)
            return process.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "timeout", process.communicate()[0]

    def run_in_a_jar(self, server):
        result = server.execute(
            self.code, language=self.language, stdin=self.stdin, args=self.arguments,
            env=self.environment, files=self.files,
            timeout=ENDLESS_SECONDS if self.endless else SECONDS)
        if result["status"] == "timeout":
            code = "timeout"
        elif result["exit_code"] is not None:
            code = result["exit_code"]
        else:
            code = -result["signal"]
        assert not result["stdout_truncated"]
        return code, result["stdout"], result["stdout_bytes"], result


def heed_signals():
    """What the tests themselves may have been told to ignore, by nohup for one."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def read_programs(language):
    text = (HERE / f"{language}.txt").read_text()
    parts = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)
    return [Program(language, header, code) for header, code in zip(parts[1::2], parts[2::2])]


PROGRAMS = [program for language in COMMANDS for program in read_programs(language)]


def test_there_are_enough():
    assert len(PROGRAMS) >= 300
    assert len({repr(program) for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_same_as_bare(server, place, program):
    bare_code, bare_output = program.run_bare(place)
    code, output, size, result = program.run_in_a_jar(server)
    assert code == bare_code, (result["status"], result["stderr"][-1000:], result["error"]
                               if "error" in result else None)
    assert size == len(bare_output)
    assert output == bare_output.decode("utf-8", "replace")
