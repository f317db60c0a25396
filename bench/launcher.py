#!/usr/bin/env python3
"""Starts programs and takes the time until the last byte and the exit. Run by timekeepers.py.

A small process of its own does this, so that every program is started from the same surroundings
and the memory of the benchmark is never copied. One JSON object per line comes in, one goes out:
{"command": [...]} runs it once, {"command": [...], "seconds": 2, "expect": "..."} again and again.
"""

import json
import os
import signal
import sys
import time

PATIENCE_SECONDS = 60


class Late(Exception):
    pass


def ring(*_):
    raise Late(f"still running after {PATIENCE_SECONDS} s")


def read_to_end(descriptor):
    parts = []
    while part := os.read(descriptor, 65536):
        parts.append(part)
    return b"".join(parts)


def run_once(command):
    """(milliseconds, exit code, output, errors)"""
    reading, writing = os.pipe()
    errors = os.memfd_create("errors")
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
               (os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, errors, 2)]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    os.close(writing)
    signal.alarm(PATIENCE_SECONDS)
    try:
        output = read_to_end(reading)
        _, status = os.waitpid(child, 0)
        elapsed = (time.perf_counter() - start) * 1000
    except Late:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        signal.alarm(0)
        os.close(reading)
        os.lseek(errors, 0, os.SEEK_SET)
        complaint = read_to_end(errors)
        os.close(errors)
    return (elapsed, os.waitstatus_to_exitcode(status), output.decode(errors="replace"),
            complaint.decode(errors="replace"))


def answer_once(command):
    elapsed, code, output, errors = run_once(command)
    return {"ms": elapsed, "code": code, "output": output, "errors": errors[-500:]}


def answer_many(command, seconds, expect):
    start = time.perf_counter()
    right, other = 0, 0
    while time.perf_counter() - start < seconds:
        _, code, output, _ = run_once(command)
        if code == 0 and output == expect:
            right += 1
        else:
            other += 1
    return {"right": right, "other": other, "seconds": time.perf_counter() - start}


def main():
    signal.signal(signal.SIGALRM, ring)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if "seconds" in order:
                answer = answer_many(order["command"], order["seconds"], order["expect"])
            else:
                answer = answer_once(order["command"])
        except (OSError, Late) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
