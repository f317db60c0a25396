"""Reads a program and tells what is in it. The program is data on standard input: it is compiled,
as the interpreter that would run it does that, and never executed. Last part, behind scan.py."""

import json  # noqa: E402
import sys  # noqa: E402

BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.IfExp,
            ast.BoolOp, ast.comprehension, ast.ExceptHandler, ast.FunctionDef,
            ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Match)
MOST_LISTED = 200
LISTED = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


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


def survey(tree, source, more):
    found = {"imports": [], "findings": [], "functions": [], "classes": [], "branches": 0}
    nodes = list(ast.walk(tree))
    for node in sorted((one for one in nodes if isinstance(one, LISTED)),
                       key=lambda one: (one.lineno, one.col_offset)):
        found["imports"] += [{"line": node.lineno, "text": name} for name in imports_of(node)]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found["functions"].append(node.name)
        elif isinstance(node, ast.ClassDef):
            found["classes"].append(node.name)
    found["branches"] = sum(isinstance(node, BRANCHES) for node in nodes)
    for names in ("imports", "functions", "classes"):
        del found[names][MOST_LISTED:]
    scan = Scan(tree, source)
    findings = scan.run()
    found["imports"] += [{"line": line, "text": name} for line, name in scan.imports[:MOST_LISTED]]
    found["findings"] = described(findings + find_in_modules(more))
    return found


def problem(error):
    line = getattr(error, "lineno", None) or 1
    return {"problem": {"line": line, "text": getattr(error, "msg", None) or str(error)}}


def read(source, more):
    warnings.simplefilter("ignore")
    source = source.removeprefix("\ufeff")
    try:
        tree = parse(source)
    except (SyntaxError, ValueError) as error:
        return problem(error)
    except (RecursionError, MemoryError):
        return {"problem": {"line": 1, "text": "too deeply nested for the interpreter"},
                "unread": True}
    return survey(tree, source, more)


request = json.load(sys.stdin)
read(request["code"], request.get("more", []))
