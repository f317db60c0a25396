"""Tells which functions the approved modules have, so that programs load only what they need.

What is known is read out of the text of the modules; none of them is executed for it. Stubs that
can be browsed are written to the directory tools of the workspace.
"""

import ast as _ast
import os as _os

_MARKER = ".tool_stubs_generated"


def list_available_tools() -> dict:
    """The names of all functions, by module."""
    tools = {module: [function["name"] for function in functions]
             for module, functions in _catalogue().items()}
    return {"tools": tools, "total_functions": sum(map(len, tools.values())),
            "stubs_generated": _os.path.exists(_os.path.join(_stubs(), _MARKER))}


def get_tool_info(module: str, name: str = None) -> dict:
    """A module with its functions, or one of its functions."""
    functions = _catalogue().get(module)
    if functions is None:
        raise LookupError(f"There is no module '{module}'; there are {', '.join(_catalogue())}")
    if name is None:
        return {"module": module, "functions": functions}
    for function in functions:
        if function["name"] == name:
            return function
    raise LookupError(f"Module '{module}' has no function '{name}'")


def search_tools(query: str) -> list:
    """Functions whose name, module or description has all the words."""
    words = query.lower().split()
    return [function for functions in _catalogue().values() for function in functions
            if all(word in " ".join(function.values()).lower() for word in words)]


def generate_tool_stubs(force: bool = False) -> dict:
    """Writes a file for each function, with its signature and description."""
    marker = _os.path.join(_stubs(), _MARKER)
    if _os.path.exists(marker) and not force:
        return {"success": True, "message": "The stubs are there already", "files": 0}
    count = 0
    for module, functions in _catalogue().items():
        imports = "".join(f"from .{function['name']} import {function['name']}\n"
                          for function in functions)
        count += _write(_os.path.join(_stubs(), module, "__init__.py"), imports)
        for function in functions:
            count += _write(_os.path.join(_stubs(), module, f"{function['name']}.py"),
                            _stub(function))
    count += _write(_os.path.join(_stubs(), "index.py"), f"MODULES = {sorted(_catalogue())!r}\n")
    _write(marker, "")
    return {"success": True, "message": f"Wrote {count} files", "files": count}


def refresh_tool_stubs() -> dict:
    """Writes all stubs again."""
    return generate_tool_stubs(force=True)


def _tools():
    return _os.environ.get("TOOLS_PATH", _os.path.dirname(_os.path.abspath(__file__)))


def _stubs():
    return _os.path.join(_os.environ.get("WORKSPACE_PATH", "/workspace"), "tools")


def _catalogue():
    found = {}
    for file in sorted(_os.listdir(_tools())):
        if file.endswith(".py") and not file.startswith("_"):
            module = file.removesuffix(".py")
            with open(_os.path.join(_tools(), file), encoding="utf-8") as source:
                found[module] = _functions(module, source.read())
    return found


def _functions(module, source):
    try:
        body = _ast.parse(source).body
    except (SyntaxError, ValueError):
        return []
    return [_describe(module, node) for node in body
            if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef))
            and not node.name.startswith("_")]


def _describe(module, node):
    returns = f" -> {_ast.unparse(node.returns)}" if node.returns else ""
    return {"module": module, "name": node.name,
            "signature": f"{node.name}({_ast.unparse(node.args)}){returns}",
            "description": _ast.get_docstring(node) or ""}


def _stub(function):
    """A function of the same form that calls the real one."""
    node = _ast.parse(f"def {function['signature']}: pass").body[0].args
    given = [f"{one.arg}={one.arg}" for one in [*node.args, *node.kwonlyargs]]
    given += [f"**{node.kwarg.arg}"] if node.kwarg else []
    module, name = function["module"], function["name"]
    return (f"def {function['signature']}:\n"
            f"    {function['description']!r}\n"
            f"    import {module}\n"
            f"    return {module}.{name}({', '.join(given)})\n")


def _write(path, text):
    _os.makedirs(_os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 1
