"""Directories of approved tools, as an operator makes them."""

import hashlib
import json
import subprocess

from support_binary import BINARY, COMMAND_SECONDS, environment


def entry(folder, file, **fields):
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    told = {"file": file, "sha256": digest, "owner": "tests", "version": "1.0.0", **fields}
    return "[[module]]\n" + "".join(f"{key} = {json.dumps(value)}\n"
                                    for key, value in told.items())


def approve(folder, **fields):
    """Writes a manifest of everything that is there; `fields` by the name of a module."""
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py"))
    text = "\n".join(entry(folder, file, **fields.get(file.removesuffix(".py"), {}))
                     for file in files)
    new = folder / ".manifest.new"
    new.write_text(text)
    new.rename(folder / "manifest.toml")


def make_token(server, name, *roles):
    options = [word for role in roles for word in ("--role", role)]
    ended = subprocess.run(
        [str(BINARY), "token", "create", name, *options, "--data-dir", server.data_directory],
        capture_output=True, env=environment(), timeout=COMMAND_SECONDS, check=True)
    return ended.stdout.decode().strip()


def log_of(server, message=""):
    lines = [json.loads(line) for line in server.errors.splitlines()]
    return [line for line in lines if message in line["message"]]


def refusals_of(server):
    """(file, reason) of each tool that is not served, in the order in which it was told."""
    return [(line["file"], line["reason"])
            for line in log_of(server, "an approved tool is not served")]
