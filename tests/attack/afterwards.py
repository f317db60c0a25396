# class: Integrity
# tries: an ordinary program after all the others: recursion, threads, children, a database
# expects: it works as ever
import concurrent.futures
import os
import sqlite3
import subprocess
import sys
import tempfile

from attempt import answer

sys.setrecursionlimit(20_000)


def depth(number):
    return 0 if number == 0 else 1 + depth(number - 1)


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    total = sum(pool.map(lambda number: number * number, range(100)))
said = subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout.strip()
with tempfile.NamedTemporaryFile() as file:
    row = sqlite3.connect(file.name).execute("select 40 + 2").fetchone()[0]
with open("kept", "w", encoding="utf-8") as file:
    file.write("text")
worked = (depth(5000), total, said, row, os.path.getsize("kept")) == (5000, 328350, "hello", 42, 4)
answer(worked, "as ever" if worked else "not as ever")
