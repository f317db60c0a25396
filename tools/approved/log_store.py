"""Searches log files where they lie, so that only the lines that matter leave the sandbox.

Each service has its own file, `<service>.log`, with older parts beside it (`<service>.log.1`,
`<service>.log.2.gz`). They are looked for in the directory that the variable LOGS_PATH names, then
in /logs, then in the directory logs of the workspace.
"""

import collections as _collections
import datetime as _datetime
import gzip as _gzip
import os as _os
import re as _re

_PLACES = ("/logs", "/workspace/logs")
_SERVICE = _re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LEVEL = _re.compile(r"\b(CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|DEBUG|TRACE)\b", _re.IGNORECASE)
_TYPE = _re.compile(r"\b([A-Za-z_][\w.]*(?:Error|Exception|Timeout|Failure))\b")
_TIME = _re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?")
_ERRORS = ("ERROR", "CRITICAL", "FATAL")
_MOST_LINES = 10_000
_LONGEST_LINE = 10_000


def search_logs(service_name: str, keyword: str, limit: int = 100,
                log_level: str = None) -> list:
    """Lines of a service that contain the keyword, in any case, the oldest first; of one level only
    if log_level is given. The latest `limit` of them."""
    wanted = keyword.lower()
    found = _collections.deque(maxlen=_bounded(limit))
    for line in _lines(service_name):
        if wanted in line.lower() and _has_level(line, log_level):
            found.append(line)
    return list(found) or [f"No logs found for service '{service_name}' matching '{keyword}'"]


def get_error_summary(service_name: str, hours: int = 24) -> dict:
    """How many errors of which type a service has logged in the last hours. Lines without a time
    count as long as their file has no times at all."""
    hours = max(1, int(hours))
    since = _datetime.datetime.now(_datetime.timezone.utc) - _datetime.timedelta(hours=hours)
    types = _collections.Counter()
    recent = True
    for line in _lines(service_name):
        time = _time_of(line)
        recent = time >= since if time else recent
        if recent and _level_of(line) in _ERRORS:
            types[_type_of(line)] += 1
    total = sum(types.values())
    return {"service": service_name, "time_range_hours": hours, "total_errors": total,
            "errors_by_type": dict(types.most_common()),
            "most_frequent_error": types.most_common(1)[0][0] if types else None,
            "error_rate_per_hour": round(total / hours, 2)}


def tail_logs(service_name: str, lines: int = 50) -> list:
    """The last lines of a service."""
    return list(_collections.deque(_lines(service_name), maxlen=_bounded(lines)))


def list_services() -> list:
    """The services that have a log."""
    names = (name for name in _os.listdir(_directory()))
    return sorted({name.split(".log")[0] for name in names if ".log" in name})


def _directory():
    places = [_os.environ.get("LOGS_PATH", ""), *_PLACES]
    for place in places:
        if place and _os.path.isdir(place):
            return place
    raise LookupError("There is no log directory here: neither $LOGS_PATH nor "
                      f"{' nor '.join(_PLACES)} exists")


def _files(service_name):
    """The parts of a service's log, the oldest first."""
    directory = _directory()
    if not _SERVICE.fullmatch(service_name):
        raise ValueError("service_name is a name of letters, digits and . _ -")
    part = _re.compile(_re.escape(service_name) + r"\.log(?:\.(\d+))?(?:\.gz)?")
    found = []
    for name in _os.listdir(directory):
        matched = part.fullmatch(name)
        path = _os.path.join(directory, name)
        if matched and _os.path.isfile(path) and not _os.path.islink(path):
            found.append((-int(matched.group(1) or 0), path))
    if not found:
        raise LookupError(f"There is no log of '{service_name}'; there are logs of: "
                          f"{', '.join(list_services()) or 'nothing'}")
    return [path for _, path in sorted(found)]


def _lines(service_name):
    for path in _files(service_name):
        opened = _gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            while line := file.readline(_LONGEST_LINE):
                text = line.rstrip("\r\n")
                if text:
                    yield text


def _bounded(count):
    return max(1, min(int(count), _MOST_LINES))


def _level_of(line):
    found = _LEVEL.search(line)
    level = found.group(1).upper() if found else None
    return "WARNING" if level == "WARN" else level


def _has_level(line, level):
    if not level:
        return True
    wanted = level.upper()
    return _level_of(line) == ("WARNING" if wanted == "WARN" else wanted)


def _type_of(line):
    found = _TYPE.search(line)
    return found.group(1) if found else "Other"


def _time_of(line):
    found = _TIME.search(line)
    if not found:
        return None
    date, time, zone = found.groups()
    zone = "+00:00" if zone in (None, "Z") else zone
    try:
        return _datetime.datetime.fromisoformat(f"{date}T{time}{zone}")
    except ValueError:
        return None
