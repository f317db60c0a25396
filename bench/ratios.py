"""What is compared: two figures of the same run, so that the machine does not matter."""

from stats import rounded

WARM, COLD = "http_python", "http_python_cold"


def is_ours(key):
    return key in ("run", "mcp_stdio") or key.startswith(("http_", "mcp_"))


def row(result, key, part="latency"):
    return result[part].get(key, {})


def p50(result, key, part="latency"):
    return row(result, key, part).get("p50_ms")


def python_loads(result):
    return [one for one in result["load"]["belljar"] if one["language"] == "python"]


def with_callers(result, callers, name):
    return next((one.get(name) for one in python_loads(result) if one["callers"] == callers), None)


def best_bubblewrap(result):
    return max((one["per_second"] for one in result["load"]["bubblewrap"]), default=None)


def quotient(above, below):
    return rounded(above / below) if above is not None and below else None


def of(result):
    """[{"name", "value"}]; a value of None means that one of the two was not measured."""
    warm = p50(result, WARM)
    best = max((one["per_second"] for one in python_loads(result)), default=None)
    found = {
        "warm hello / bare warm fork to the first byte":
            quotient(warm, p50(result, "fork_first_byte")),
        "warm hello / bare warm fork to reaped": quotient(warm, p50(result, "fork")),
        "bare python3 / warm hello": quotient(p50(result, "python"), warm),
        "bubblewrap / warm hello": quotient(p50(result, "bubblewrap"), warm),
        "crun / warm hello": quotient(p50(result, "crun"), warm),
        "runc / warm hello": quotient(p50(result, "runc"), warm),
        "docker run / warm hello": quotient(p50(result, "docker"), warm),
        "cold hello / warm hello": quotient(p50(result, COLD), warm),
        "cold hello / bare warm fork to reaped": quotient(p50(result, COLD), p50(result, "fork")),
        "hello after 100 ms of rest / warm hello": quotient(p50(result, WARM, "paced"), warm),
        "p99 / p50 of one caller": quotient(with_callers(result, 1, "p99_ms"),
                                            with_callers(result, 1, "p50_ms")),
        "most runs per second / best of bubblewrap": quotient(best, best_bubblewrap(result)),
        "what the kernel's work alone allows / best of bubblewrap":
            quotient(result["load"]["floor"].get("both together", {}).get("per_second"),
                     best_bubblewrap(result)),
        "runs per second of 256 callers / of 8": quotient(
            with_callers(result, 256, "per_second"), with_callers(result, 8, "per_second")),
        "hello with audit trail / without":
            quotient(p50(result, "audit", "governance"), p50(result, "without", "governance")),
        "hello with policy and audit trail / without":
            quotient(p50(result, "with", "governance"), p50(result, "without", "governance")),
        "hello with policy and audit trail / without, no pause between":
            quotient(p50(result, "with_tight", "governance"),
                     p50(result, "without_tight", "governance")),
        "download of 1 GB / from nginx": quotient(
            result["download"]["belljar"]["mb_per_second"],
            result["download"]["nginx"].get("mb_per_second"))}
    return [{"name": name, "value": value} for name, value in found.items()]


def judged(result):
    """Every row of Belljar whose answers were judged."""
    rows = [one for part in ("latency", "paced") for key, one in result[part].items()
            if is_ours(key)]
    return [*rows, *result["governance"].values(), *result["load"]["belljar"], *result["burst"]]


def runs(result):
    return sum(one.get("runs", 0) for one in judged(result))


def failures(result):
    """Runs of Belljar that gave no result or not the right one."""
    rows = [*judged(result), *result["guest"].values()]
    return sum(one.get("failed", 0) + one.get("wrong", 0) for one in rows)
