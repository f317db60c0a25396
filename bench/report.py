#!/usr/bin/env python3
"""Shows the numbers of a benchmark: on the terminal, and as docs/PERFORMANCE.md.

    bench/report.py build/bench.json                the tables
    bench/report.py build/bench.json --write-docs   also the tables and plots of the page
"""

import argparse
import json
import pathlib
import re
import sys

import plots
import ratios
import tables

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "PERFORMANCE.md"
PICTURES = ROOT / "docs" / "performance"
# More than this and the machine is not ours alone.
QUIET_CORES = 0.2
# Between these lines the page belongs to this program, everything else to its writers.
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def text_table(table):
    """Aligned; a row that is only words, such as a reason, does not widen the columns."""
    whole = [row for row in table.rows if len(row) == len(table.columns)]
    last_is_text = len(table.columns) == 2
    widths = [max(len(row[column]) for row in [table.columns, *whole])
              for column in range(len(table.columns))]
    widths[0] = max(len(row[0]) for row in [table.columns, *table.rows])
    lines = []
    for row in [table.columns, *table.rows]:
        cells = [row[0].ljust(widths[0])]
        if len(row) == len(table.columns) and not last_is_text:
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        else:
            cells += row[1:]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def as_text(result):
    parts = [text_table(table) for table in tables.of(result)]
    parts += [f"failed or wrong: {reason}" for row in ratios.judged(result)
              for reason in row.get("reasons", [])]
    busy = result["machine"]["others_busy_cores"]
    if busy > QUIET_CORES:
        parts.append(f"Other programs kept {busy} cores busy before this run: the ratios are "
                     "rough, the tails are theirs.")
    return "\n" + "\n\n".join(parts)


def markdown_table(table):
    rows = [row + [""] * (len(table.columns) - len(row)) for row in table.rows]
    marks = ["---", *["---:"] * (len(table.columns) - 1)]
    if table.name == "machine":
        marks[1] = "---"
    lines = [table.columns, marks, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
                     for line in lines)


def write_page(result):
    """Fills every place of the page; one that no table belongs to is a mistake in the page."""
    found = {table.name: markdown_table(table) for table in tables.of(result)}
    text = PLACE.sub(lambda match: f"{match[1]}{found[match[2]]}\n{match[3]}", PAGE.read_text())
    PAGE.write_text(text)
    PICTURES.mkdir(exist_ok=True)
    for name, picture in plots.of(result).items():
        (PICTURES / f"{name}.svg").write_text(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("numbers", type=pathlib.Path, help="what a benchmark wrote")
    parser.add_argument("--write-docs", action="store_true",
                        help="write the tables and plots of docs/PERFORMANCE.md")
    arguments = parser.parse_args()
    result = json.loads(arguments.numbers.read_text())
    if arguments.write_docs:
        if result["mode"] != "full":
            sys.exit("docs/PERFORMANCE.md is made from a run with --full")
        write_page(result)
        print("wrote docs/PERFORMANCE.md and docs/performance/*.svg")
    else:
        print(as_text(result))


if __name__ == "__main__":
    main()
