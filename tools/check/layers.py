#!/usr/bin/env python3
"""Includes and CMake links in src/ and apps/ point down the list of layers, never up or sideways.

Two things are checked for each folder: that everything it includes or links lies on a lower line,
and that it links what it includes, so that the graph CMake knows is the real one.
"""

import re

import repository

# From high to low. Folders on one line never include each other.
LAYERS = [
    ["transport"],
    ["mcp", "api"],
    ["access"],
    ["engine", "keeper"],
    ["policy", "alerts", "privacy", "approved", "isolation", "host",
     "runner", "audit", "storage", "outcome"],
    ["jar", "cgroup"],
    ["execution", "config", "crypto"],
    ["base"],
]
DEPTH = {folder: depth for depth, line in enumerate(LAYERS) for folder in line}
# The privileged process holds nothing that parses what a client sent.
WARDEN_MAY_USE = {"isolation", "cgroup", "jar", "execution", "base"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
MODULE = re.compile(r"belljar_module\(\s*(\w+)([^)]*)\)")
PROGRAM_LINK = re.compile(r"(?:target_link_libraries|belljar_link)\(\s*([\w-]+)([^)]*)\)")


def words_after(keyword, text):
    """The words after LINK, up to the next word in capitals."""
    found = []
    taking = False
    for word in text.split():
        if word.isupper():
            taking = word == keyword
        elif taking:
            found.append(word)
    return found


def linked_modules():
    """folder -> folders of src/ that its CMakeLists.txt links."""
    links = {}
    for path in repository.files("src/*/CMakeLists.txt"):
        for name, arguments in MODULE.findall(without_comments(repository.read(path))):
            words = words_after("LINK", arguments)
            links[name] = {word.removeprefix("belljar_") for word in words} & set(DEPTH)
    return links


def without_comments(cmake):
    return re.sub(r"#.*", "", cmake)


def closure(folder, links):
    reached, open_ends = set(), [folder]
    while open_ends:
        for link in links.get(open_ends.pop(), ()):
            if link not in reached:
                reached.add(link)
                open_ends.append(link)
    return reached


def wrong_direction(folder, used):
    if used == folder or DEPTH[used] > DEPTH[folder]:
        return None
    if DEPTH[used] == DEPTH[folder]:
        return f"{folder} and {used} are on one layer and must not know each other"
    return f"{used} is above {folder}"


def check_links(links):
    for folder, linked in links.items():
        if folder not in DEPTH:
            continue  # reported by check_folders
        for used in sorted(linked):
            if reason := wrong_direction(folder, used):
                yield f"src/{folder}/CMakeLists.txt: links {used}: {reason}"


def check_folders():
    folders = {path.parts[1] for path in repository.files("src/*") if len(path.parts) > 2}
    for folder in sorted(folders - set(DEPTH)):
        yield f"src/{folder}: this folder is in no layer; tools/check/layers.py lists them"


def includes_of(path):
    """(line, folder) for each include of a folder of src/."""
    text = repository.read(path)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def check_includes(links):
    for path in repository.files("src/*.h", "src/*.cpp"):
        folder = path.parts[1]
        if folder not in DEPTH:
            continue
        known = closure(folder, links) | {folder}
        for line, name in includes_of(path):
            used = name.split("/")[0]
            if (repository.ROOT / path.parent / name).exists():
                yield f'{path}:{line}: "{name}": write the path from src/: "{folder}/{name}"'
            elif used not in DEPTH:
                continue  # generated, or of a library
            elif reason := wrong_direction(folder, used):
                yield f'{path}:{line}: "{name}": {reason}'
            elif folder in links and used not in known:
                yield f'{path}:{line}: "{name}": src/{folder}/CMakeLists.txt does not link {used}'


def check_warden(links):
    for path in repository.files("apps/warden/*.h", "apps/warden/*.cpp"):
        for line, name in includes_of(path):
            used = name.split("/")[0]
            if used in DEPTH and used not in WARDEN_MAY_USE:
                yield f'{path}:{line}: "{name}": the warden uses only {sorted(WARDEN_MAY_USE)}'
    for path in repository.files("apps/CMakeLists.txt", "apps/*/CMakeLists.txt"):
        for target, arguments in PROGRAM_LINK.findall(without_comments(repository.read(path))):
            if "warden" not in target:
                continue
            named = {word.removeprefix("belljar_") for word in arguments.split()} & set(DEPTH)
            reached = named.union(*(closure(folder, links) for folder in named))
            for used in sorted(reached - WARDEN_MAY_USE):
                yield f"{path}: {target} links {used}, not one of {sorted(WARDEN_MAY_USE)}"


def check():
    links = linked_modules()
    return [*check_folders(), *check_links(links), *check_includes(links), *check_warden(links)]


if __name__ == "__main__":
    repository.main(check)
