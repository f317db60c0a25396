"""A guest program with its interpreter, without a jar: for what only the two of them decide."""

import json
import os
import pathlib
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = {"node/acorn.cjs": ("acorn", "acorn/dist/acorn.js"),
            "node/swc.cjs": ("swc", "@swc/wasm-typescript/wasm.js")}
PROGRAM_FD, REQUEST_FD, REPORT_FD = 3, 4, 5
SECONDS = 60


def manifest_of(language):
    return tomllib.loads((ROOT / "runners" / f"{language}.toml").read_text())


def bootstrap_of(manifest):
    return "".join(map(part_of, manifest["bootstrap"])).encode()


def part_of(name):
    if name not in PACKAGES:
        return (ROOT / "guest" / name).read_text()
    variable, path = PACKAGES[name]
    text = (ROOT / "guest" / "node" / "node_modules" / path).read_text()
    return (f"const {variable} = (() => {{ const exports = {{}}, module = {{ exports }};\n{text}\n"
            "return module.exports; })();\n")


class Guest:
    """One process of an interpreter, with its ends of all pipes."""

    def __init__(self, language, directory, interpreter=None):
        manifest = manifest_of(language)
        command = [interpreter or manifest["command"][0], *manifest["command"][1:]]
        program = os.memfd_create("program")
        os.write(program, bootstrap_of(manifest))
        request_end, self.request = os.pipe()
        self.report, report_end = os.pipe()
        ends = {PROGRAM_FD: program, REQUEST_FD: request_end, REPORT_FD: report_end}
        environment = dict(variable.split("=", 1) for variable in manifest["environment"])
        self.process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False,
            preexec_fn=lambda: place(ends))
        for end in ends.values():
            os.close(end)
        self.lines = os.fdopen(self.report, "rb")
        assert self.lines.readline() == b"\n", "it waits for the request"

    def say(self, message):
        os.write(self.request, json.dumps(message).encode() + b"\n")

    def answer(self):
        line = self.lines.readline()
        return json.loads(line) if line else None

    def end(self):
        """(exit code, stdout, stderr) once there are no more requests."""
        os.close(self.request)
        stdout, stderr = self.process.communicate(timeout=SECONDS)
        self.lines.close()
        return self.process.returncode, stdout.decode(), stderr.decode()


def place(ends):
    """In the child: each descriptor where the guest expects it."""
    high = {number: os.dup2(end, number + 100) for number, end in ends.items()}
    for number, end in high.items():
        os.dup2(end, number)
        os.close(end)
