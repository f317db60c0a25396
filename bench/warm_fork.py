#!/usr/bin/env python3
"""What no sandbox can be faster than: a warm interpreter that forks, prints and ends.

It has imported what a warm interpreter would, and isolates nothing. One JSON object per line comes
in, {"token": "..."}; the child prints `hello TOKEN` into a pipe; the times until its first byte and
until it was reaped go out. {"token": "...", "seconds": 2, "expect": "..."} does it again and again.
Run by timekeepers.py.
"""

import argparse
import base64
import bisect
import calendar
import collections
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import glob
import hashlib
import heapq
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import pickle
import pprint
import random
import re
import shutil
import statistics
import string
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import types
import typing
import urllib.parse
import uuid


def fork_and_print(token):
    reading, writing = os.pipe()
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        print("hello", token, flush=True)
        os._exit(0)
    os.close(writing)
    output = os.read(reading, 1)
    first_byte = time.perf_counter()
    while part := os.read(reading, 65536):
        output += part
    _, status = os.waitpid(child, 0)
    reaped = time.perf_counter()
    os.close(reading)
    return {"first_byte_ms": (first_byte - start) * 1000, "ms": (reaped - start) * 1000,
            "code": os.waitstatus_to_exitcode(status), "output": output.decode(errors="replace"),
            "errors": ""}


def answer_many(token, seconds, expect):
    start = time.perf_counter()
    right, other = 0, 0
    while time.perf_counter() - start < seconds:
        answer = fork_and_print(token)
        if answer["code"] == 0 and answer["output"] == expect:
            right += 1
        else:
            other += 1
    return {"right": right, "other": other, "seconds": time.perf_counter() - start}


def main():
    # Standard output belongs to the children; answers leave by a descriptor of their own.
    answers = os.dup(1)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        answer = answer_many(**order) if "seconds" in order else fork_and_print(order["token"])
        os.write(answers, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
