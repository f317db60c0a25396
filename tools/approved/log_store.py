"""Searches log files where they lie, so that only the lines that matter leave the sandbox.

Each service has its own file, `<service>.log` (or .jsonl, .ndjson with one JSON object in a line),
with older parts beside it: `<service>.log.1`, `<service>.log-20260131`, each also as .gz. They are
looked for in the directory that the variable LOGS_PATH names, then in /logs, then in the directory
logs of the workspace.

Files are read from their end in blocks, so that size costs time only where nothing fits, and never
memory. A line of more than 8 MiB counts as several; of a long one only the beginning is given.
"""

import collections as _collections
import datetime as _datetime
import itertools as _itertools
import json as _json
import os as _os
import re as _re
import stat as _stat
import warnings as _warnings
import zlib as _zlib

_PLACES = ("/logs", "/workspace/logs")
_SERVICE = _re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_PART = _re.compile(r"(.+?)\.(?:log|jsonl|ndjson)"
                    r"(?:\.(\d{1,6})|[.-](\d{4}-?\d\d-?\d\d(?:[T_.-]?\d\d){0,3}))?(?:\.gz)?")
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEVEL = _re.compile(rb"\b(TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|ERR|CRITICAL|FATAL|PANIC"
                     rb"|EMERG)\b", _re.IGNORECASE)
# What a line of that level has in it, in lower case.
_SPELLINGS = {"TRACE": (b"trace",), "DEBUG": (b"debug",), "INFO": (b"info", b"notice"),
              "WARNING": (b"warn",), "ERROR": (b"err",),
              "CRITICAL": (b"critical", b"fatal", b"panic", b"emerg")}
_SAME = {"WARN": "WARNING", "NOTICE": "INFO", "ERR": "ERROR", "FATAL": "CRITICAL",
         "PANIC": "CRITICAL", "EMERG": "CRITICAL"}
_ERRORS = ("ERROR", "CRITICAL")
_WORD = _re.compile(r"\b[A-Za-z_][\w.]*")
_END_OF_TYPE = _re.compile(r"(?:Error|Exception|Timeout|Failure)\b")
_TIME = _re.compile(rb"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?")
_LEVEL_KEYS = ("level", "severity", "levelname", "log_level", "lvl")
_TYPE_KEYS = ("error_type", "exception", "error", "exc_type", "type")
_BLOCK = 8 << 20
_MOST_LINES = 10_000
_LONGEST_LINE = 10_000
_MOST_PARTS = 2_000


def search_logs(service_name: str, keyword: str, limit: int = 100, log_level: str = None,
                since: str = None, until: str = None) -> list:
    """Lines of a service that contain the keyword, in any case, the oldest first: the latest
    `limit` of them. log_level keeps those of one level, since and until those of a time, such as
    "2026-01-31T12:00:00Z"."""
    wanted = _Wanted(keyword, log_level, _moment(since), _moment(until))
    found = _latest(_Parts(service_name), wanted, _bounded(limit))
    return found or [f"No logs found for service '{service_name}' matching '{keyword}'"]


def get_error_summary(service_name: str, hours: int = 24) -> dict:
    """How many errors of which type a service has logged in the last hours. Lines without a time
    have that of the line before them, and count if there is none."""
    hours = max(1, int(hours))
    since = _datetime.datetime.now(_datetime.timezone.utc) - _datetime.timedelta(hours=hours)
    types = _collections.Counter()
    with _known_parts(service_name) as parts:
        for block in parts.blocks_since(since):
            for line in _lines_of_levels(block, _ERRORS):
                time = block.time_of(line)
                if time is None or time >= since:
                    types[_type_of(block.text(line))] += 1
    total = sum(types.values())
    return {"service": service_name, "time_range_hours": hours, "total_errors": total,
            "errors_by_type": dict(types.most_common()),
            "most_frequent_error": types.most_common(1)[0][0] if types else None,
            "error_rate_per_hour": round(total / hours, 2)}


def tail_logs(service_name: str, lines: int = 50) -> list:
    """The last lines of a service, the oldest first."""
    return _latest(_known_parts(service_name), _Wanted("", None, None, None), _bounded(lines))


def list_services() -> list:
    """The services that have a log."""
    found = (_PART.fullmatch(name) for name in _os.listdir(_directory()))
    return sorted({part.group(1) for part in found if part and _SERVICE.fullmatch(part.group(1))})


# --- what is looked for

class _Wanted:
    def __init__(self, keyword, level, since, until):
        self.since, self.until = since, until
        self.level = _plain_level(level) if level else None
        if self.level and self.level not in _LEVELS:
            raise ValueError(f"log_level is one of {', '.join(_LEVELS)}")
        words = {keyword.lower(), _json.dumps(keyword.lower())[1:-1]}
        self.words = [word.encode(errors="replace") for word in words]
        self.ascii = keyword.isascii()

    def lines_in(self, block):
        """(begin, end) of the lines that fit, the last first."""
        if self.until is not None and block.is_after(self.until):
            return iter(())
        if self.level and b"" in self.words:
            candidates = _lines_of_levels(block, (self.level,))
            return (line for line in candidates if self._fits(block, line))
        text = block.lowered(self.ascii)
        if text is None:  # letters whose other case has another length
            candidates = (line for line in block.lines()
                          if any(word in block.text(line).lower().encode(errors="replace")
                                 for word in self.words))
        else:
            candidates = block.lines_with(text, self.words)
        return (line for line in candidates if self._fits(block, line))

    def _fits(self, block, line):
        if self.level and _level_of(block.data[slice(*line)]) != self.level:
            return False
        if self.since is None and self.until is None:
            return True
        time = block.time_of(line)
        return time is not None and (self.since is None or time >= self.since) and (
            self.until is None or time < self.until)


def _latest(parts, wanted, limit):
    """The texts of the last lines that fit, the oldest first."""
    found = []  # the last first
    with parts:
        for name, descriptor in parts.since(wanted.since):
            missing = limit - len(found)
            if missing == 0:
                break
            if name.endswith(".gz"):
                found += _latest_packed(name, descriptor, wanted, missing)
                continue
            for block in _plain_blocks(descriptor, wanted.since):
                lines = _itertools.islice(wanted.lines_in(block), limit - len(found))
                found += [block.text(line) for line in lines]
                if len(found) == limit:
                    break
    return found[::-1]


def _latest_packed(name, descriptor, wanted, limit):
    """The last first. What is packed can only be read from its beginning."""
    found = _collections.deque(maxlen=limit)
    for block in _packed_blocks(name, descriptor):
        lines = list(_itertools.islice(wanted.lines_in(block), limit))
        found.extend(block.text(line) for line in reversed(lines))
    return reversed(found)


def _bounded(count):
    return max(1, min(int(count), _MOST_LINES))


def _moment(time):
    if time is None:
        return None
    if not isinstance(time, _datetime.datetime):
        time = _datetime.datetime.fromisoformat(str(time).replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=_datetime.timezone.utc)


# --- lines

class _Block:
    """Whole lines, one after the other."""

    def __init__(self, data):
        self.data = data
        # Where the lines begin that were looked at for a time last: only the first may have one.
        self._first, self._last, self._time = 0, -1, None

    def lowered(self, ascii):
        if ascii:
            return self.data.lower()
        lowered = self.data.decode(errors="replace").lower().encode()
        return lowered if len(lowered) == len(self.data) else None

    def lines(self):
        """(begin, end) of each that is not empty, the last first."""
        end = len(self.data)
        while end > 0:
            begin = self.data.rfind(b"\n", 0, end) + 1
            if self.data[begin:end].strip():
                yield begin, end
            end = begin - 1

    def lines_with(self, text, words):
        """(begin, end) of each that has one of the words, the last first."""
        if b"" in words:
            return self.lines()
        found = {}
        for word in words:
            place = text.find(word)
            while place >= 0:
                begin = text.rfind(b"\n", 0, place) + 1
                end = text.find(b"\n", place)
                found[begin] = end if end >= 0 else len(text)
                place = text.find(word, found[begin])
        return sorted(found.items(), reverse=True)

    def text(self, line):
        begin, end = line
        data = self.data[begin:min(end, begin + 4 * _LONGEST_LINE)]
        return data.decode(errors="replace").rstrip("\r")[:_LONGEST_LINE]

    def time_of(self, line):
        """Its own, or that of the nearest line before it."""
        if not self._first <= line[0] <= self._last:
            self._first = self._last = line[0]
            self._time = self._own_time(*line)
        for _ in range(200):  # lines of a long stack trace
            if self._time is not None or self._first <= 0:
                break
            end = self._first - 1
            self._first = self.data.rfind(b"\n", 0, end) + 1
            self._time = self._own_time(self._first, end)
        return self._time

    def _own_time(self, begin, end):
        return _time_in(self.data[begin:min(end, begin + _LONGEST_LINE)])

    def is_after(self, moment):
        """Whether even the first of it was; logs are in the order of time."""
        time = _time_in(self.data[:self.data.find(b"\n")][:_LONGEST_LINE])
        return time is not None and time >= moment

    def is_before(self, moment):
        """Whether even the last of it was; what comes before it is older."""
        last = next(self.lines(), None)
        time = self.time_of(last) if last else None
        return time is not None and time < moment


def _lines_of_levels(block, levels):
    """(begin, end) of the lines that have one of the levels, the last first."""
    words = [word for level in levels for word in _SPELLINGS[level]]
    if block.data.lstrip()[:1] == b"{":  # loggers of Node number them: 10, 20 ... 60
        numbers = [b"%d0" % (1 + _LEVELS.index(level)) for level in levels]
        words += [mark + number for number in numbers for mark in (b":", b": ")]
    return (line for line in block.lines_with(block.data.lower(), words)
            if _level_of(block.data[slice(*line)]) in levels)


def _plain_level(level):
    level = level.upper()
    return _SAME.get(level, level)


def _level_of(line):
    fields = _fields_of(line)
    if fields is not None:
        level = next((fields[key] for key in _LEVEL_KEYS if key in fields), "")
        if isinstance(level, int):
            return _LEVELS[max(0, min(level // 10 - 1, len(_LEVELS) - 1))]
        return _plain_level(str(level))
    found = _LEVEL.search(line)
    return _plain_level(found.group(1).decode()) if found else None


def _fields_of(line):
    """Of a line that is a JSON object; else None."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        fields = _json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _type_of(text):
    fields = _fields_of(text.encode(errors="replace")) or {}
    for key in _TYPE_KEYS:
        value = fields.get(key)
        value = value.get("type") if isinstance(value, dict) else value
        if isinstance(value, str) and value:
            return _type_in(value) or value[:100]
    return _type_in(text) or "Other"


def _type_in(text):
    """The first word that is called like an error, as far as it is; None if there is none."""
    for word in _WORD.finditer(text):
        ends = [end.end() for end in _END_OF_TYPE.finditer(text, word.start() + 1, word.end())]
        if ends:
            return text[word.start():ends[-1]]
    return None


def _time_in(line):
    found = _TIME.search(line)
    if not found:
        return None
    date, time, zone = (part.decode() if part else None for part in found.groups())
    zone = "+00:00" if zone in (None, "Z") else zone
    try:
        return _datetime.datetime.fromisoformat(f"{date}T{time}{zone}")
    except ValueError:
        return None


# --- files

def _directory():
    for place in (_os.environ.get("LOGS_PATH", ""), *_PLACES):
        if place and _os.path.isdir(place):
            return place
    raise LookupError("There is no log directory here: neither $LOGS_PATH nor "
                      f"{' nor '.join(_PLACES)} exists")


class _Parts:
    """The open files of a service's log, the newest first. They stay the same files if somebody
    rotates them meanwhile."""

    def __init__(self, service_name):
        if not isinstance(service_name, str) or not _SERVICE.fullmatch(service_name):
            raise ValueError("service_name is a name of letters, digits and . _ -")
        self._service = service_name
        self._directory = _directory()
        self.files = {}
        for _ in range(5):  # until nothing was rotated while the files were opened
            names = self._names()
            self._open(names)
            if names == self._names():
                break

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for descriptor in self.files.values():
            _os.close(descriptor)
        self.files = {}

    def _names(self):
        """Name and file number of each, the newest first."""
        found = []
        for name in _os.listdir(self._directory):
            part = _PART.fullmatch(name)
            if part and part.group(1) == self._service:
                try:
                    number = _os.stat(_os.path.join(self._directory, name)).st_ino
                except OSError:
                    continue
                date = int("".join(filter(str.isdigit, part.group(3) or "")).ljust(14, "0"))
                found.append((part.group(2) is not None or part.group(3) is not None, -date,
                              int(part.group(2) or 0), name, number))
        return [entry[3:] for entry in sorted(found)][:_MOST_PARTS]

    def _open(self, names):
        self.close()
        for name, _ in names:
            try:
                descriptor = _os.open(_os.path.join(self._directory, name),
                                      _os.O_RDONLY | _os.O_NONBLOCK | _os.O_CLOEXEC)
            except OSError as error:
                _warn(name, f"cannot be read: {error.strerror}")
                continue
            if _stat.S_ISREG(_os.fstat(descriptor).st_mode):
                self.files[name] = descriptor
            else:
                _os.close(descriptor)


    def since(self, moment):
        """Those that were written to after the moment."""
        for name, descriptor in self.files.items():
            if moment is None or _os.fstat(descriptor).st_mtime >= moment.timestamp():
                yield name, descriptor

    def blocks_since(self, moment):
        for name, descriptor in self.since(moment):
            yield from (_packed_blocks(name, descriptor) if name.endswith(".gz")
                        else _plain_blocks(descriptor, moment))


def _known_parts(service_name):
    parts = _Parts(service_name)
    if not parts.files:
        raise LookupError(f"There is no log of '{service_name}'; there are logs of: "
                          f"{', '.join(list_services()) or 'nothing'}")
    return parts


def _plain_blocks(descriptor, since):
    """From the last line to the first, or to one that is older."""
    # Not by mmap: who reads a mapped file that somebody truncates is killed.
    end = _os.fstat(descriptor).st_size
    while end > 0:
        begin = max(0, end - _BLOCK)
        data = _os.pread(descriptor, end - begin, begin)
        # After a line that began before; one that fills the block is taken for whole.
        first = data.find(b"\n", 0, len(data) - 1) + 1 if begin > 0 else 0
        block = _Block(data[first:])
        yield block
        if since is not None and block.is_before(since):
            return
        end = begin + first


def _packed_blocks(name, descriptor):
    """From the first line to the last."""
    machine, rest, place, inside = _zlib.decompressobj(31), b"", 0, False
    try:
        while packed := _os.pread(descriptor, 1 << 20, place):
            place += len(packed)
            while packed:
                rest += machine.decompress(packed, _BLOCK)
                packed = machine.unconsumed_tail
                inside = not machine.eof
                if machine.eof:  # several members, one after the other
                    packed = machine.unused_data.lstrip(b"\0")
                    machine = _zlib.decompressobj(31)
                if len(rest) >= _BLOCK:
                    cut = rest.rfind(b"\n") + 1 or len(rest)
                    yield _Block(rest[:cut])
                    rest = rest[cut:]
    except _zlib.error as error:
        inside = False
        _warn(name, f"is damaged, and not searched from there on: {error}")
    if inside:
        _warn(name, "ends before its end; somebody may still be writing it")
    if rest:
        yield _Block(rest)


def _warn(name, text):
    _warnings.warn(f"{name} {text}", RuntimeWarning, stacklevel=3)
