"""What is compared: two figures of the same run, so that the machine does not matter."""

from stats import rounded

OURS = ("run", "http", "mcp_http", "mcp_stdio", "http_cold", "javascript", "typescript")


def row(result, key, part="latency"):
    return result[part].get(key, {})


def p50(result, key, part="latency"):
    return row(result, key, part).get("p50_ms")


def rate(result, callers):
    found = [one["per_second"] for one in result["load"]["belljar"] if one["callers"] == callers]
    return found[0] if found else None


def best_bubblewrap(result):
    return max((one["per_second"] for one in result["load"]["bubblewrap"]), default=None)


def one_caller(result, name):
    return next((one.get(name) for one in result["load"]["belljar"] if one["callers"] == 1), None)


def quotient(above, below):
    return rounded(above / below) if above is not None and below else None


def of(result):
    """[{"name", "value"}]; a value of None means that one of the two was not measured."""
    warm = p50(result, "http")
    best = max((one["per_second"] for one in result["load"]["belljar"]), default=None)
    found = {
        "warm hello / bare warm fork to the first byte":
            quotient(warm, p50(result, "fork_first_byte")),
        "warm hello / bare warm fork to reaped": quotient(warm, p50(result, "fork")),
        "bare python3 / warm hello": quotient(p50(result, "python"), warm),
        "bubblewrap / warm hello": quotient(p50(result, "bubblewrap"), warm),
        "crun / warm hello": quotient(p50(result, "crun"), warm),
        "runc / warm hello": quotient(p50(result, "runc"), warm),
        "docker run / warm hello": quotient(p50(result, "docker"), warm),
        "cold hello / warm hello": quotient(p50(result, "http_cold"), warm),
        "hello after 100 ms of rest / warm hello": quotient(p50(result, "http", "paced"), warm),
        "p99 / p50 of one caller": quotient(one_caller(result, "p99_ms"),
                                            one_caller(result, "p50_ms")),
        "most runs per second / best of bubblewrap": quotient(best, best_bubblewrap(result)),
        "runs per second of 256 callers / of 8": quotient(rate(result, 256), rate(result, 8))}
    return [{"name": name, "value": value} for name, value in found.items()]


def failures(result):
    """Runs of Belljar that gave no result or not the right one."""
    rows = [row(result, key) for key in OURS] + [row(result, "http", "paced"), result["burst"]]
    rows += [*result["load"]["belljar"], *result["guest"].values()]
    return sum(one.get("failed", 0) + one.get("wrong", 0) for one in rows)


def runs(result):
    """How many of Belljar's were judged."""
    rows = [row(result, key) for key in OURS] + [row(result, "http", "paced"), result["burst"]]
    return sum(one.get("runs", 0) for one in [*rows, *result["load"]["belljar"]])
