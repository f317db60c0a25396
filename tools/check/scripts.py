#!/usr/bin/env python3
"""Shell and Python scripts are at least well-formed."""

import subprocess

import repository


def is_shell(path):
    if path.suffix == ".sh":
        return True
    return not path.suffix and repository.read(path).startswith(("#!/usr/bin/env bash", "#!/bin/"))


def check_shell(path):
    tried = subprocess.run(["bash", "-n", path], cwd=repository.ROOT, capture_output=True)
    return tried.stderr.decode().splitlines()


def check_python(path):
    try:
        compile(repository.read(path), str(path), "exec")
    except SyntaxError as error:
        return [f"{path}:{error.lineno}: {error.msg}"]
    return []


def check():
    findings = []
    for path in repository.files():
        if path.suffix == ".py":
            findings += check_python(path)
        elif path.suffix in ("", ".sh") and is_shell(path):
            findings += check_shell(path)
    return findings


if __name__ == "__main__":
    repository.main(check)
