"""The functions of all approved modules, read out of their text: nothing of them is executed."""

import ast
import os

TOOLS = "/tools"
MOST_FUNCTIONS = 500
LONGEST_TEXT = 300  # of a description; a catalogue is no manual


def python_files():
    for directory, folders, files in os.walk(TOOLS):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py") and not file.startswith("_"):
                yield os.path.join(directory, file)


def module_name(path):
    return os.path.relpath(path, TOOLS).removesuffix(".py").replace(os.sep, ".")


def describe(module, function):
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    text = ast.get_docstring(function) or ""
    return {"module": module, "name": function.name,
            "signature": f"{function.name}({ast.unparse(function.args)}){returns}",
            "description": text[:LONGEST_TEXT]}


def functions_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.name.startswith("_"):
                yield describe(module_name(path), node)


def catalogue():
    found = []
    for path in python_files():
        found.extend(functions_of(path))
    return found[:MOST_FUNCTIONS]


catalogue()
