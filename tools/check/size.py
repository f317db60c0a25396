#!/usr/bin/env python3
"""The warden stays small and parses nothing, so that one person can read all that is privileged.

Its lines are counted as they stand: code, comments and blanks. What its program is linked from is
found by following includes: whoever includes x/y.h gets x/y.cpp too. None of that may need Boost,
JSON or HTTP.
"""

import re

import repository

LINES = 2000  # it has fewer
FOLDERS = ("src/isolation", "apps/warden")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FORBIDDEN = re.compile(r"boost|json|http|asio", re.IGNORECASE)


def is_test(path):
    return path.name.endswith("_test.cpp") or path.name.startswith("test_")


def warden_sources():
    patterns = [f"{folder}/*.{ending}" for folder in FOLDERS for ending in ("h", "cpp")]
    return [path for path in repository.files(*patterns) if not is_test(path)]


def check_lines(sources):
    lines = sum(len(repository.read(path).splitlines()) for path in sources)
    if lines >= LINES:
        yield f"{' and '.join(FOLDERS)}: {lines} lines without tests, fewer than {LINES} wanted"


def includes_of(path):
    """(line, name) for each include, of our own files and of libraries."""
    text = repository.read(path)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) or match.group(2)


def linked_files(sources):
    """Everything that reaches the program, each file once."""
    known = {path for path in repository.files("src/*.h", "src/*.cpp") if not is_test(path)}
    by_name = {str(path.relative_to("src")): path for path in known}
    reached, open_ends = set(sources), list(sources)
    while open_ends:
        for _, name in includes_of(open_ends.pop()):
            header = by_name.get(name)
            body = by_name.get(name.removesuffix(".h") + ".cpp") if header else None
            for path in (header, body):
                if path and path not in reached:
                    reached.add(path)
                    open_ends.append(path)
    return sorted(reached)


def check_libraries(sources):
    for path in linked_files(sources):
        for line, name in includes_of(path):
            if FORBIDDEN.search(name):
                yield f'{path}:{line}: "{name}": belljar-warden would be linked with it'


def check():
    sources = warden_sources()
    return [*check_lines(sources), *check_libraries(sources)]


if __name__ == "__main__":
    repository.main(check)
