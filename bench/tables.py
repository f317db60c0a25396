"""The tables of a benchmark, from its numbers alone."""

import dataclasses

import ratios

# The order of the rows; what is not in it comes last.
ORDER = ("fork_first_byte", "fork", "python", "http_python", "mcp_http", "mcp_stdio",
         "http_python_cold", "run", "bubblewrap", "crun", "runc", "docker", "node")
TIMES = {"p50 ms": "p50_ms", "p95 ms": "p95_ms", "p99 ms": "p99_ms", "max ms": "max_ms"}
BAD = "failed or wrong"


@dataclasses.dataclass
class Table:
    """`name` marks its place on the page; rows may be shorter than the columns."""

    name: str
    columns: list
    rows: list


def figure(number):
    """With as many digits as mean something."""
    if number is None:
        return "–"
    if isinstance(number, int):
        return f"{number:,}"
    digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
    return f"{number:,.{digits}f}"


def in_order(rows):
    keys = [key for key in ORDER if key in rows] + [key for key in rows if key not in ORDER]
    return [rows[key] for key in keys]


def bad(row):
    return figure(row.get("failed", 0) + row.get("wrong", 0))


def times(row):
    return [figure(row.get(key)) for key in TIMES.values()]


def hellos(name, rows):
    """One row per candidate; a reason stands where one could not be measured."""
    found = []
    for row in in_order(rows):
        if "not_run" in row:
            found.append([row["label"], f"not run: {row['not_run']}"])
        else:
            found.append([row["label"], *times(row), figure(row["runs"]), bad(row)])
    return Table(name, ["one hello", *TIMES, "runs", BAD], found)


def steps(result):
    names = {"admission": "waiting for its turn", "jar": "making the jar",
             "guest_start": "starting the interpreter", "run": "the program",
             "collect": "its end, counters, output", "record": "making the result"}
    rows = [[label, *(figure(found[step]) for found in result["steps"].values())]
            for step, label in names.items()]
    return Table("steps", ["step", *(f"{name} ms" for name in result["steps"])], rows)


def load(result):
    rows = [[f"{row['callers']}, {row['language']}", figure(row["per_second"]), *times(row),
             figure(row["cpu_ms_per_run"]), figure(row["runs"]), bad(row)]
            for row in result["load"]["belljar"]]
    return Table("load", ["callers", "runs per second", *TIMES, "CPU ms per run", "runs", BAD],
                 rows)


def bubblewrap(result):
    rows = [[figure(row["parallel"]), figure(row["per_second"]), figure(row["cpu_ms_per_run"]),
             figure(row["runs"]), bad(row)] for row in result["load"]["bubblewrap"]]
    return Table("bubblewrap", ["bubblewrap at a time", "runs per second", "CPU ms per run",
                                "runs", BAD], rows)


def floor(result):
    found, columns = result["load"]["floor"], ["the kernel's work alone", "per second",
                                               "CPU ms each", "made"]
    if "not_run" in found:
        return Table("floor", columns, [[f"not run: {found['not_run']}"]])
    rows = [[label, figure(row["per_second"]), figure(row["cpu_ms_per_run"]),
             figure(row["runs"]) if "runs" in row else ""] for label, row in found.items()]
    return Table("floor", columns, rows)


def burst(result):
    rows = [[f"{row['callers']}, {row['language']}", *times(row), figure(row["all_answered_ms"]),
             bad(row)] for row in result["burst"]]
    return Table("burst", ["callers at once", *TIMES, "all answered after ms", BAD], rows)


def guest(result):
    rows = []
    for loop, row in result["guest"].items():
        if "not_run" in row:
            rows.append([loop, f"not run: {row['not_run']}"])
        else:
            rows.append([loop, figure(row["bare_us"]), figure(row["filter_us"]),
                         figure(row["jar_us"]), figure(row["ratio"]),
                         figure(row["filter_ratio"])])
    return Table("guest", ["one step of", "bare µs", "behind an empty filter µs", "in a jar µs",
                           "jar / bare", "filter / bare"], rows)


def memory(result):
    found = result["memory"]
    places = [(row["process"], 1, row) for row in found["service"]]
    for label, key in (("ready jar", "ready"), ("jar of a program that sleeps", "asleep")):
        places += [(f"{label}: {row['processes']}", row["count"], row) for row in found[key]]
    rows = [[name, figure(count), figure(row["pss_kib"]), figure(row["unshared_kib"])]
            for name, count, row in places]
    if not found["ready"]:
        rows.append(["ready jar", "0"])
    return Table("memory", ["what waits", "how many", "PSS KiB each", "unshared KiB each"], rows)


def download(result):
    rows = [[name, f"not run: {row['not_run']}" if "not_run" in row
             else figure(row["mb_per_second"])] for name, row in result["download"].items()]
    return Table("download", ["a file of 1 GB from", "MB per second"], rows)


def privacy(result):
    rows = [[name, figure(row["mb_per_second"]), figure(row["hello_ms"])]
            for name, row in result["privacy"].items()]
    return Table("privacy", ["what leaves a jar", "MB per second", "one hello, ms"], rows)


def sessions(result):
    rows = [[f"with a state of {state}", *times(row)] for state, row in result["sessions"].items()]
    return Table("sessions", ["one cell of a session", *TIMES], rows)


def crowd(result):
    found = result.get("crowd")
    rows = [[figure(found["jars"]), figure(found["seconds"]), figure(found["kib_each"]),
             figure(found["right"])]] if found else []
    return Table("crowd", ["programs asleep at once", "after seconds", "KiB each, the kernel's too",
                           "right answers"], rows)


def tools_list(result):
    rows = [[name, figure(row["per_second"]), figure(row["per_core_second"]),
             figure(row["server_cores"]), figure(row["answer_bytes"])]
            for name, row in result["tools_list"].items()]
    return Table("tools_list", ["tools/list", "answers per second", "per second of one core",
                                "cores the server used", "bytes each"], rows)


def compared(result):
    rows = [[row["name"], figure(row["value"])] for row in result["ratios"]]
    rows.append([f"failed or wrong, of {ratios.runs(result):,} runs",
                 figure(ratios.failures(result))])
    return Table("ratios", ["in the same run", "ratio"], rows)


def machine(result):
    found = result["machine"]
    versions = ", ".join(text if name in text.lower() else f"{name} {text}"
                         for name, text in found["versions"].items() if text)
    rows = [["processor", f"{found['usable_cores']} cores, {found['processor']}"],
            ["memory", f"{found['memory_mib']:,} MiB"],
            ["system", f"{found['system']}, kernel {found['kernel']}"],
            ["cgroups", found["cgroups"]],
            ["programs", versions],
            ["others kept busy", f"{figure(found['others_busy_cores'])} cores before the run, "
                                 f"{figure(found['stolen_cores'])} stolen during it"],
            ["measured", f"{result['mode']}, {result['seconds']:,} s"]]
    return Table("machine", ["machine", ""], rows)


def of(result):
    """All of them, the most important one last, where it is seen on a terminal."""
    return [machine(result), memory(result), guest(result), tools_list(result),
            download(result), privacy(result), sessions(result),
            hellos("governance", result["governance"]), crowd(result), bubblewrap(result),
            floor(result), load(result), burst(result),
            hellos("paced", result["paced"]), steps(result),
            hellos("latency", result["latency"]), compared(result)]
