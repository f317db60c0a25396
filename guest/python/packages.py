"""Which packages the interpreter has, and in which version it has the one that is asked for."""

import importlib.metadata
import json
import re
import sys


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def installed():
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(plain(name), (name, distribution.version))
    return found


def answer(wanted):
    found = installed()
    _, version = found.get(plain(wanted), (None, None))
    listed = [{"name": name, "version": version} for name, version in sorted(
        found.values(), key=lambda pair: plain(pair[0]))]
    return {"version": version, "packages": listed}


answer(json.load(sys.stdin)["package"])
