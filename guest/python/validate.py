"""Reads a program and tells what is in it. The program is data on standard input: it is compiled,
as the interpreter that would run it does that, and never executed."""

import ast
import json
import sys
import warnings

BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.IfExp,
            ast.BoolOp, ast.comprehension, ast.ExceptHandler, ast.FunctionDef,
            ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Match)
DYNAMIC = ("eval", "exec", "compile", "__import__")
MOST_LISTED = 200


def parse(source):
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, "main.py", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    compile(source, "main.py", "exec", flags, dont_inherit=True)  # what the grammar alone allows
    return tree


def imports_of(node):
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        if any(name.name == "*" for name in node.names):
            yield node.module
        else:
            yield from from_imports(node)


def from_imports(node):
    """`from xml import etree` may mean the module xml.etree, `from math import pi` only math."""
    whole = ["html", "urllib", "xml", "os"]
    if node.module in whole:
        yield from (f"{node.module}.{name.name}" for name in node.names)
    else:
        yield node.module


def warning_of(node):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DYNAMIC:
        return f"Call of '{node.func.id}' hides what the program does"
    if isinstance(node, ast.Attribute) and node.attr in ("__subclasses__", "__globals__",
                                                         "__builtins__", "__bases__", "__mro__"):
        return f"Use of '{node.attr}' reaches into the interpreter"
    return None


def survey(tree):
    found = {"imports": [], "warnings": [], "functions": [], "classes": [], "branches": 0}
    for node in sorted((one for one in ast.walk(tree) if hasattr(one, "lineno")),
                       key=lambda one: (one.lineno, one.col_offset)):
        found["imports"] += [{"line": node.lineno, "text": name} for name in imports_of(node)]
        text = warning_of(node)
        if text is not None:
            found["warnings"].append({"line": node.lineno, "text": text})
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found["functions"].append(node.name)
        elif isinstance(node, ast.ClassDef):
            found["classes"].append(node.name)
    found["branches"] = sum(isinstance(node, BRANCHES) for node in ast.walk(tree))
    return {name: value[:MOST_LISTED] if isinstance(value, list) else value
            for name, value in found.items()}


def problem(error):
    line = getattr(error, "lineno", None) or 1
    return {"problem": {"line": line, "text": getattr(error, "msg", None) or str(error)}}


def read(source):
    warnings.simplefilter("ignore")
    try:
        return survey(parse(source.removeprefix("\ufeff")))
    except (SyntaxError, ValueError) as error:
        return problem(error)
    except (RecursionError, MemoryError):
        return {"problem": {"line": 1, "text": "too deeply nested for the interpreter"}}


read(json.load(sys.stdin)["code"])
