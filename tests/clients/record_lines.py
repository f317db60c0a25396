#!/usr/bin/python3
"""Runs a program and writes every line that goes in and out of it to a file: FILE PROGRAM ..."""

import subprocess
import sys
import threading


def pass_on(source, target, record, mark):
    for line in source:
        record.write(mark + line)
        target.write(line)
        target.flush()
    target.close()


def main():
    with open(sys.argv[1], "ab", buffering=0) as record:
        child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answers = threading.Thread(target=pass_on,
                                   args=(child.stdout, sys.stdout.buffer, record, b"< "))
        answers.start()
        pass_on(sys.stdin.buffer, child.stdin, record, b"> ")
        answers.join()
        return child.wait()


if __name__ == "__main__":
    sys.exit(main())
