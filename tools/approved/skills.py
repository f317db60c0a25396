"""Pieces of code that are kept under names, to be run again by later programs.

Each is a directory of the workspace, skills/<name>, with implementation.py, SKILL.md and
metadata.json.
"""

import datetime as _datetime
import inspect as _inspect
import json as _json
import os as _os
import re as _re
import shutil as _shutil

MAX_SKILL_SIZE = 50 * 1024
MAX_SKILLS = 100
_NAME = _re.compile(r"[A-Za-z0-9_-]{1,50}")
_RESERVED = ("__init__", "__main__", "setup", "test", "config")


def save_skill(name: str, code: str, description: str = "", parameters: dict = None,
               returns: str = "", example: str = "", version: str = "1.0.0") -> dict:
    """Keeps a piece of code; one of the same name is replaced."""
    place = _place(name)
    if len(code.encode()) > MAX_SKILL_SIZE:
        raise ValueError(f"A skill may have at most {MAX_SKILL_SIZE} bytes")
    compile(code, f"{name}.py", "exec")
    if not _os.path.isdir(place) and len(_names()) >= MAX_SKILLS:
        raise ValueError(f"At most {MAX_SKILLS} skills are kept; delete one first")
    metadata = {"name": name, "description": description, "parameters": parameters or {},
                "returns": returns, "example": example, "version": version,
                "updated": _datetime.datetime.now(_datetime.timezone.utc).isoformat(
                    timespec="seconds")}
    _os.makedirs(place, exist_ok=True)
    _write(place, "implementation.py", code)
    _write(place, "metadata.json", _json.dumps(metadata, indent=2))
    _write(place, "SKILL.md", _document(metadata))
    return {"success": True, "name": name, "version": version}


def list_skills() -> list:
    """Name, description and version of each."""
    return [{key: metadata.get(key, "") for key in ("name", "description", "version")}
            for metadata in map(_metadata, _names())]


def get_skill(name: str) -> dict:
    """All that is known of one, its code too."""
    place = _existing(name)
    with open(_os.path.join(place, "implementation.py"), encoding="utf-8") as file:
        return {**_metadata(name), "code": file.read()}


def run_skill(name: str, function: str = None, arguments: dict = None, **further):
    """Runs a function of one and gives what it returns: the function named, else the one that is
    called like the skill, else `main`, else the first."""
    # By the place of its file, the interpreter knows whose code it is and what it may import.
    names = {"__name__": f"skill_{name}",
             "__file__": _os.path.join(_place(name), "implementation.py")}
    exec(compile(get_skill(name)["code"], f"skills/{name}.py", "exec"), names)
    functions = {key: value for key, value in names.items()
                 if _inspect.isfunction(value) and not key.startswith("_")}
    choices = [function] if function else [name, "main", *functions]
    chosen = next((functions[key] for key in choices if key in functions), None)
    if chosen is None:
        raise LookupError(f"Skill '{name}' has no function '{function or name}'; it has "
                          f"{', '.join(functions) or 'none'}")
    return chosen(**(arguments or {}), **further)


def delete_skill(name: str) -> dict:
    """Forgets one."""
    _shutil.rmtree(_existing(name))
    return {"success": True, "name": name}


def update_skill(name: str, code: str = None, description: str = None, parameters: dict = None,
                 returns: str = None, example: str = None, version: str = None) -> dict:
    """Changes what is given of one and leaves the rest as it is."""
    known = get_skill(name)
    given = {"code": code, "description": description, "parameters": parameters,
             "returns": returns, "example": example, "version": version}
    changed = {key: known[key] if value is None else value for key, value in given.items()}
    return save_skill(name, **changed)


def search_skills(query: str) -> list:
    """Those whose name or description has the words."""
    words = query.lower().split()
    return [skill for skill in list_skills()
            if all(word in f"{skill['name']} {skill['description']}".lower() for word in words)]


def _root():
    return _os.path.join(_os.environ.get("WORKSPACE_PATH", "/workspace"), "skills")


def _place(name):
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise ValueError("A skill's name has 1 to 50 letters, digits, _ and -, and is none of "
                         f"{', '.join(_RESERVED)}")
    return _os.path.join(_root(), name)


def _existing(name):
    place = _place(name)
    if not _os.path.isfile(_os.path.join(place, "implementation.py")):
        raise LookupError(f"There is no skill '{name}'; there are: {', '.join(_names()) or 'none'}")
    return place


def _names():
    root = _root()
    found = _os.listdir(root) if _os.path.isdir(root) else []
    return sorted(name for name in found
                  if _os.path.isfile(_os.path.join(root, name, "implementation.py")))


def _metadata(name):
    try:
        with open(_os.path.join(_existing(name), "metadata.json"), encoding="utf-8") as file:
            read = _json.load(file)
    except (OSError, ValueError):
        read = {}
    plain = {"name": name, "description": "", "parameters": {}, "returns": "", "example": "",
             "version": "1.0.0"}
    return {**plain, **(read if isinstance(read, dict) else {})}


def _write(place, name, text):
    with open(_os.path.join(place, name), "w", encoding="utf-8") as file:
        file.write(text)


def _document(metadata):
    lines = [f"# {metadata['name']}", "", metadata["description"], ""]
    lines += [f"- `{name}`: {text}" for name, text in metadata["parameters"].items()]
    lines += ["", f"Returns: {metadata['returns']}"] if metadata["returns"] else []
    lines += ["", "```python", metadata["example"], "```"] if metadata["example"] else []
    return "\n".join(lines) + "\n"
