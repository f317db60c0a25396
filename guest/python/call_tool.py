"""Calls one function of an approved module. The order comes as JSON on standard input; the value of
this program says what the function returned, or why it could not be called. What the function
prints goes to the standard streams, like that of any program. No file of the workspace is imported:
nothing but approved modules runs here."""

import os
import sys

sys.path = [place for place in sys.path if place not in (os.getcwd(), "")]

import importlib.util
import inspect
import json

TOOLS = "/tools"


def public_functions(module):
    return {name: function for name, function in vars(module).items()
            if inspect.isfunction(function) and not name.startswith("_")
            and function.__module__ == module.__name__}


def load(name):
    """By its place: a file of the workspace may have the same name."""
    path = os.path.join(TOOLS, f"{name}.py")
    if not os.path.isfile(path):
        raise LookupError(f"Tool '{name}' not found: there is no such module in {TOOLS}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find(order):
    functions = public_functions(load(order["module"]))
    if order["function"] is None:  # the one that is meant, as far as that can be told
        choices = [order["module"], "main", *functions]
        order["function"] = next((name for name in choices if name in functions), "main")
    if order["function"] not in functions:
        names = ", ".join(sorted(functions))
        raise LookupError(f"{order['module']} has no function '{order['function']}'; "
                          f"it has {names}")
    return functions[order["function"]]


def call(order):
    try:
        function = find(order)
        # What a caller leaves out as null has its default.
        given = {name: value for name, value in order["arguments"].items() if value is not None}
        inspect.signature(function).bind(**given)
        value = function(**given)
        json.dumps(value)
        return {"value": value}
    except LookupError as error:
        return {"error": str(error.args[0] if error.args else error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


call(json.load(sys.stdin))
