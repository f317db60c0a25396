"""Looks for files on every way there could be. Arguments: a part of their name, then full paths."""

import os
import sys

needle, paths = sys.argv[1], sys.argv[2:]
found = []
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders.remove("proc")
    found += [os.path.join(folder, name) for name in folders + files if needle in name]
for path in paths:
    for start in ("", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../..", "/../.."):
        if os.path.exists(start + path):
            found.append(start + path)
print(found)
