#!/usr/bin/env python3
"""Statements of the standard library, each as a program, and the harmful programs of this folder,
and whether the scanner finds something.

On standard output, each behind `+` (something is found) or `-` (nothing), and a zero byte.
"""

import ast
import itertools
import pathlib
import random
import re
import sys
import textwrap
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(ast.__file__).parent
SEED, FILES, LINES = 20261117, 60, 40


def load_scanner():
    names = {"__builtins__": __builtins__}
    path = ROOT / "guest" / "python" / "scan.py"
    exec(compile(path.read_text(), path.name, "exec"), names)
    return names["find_in"]


def statements():
    paths = sorted(LIBRARY.glob("*.py"))
    for path in random.Random(SEED).sample(paths, FILES):
        source = path.read_text()
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.stmt) and node.end_lineno - node.lineno < LINES:
                yield textwrap.dedent("\n".join(lines[node.lineno - 1:node.end_lineno]))


def harmful_programs():
    text = (ROOT / "tests" / "policy" / "harmful" / "python.txt").read_text()
    return [part.partition("\n")[2] for part in re.split(r"^### ", text, flags=re.M)[1:]]


def main():
    warnings.simplefilter("ignore")
    find_in = load_scanner()
    for source in itertools.chain(statements(), harmful_programs()):
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue  # part of another statement
        found = [rule for rule, _, _ in find_in(tree, source) if rule != "code.builtin"]
        sys.stdout.write(("+" if found else "-") + source + "\0")


if __name__ == "__main__":
    main()
