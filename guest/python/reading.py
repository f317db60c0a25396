"""What a guest tells of its program before it runs. Last part of the reader, behind scan.py."""


def read_before_run(parsed, source, more, order):
    """What is found in a program that is about to run, and whether it may. `parsed` is its tree, or
    why it has none: what is no program says so itself when it is run."""
    if isinstance(parsed, ast.AST):
        found = find_in(parsed, source)
    else:
        is_none = isinstance(parsed, (SyntaxError, ValueError))
        found = [] if is_none else [("code.unreadable", 0, "")]
    if more:
        found += find_in_modules(more)
    stops, builtins = order["stops"], order["builtins"]
    findings = [one for one in described(found)
                if one["rule"] != "code.builtin" or one["subject"] in builtins]
    return {"findings": findings, "runs": not any(one["rule"] in stops for one in findings)}
