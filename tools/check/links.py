#!/usr/bin/env python3
"""Every relative link, anchor and path in backticks in the Markdown files leads somewhere."""

import re
import urllib.parse

import repository

FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[^\n]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
CODE = re.compile(r"(`+)(.+?)\1")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
EXPLICIT_ANCHOR = re.compile(r"<a\s+(?:id|name)=[\"']([^\"']+)")
PATH = re.compile(r"(?:src|docs|apps|tests|fuzz|bench|tools|cmake|guest|\.ci)/[\w./+-]*")


def blank(match):
    """Keeps the lines, so that line numbers stay right."""
    return re.sub(r"[^\n]", " ", match.group(0))


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    text = FENCE.sub(blank, repository.read(path))
    found = set(EXPLICIT_ANCHOR.findall(text))
    counts = {}
    for heading in HEADING.findall(text):
        name = slug(heading)
        count = counts.get(name, 0)
        counts[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def broken_link(path, target):
    """Why the link leads nowhere, or None."""
    if re.match(r"[a-zA-Z][\w+.-]*:|//", target):
        return None
    name, _, anchor = urllib.parse.unquote(target).partition("#")
    base = repository.ROOT if name.startswith("/") else repository.ROOT / path.parent
    goal = (base / name.lstrip("/")).resolve() if name else repository.ROOT / path
    if not goal.is_relative_to(repository.ROOT):
        return "leads out of the repository"
    if not goal.exists():
        return "does not exist"
    if anchor and goal.suffix == ".md" and anchor not in anchors(goal):
        return f"has no heading #{anchor}"
    return None


def check_file(path):
    text = FENCE.sub(blank, repository.read(path))
    plain = CODE.sub(blank, text)
    for pattern in (LINK, REFERENCE):
        for match in pattern.finditer(plain):
            if reason := broken_link(path, match.group(1)):
                yield f"{path}:{line_of(text, match)}: {match.group(1)} {reason}"
    for match in CODE.finditer(text):
        name = re.sub(r":\d+(-\d+)?$", "", match.group(2).strip())
        if PATH.fullmatch(name) and "..." not in name and "NNNN" not in name:
            if not (repository.ROOT / name).exists():
                yield f"{path}:{line_of(text, match)}: `{name}` does not exist"


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check():
    return [finding for path in repository.files("*.md") for finding in check_file(path)]


if __name__ == "__main__":
    repository.main(check)
