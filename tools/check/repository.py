"""What the checks share: the files of the repository and how findings are shown."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files(*patterns):
    """Paths relative to the root, also of files not yet committed, without ignored ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"]
    listed = subprocess.run(command + list(patterns), cwd=ROOT, capture_output=True, check=True)
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return [pathlib.Path(name) for name in names if (ROOT / name).is_file()]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def finish(findings):
    """Prints each finding on a line and gives the exit code."""
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def main(check):
    sys.exit(finish(check()))
