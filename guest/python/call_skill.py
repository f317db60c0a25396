"""Runs a function of a piece of code that its caller keeps. The order comes as JSON on standard
input; the value of this program says what the function returned, or why it could not be called.

The code comes along in a file of the workspace and is the caller's: it is read before this program
runs, and imports what the caller's profile allows. What this program itself imports is no matter of
that profile, and no file of the workspace takes its place.
"""

__name__ = __file__ = "call_skill"

import os
import sys

WORKSPACE = [place for place in sys.path if place in (os.getcwd(), "")]
sys.path = [place for place in sys.path if place not in WORKSPACE]

import json

import skills

sys.path = WORKSPACE + sys.path


def call(order):
    try:
        # What a caller leaves out as null has its default.
        given = {name: value for name, value in order.items() if value is not None}
        value = skills.run_skill(**given)
        json.dumps(value)
        return {"value": value}
    except LookupError as error:
        return {"error": str(error.args[0] if error.args else error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


call(json.load(sys.stdin))
