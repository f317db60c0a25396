"""Files that stay between programs, below one directory, within limits; and checkpoints.

The directory is /workspace, or the one that the variable WORKSPACE_PATH names. Paths are relative
to it, and nothing outside of it can be reached through this module.
"""

import json as _json
import os as _os
import re as _re

MAX_FILE_SIZE = 10 * 1024 * 1024
MAX_TOTAL_SIZE = 100 * 1024 * 1024
ALLOWED_EXTENSIONS = (".txt", ".json", ".csv", ".yaml", ".yml", ".md", ".py", ".log", ".xml",
                      ".html", ".css", ".js")
_CHECKPOINTS = ".checkpoints"
_CHECKPOINT_NAME = _re.compile(r"[A-Za-z0-9_-]{1,100}")


def write_file(filepath: str, content: str, overwrite: bool = True) -> dict:
    """Writes a text file and the directories that it needs."""
    place = _place(filepath)
    _check_extension(place)
    data = content.encode()
    if len(data) > MAX_FILE_SIZE:
        raise ValueError(f"A file may have at most {MAX_FILE_SIZE} bytes, not {len(data)}")
    if _os.path.exists(place) and not overwrite:
        raise FileExistsError(f"{filepath} is there already")
    before = _os.path.getsize(place) if _os.path.isfile(place) else 0
    if _used_bytes() - before + len(data) > MAX_TOTAL_SIZE:
        raise ValueError(f"The workspace may hold at most {MAX_TOTAL_SIZE} bytes")
    _os.makedirs(_os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(data)
    return {"success": True, "filepath": _relative(place), "size": len(data)}


def read_file(filepath: str) -> str:
    """The text of a file."""
    with open(_existing(filepath), encoding="utf-8", errors="replace") as file:
        return file.read(MAX_FILE_SIZE)


def delete_file(filepath: str) -> dict:
    """Removes a file."""
    _os.remove(_existing(filepath))
    return {"success": True, "filepath": filepath}


def list_files(directory: str = "", recursive: bool = False) -> list:
    """The files of a directory, with those below it if recursive, as paths of the workspace."""
    place = _place(directory)
    if not _os.path.isdir(place):
        raise FileNotFoundError(f"There is no directory {directory}")
    found = [path for path in _walk(place)
             if recursive or _os.path.dirname(path) == place]
    return sorted(_relative(path) for path in found)


def file_exists(filepath: str) -> bool:
    """Whether there is such a file."""
    return _os.path.isfile(_place(filepath))


def create_directory(directory: str) -> dict:
    """Makes a directory and those above it."""
    _os.makedirs(_place(directory), exist_ok=True)
    return {"success": True, "directory": directory}


def get_workspace_info() -> dict:
    """How much is stored, and what may be."""
    root = _root()
    exists = _os.path.isdir(root)
    used = _used_bytes()
    directories = sum(len(folders) for _, folders, _ in _os.walk(root)) if exists else 0
    return {"workspace_path": root, "exists": exists, "file_count": sum(1 for _ in _walk(root)),
            "directory_count": directories, "used_bytes": used, "max_bytes": MAX_TOTAL_SIZE,
            "used_percent": round(100 * used / MAX_TOTAL_SIZE, 2), "max_file_size": MAX_FILE_SIZE,
            "allowed_extensions": sorted(ALLOWED_EXTENSIONS)}


def save_checkpoint(name: str, data) -> dict:
    """Keeps anything that JSON can hold under a name."""
    return write_file(_checkpoint(name), _json.dumps(data))


def load_checkpoint(name: str):
    """What was kept under the name."""
    return _json.loads(read_file(_checkpoint(name)))


def list_checkpoints() -> list:
    """The names under which something is kept."""
    place = _place(_CHECKPOINTS)
    names = _os.listdir(place) if _os.path.isdir(place) else []
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def delete_checkpoint(name: str) -> dict:
    """Forgets what was kept under the name."""
    return delete_file(_checkpoint(name))


def _root():
    return _os.path.realpath(_os.environ.get("WORKSPACE_PATH", "/workspace"))


def _place(path):
    root = _root()
    place = _os.path.realpath(_os.path.join(root, path))
    if place != root and not place.startswith(root + "/"):
        raise PermissionError(f"{path} is outside of the workspace")
    return place


def _existing(path):
    place = _place(path)
    if not _os.path.isfile(place):
        raise FileNotFoundError(f"There is no file {path}")
    return place


def _relative(place):
    return _os.path.relpath(place, _root())


def _check_extension(place):
    if _os.path.splitext(place)[1].lower() not in ALLOWED_EXTENSIONS:
        raise ValueError(f"Allowed are files with {' '.join(ALLOWED_EXTENSIONS)}")


def _walk(place):
    for directory, _, files in _os.walk(place):
        for file in files:
            path = _os.path.join(directory, file)
            if _os.path.isfile(path) and not _os.path.islink(path):
                yield path


def _used_bytes():
    return sum(_os.path.getsize(path) for path in _walk(_root()))


def _checkpoint(name):
    if not _CHECKPOINT_NAME.fullmatch(name):
        raise ValueError("A checkpoint's name has letters, digits, _ and -")
    return f"{_CHECKPOINTS}/{name}.json"
