#!/usr/bin/env python3
"""Sizes and names, as a ratchet: what is too big stands in style_exceptions.toml with a reason.

An entry of that list names path, rule, limit and reason, and the function if the rule is about one.
It fails as soon as it is no longer needed or its limit could be lower, so the list only shrinks.
"""

import dataclasses
import re
import sys
import tomllib

import cpp_functions
import repository

LINE_LENGTH = 100
FUNCTION_LINES = 70
PARAMETERS = 5
NESTING = 3
HEADER_LINES = 250
FILE_LINES = 800
TEST_LINES = 1000
FOLDER_README_LINES = 15
PUBLIC_MACROS = 5

SOURCES = ("*.h", "*.cpp", "*.py", "*.sh", "*.js", "*.mjs", "*.ts", "*.tsx", "*.cmake", "dev",
           ".ci/run", "*CMakeLists.txt")
VAGUE_NAMES = {"util", "utils", "utility", "common", "core", "misc", "helper", "helpers"}
EXCEPTIONS = "tools/check/style_exceptions.toml"
# Macros by which a header sets up the library that it brings, and that nobody else includes.
SETTINGS = {"src/config/toml_parser.h": "TOML_"}
BROUGHT = {"toml++/toml.h": "src/config/toml_parser.h"}


@dataclasses.dataclass
class Finding:
    path: str
    rule: str
    value: int
    limit: int
    line: int = 0
    function: str = ""

    def __str__(self):
        where = f"{self.path}:{self.line}" if self.line else self.path
        name = f" {self.function}()" if self.function else ""
        return f"{where}:{name} {self.rule} is {self.value}, at most {self.limit}"


def is_test(path):
    return path.parts[0] == "tests" or path.stem.endswith("_test")


def check_file_sizes(path, text):
    lines = text.splitlines()
    if path.suffix == ".h":
        rule, limit = "header-lines", HEADER_LINES
    else:
        rule, limit = "file-lines", TEST_LINES if is_test(path) else FILE_LINES
    if len(lines) > limit:
        yield Finding(str(path), rule, len(lines), limit)
    longest, number = max(((len(line), n) for n, line in enumerate(lines, 1)), default=(0, 0))
    if longest > LINE_LENGTH:
        yield Finding(str(path), "line-length", longest, LINE_LENGTH, number)


def check_functions(path, text):
    for function in cpp_functions.find_functions(text):
        for rule, value, limit in (("function-lines", function.lines, FUNCTION_LINES),
                                   ("parameters", function.parameters, PARAMETERS),
                                   ("nesting", function.nesting, NESTING)):
            if value > limit:
                yield Finding(str(path), rule, value, limit, function.line, function.name)


def check_sizes():
    for path in repository.files(*SOURCES):
        text = repository.read(path)
        yield from check_file_sizes(path, text)
        if path.suffix in (".h", ".cpp"):
            yield from check_functions(path, text)


def check_names():
    for path in repository.files():
        for part in [*path.parts[:-1], path.stem]:
            if part.lower() in VAGUE_NAMES:
                yield f"{path}: \"{part}\" says nothing; name it after what it does"


def check_folder_readmes():
    folders = {path.parents[-3] for path in repository.files("src/*") if len(path.parts) > 2}
    for folder in sorted(folders):
        readme = folder / "README.md"
        if not (repository.ROOT / readme).is_file():
            yield f"{folder}: has no README.md (purpose, file to read first, invariants)"
        elif (lines := len(repository.read(readme).splitlines())) > FOLDER_README_LINES:
            yield f"{readme}: {lines} lines, at most {FOLDER_README_LINES}"


def check_macros():
    """Macros begin with BJ_, few are used elsewhere; a library comes as it was set up."""
    texts = {path: repository.read(path) for path in repository.files("src/*.h", "src/*.cpp",
                                                                     "apps/*.h", "apps/*.cpp")}
    public = set()
    for path, text in texts.items():
        for name in re.findall(r"^\s*#\s*include\s+<([^>]+)>", text, re.MULTILINE):
            if BROUGHT.get(name, str(path)) != str(path):
                yield f"{path}: {name} is included through {BROUGHT[name]}"
        for name in re.findall(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE):
            if not name.startswith("BJ_"):
                if path.suffix == ".h" and not name.startswith(SETTINGS.get(str(path), "BJ_")):
                    yield f"{path}: macro {name} does not begin with BJ_"
            elif any(re.search(rf"\b{name}\b", other)
                     for where, other in texts.items() if where != path):
                public.add(name)
    if len(public) > PUBLIC_MACROS:
        names = ", ".join(sorted(public))
        yield f"src: {len(public)} public macros, at most {PUBLIC_MACROS}: {names}"


def read_exceptions():
    """Key -> entry; and what is wrong with the list itself."""
    entries, problems = {}, []
    for entry in tomllib.loads(repository.read(EXCEPTIONS)).get("exception", []):
        missing = {"path", "rule", "limit", "reason"} - entry.keys()
        if missing or not str(entry.get("reason", "")).strip():
            lacking = ", ".join(sorted(missing)) or "a reason"
            problems.append(f"{EXCEPTIONS}: {entry}: lacks {lacking}")
            continue
        entries[entry["path"], entry["rule"], entry.get("function", "")] = entry
    return entries, problems


def apply_exceptions(findings):
    entries, left = read_exceptions()
    used = {}
    for finding in findings:
        key = finding.path, finding.rule, finding.function
        entry = entries.get(key)
        if entry and finding.value <= entry["limit"]:
            used[key] = max(used.get(key, 0), finding.value)
        else:
            left.append(str(finding))
            if entry:
                used[key] = entry["limit"]
    for key, entry in entries.items():
        where = " ".join(filter(None, key))
        if key not in used:
            left.append(f"{EXCEPTIONS}: {where}: no longer needed; remove it")
        elif used[key] < entry["limit"]:
            left.append(f"{EXCEPTIONS}: {where}: lower its limit to {used[key]}")
    return left


def check():
    return [*apply_exceptions(check_sizes()), *check_names(), *check_folder_readmes(),
            *check_macros()]


if __name__ == "__main__":
    if "--list" in sys.argv:  # every function with its sizes, to look at the parser's work
        for source in repository.files("*.h", "*.cpp"):
            for one in cpp_functions.find_functions(repository.read(source)):
                print(source, one)
    else:
        repository.main(check)
