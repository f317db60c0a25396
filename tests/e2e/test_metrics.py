"""GET /metrics: what a running service tells about itself, in the text format of Prometheus."""

import re
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support_binary import belljar, environment, wait_until
from support_mcp import call_tool

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')
TYPES = {
    "belljar_build_info": "gauge", "belljar_isolation_info": "gauge",
    "belljar_isolation_layer_missing": "gauge", "belljar_runs_total": "counter",
    "belljar_runs_refused_total": "counter", "belljar_runs_running": "gauge",
    "belljar_runs_waiting": "gauge", "belljar_run_seconds": "histogram",
    "belljar_step_seconds": "histogram",
    "belljar_denials_total": "counter", "belljar_wait_seconds": "histogram",
    "belljar_admission_refused_total": "counter", "belljar_jars_ready": "gauge",
    "belljar_jars_taken_total": "counter", "belljar_jars_made_ahead_total": "counter",
    "belljar_jars_lost_total": "counter", "belljar_runs_by_protocol_total": "counter",
    "belljar_output_bytes_total": "counter", "belljar_sessions": "gauge",
    "belljar_http_requests_total": "counter", "belljar_http_request_seconds": "histogram",
    "belljar_http_rate_limited_total": "counter", "belljar_http_received_bytes_total": "counter",
    "belljar_http_sent_bytes_total": "counter", "belljar_http_connections": "gauge",
    "belljar_audit_records_total": "counter", "belljar_audit_bytes_total": "counter",
    "belljar_audit_failures_total": "counter", "belljar_audit_lost_copies_total": "counter",
    "belljar_audit_last_seq": "gauge", "belljar_audit_signature_age_seconds": "gauge",
    "belljar_audit_writable": "gauge", "belljar_watch_failures_total": "counter",
    "sandbox_executions_total": "counter", "sandbox_execution_duration_seconds": "histogram",
    "sandbox_package_installs_total": "counter", "sandbox_errors_total": "counter",
    "mcp_executions_total": "counter", "mcp_execution_duration_seconds": "histogram",
    "mcp_execution_memory_bytes": "histogram"}


def read(server):
    """{(name, sorted labels): value}; every line must be as the format wants it."""
    answer = server.request("GET", "/metrics")
    assert answer.status == 200, answer
    text = answer.body.decode()
    assert text.endswith("\n")
    found, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        if line.startswith("#"):
            continue
        matched = SAMPLE.fullmatch(line)
        assert matched, line
        name, labels, value = matched.groups()
        assert re.sub("_(bucket|sum|count)$", "", name) in types, f"{name} has no type yet"
        key = (name, tuple(sorted(LABEL.findall(labels or ""))))
        assert key not in found, line
        found[key] = float(value)
    assert types == TYPES
    return found


def value(server, name, **labels):
    return read(server).get((name, tuple(sorted(labels.items()))), 0)


def names(found, metric, label):
    return {dict(labels)[label] for name, labels in found if name == metric}


def test_needs_the_token(server, open_server):
    assert server.request("GET", "/metrics", token=False).status == 401
    assert server.request("GET", "/metrics").status == 200
    assert open_server.request("GET", "/metrics").status == 200


def test_is_the_text_format_of_prometheus(server):
    answer = server.request("GET", "/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert read(server)
    assert server.request("HEAD", "/metrics").body == b""
    refused = server.request("POST", "/metrics", {})
    assert refused.status == 405 and refused.headers["Allow"] == "GET, HEAD"


def test_a_parser_of_prometheus_reads_it(server):
    server.execute("1")
    call_tool(server, "execute_code", code="6*7")
    text = server.request("GET", "/metrics").body.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    found = {name.removesuffix("_total"): kind for name, kind in TYPES.items()}
    assert {name: family.type for name, family in families.items()} == found
    for family in families.values():
        assert family.documentation
        if family.type == "histogram":
            check_histogram(family)


def check_histogram(family):
    """Within each set of labels the classes grow, and the last one is the count."""
    series = {}
    for sample in family.samples:
        labels = {name: text for name, text in sample.labels.items() if name != "le"}
        series.setdefault(tuple(labels.items()), []).append(sample)
    for samples in series.values():
        counts = [one.value for one in samples if one.name.endswith("_bucket")]
        [total] = [one.value for one in samples if one.name.endswith("_count")]
        assert counts == sorted(counts) and counts[-1] == total


def test_counts_requests_and_protocols(own_server):
    server = own_server()
    server.execute("1")
    call_tool(server, "execute_code", code="6*7")
    call_tool(server, "execute_code", code="1/0")
    assert server.request("GET", "/nowhere/at/all").status == 404
    assert value(server, "belljar_http_requests_total", operation="execute", status="200") == 1
    assert value(server, "belljar_http_requests_total", operation="mcp", status="200") == 2
    assert value(server, "belljar_http_requests_total", operation="unknown", status="404") == 1
    assert value(server, "belljar_http_request_seconds_count", operation="mcp") == 2
    assert value(server, "belljar_runs_by_protocol_total", protocol="mcp") == 2
    assert value(server, "belljar_runs_by_protocol_total", protocol="rest") == 1
    assert value(server, "sandbox_executions_total", language="python", status="ok") == 2
    assert value(server, "sandbox_errors_total", type="error") == 1
    assert value(server, "mcp_executions_total", status="ok") == 1
    assert value(server, "mcp_executions_total", status="error") == 1
    assert value(server, "mcp_execution_memory_bytes_count") == 2
    assert value(server, "belljar_http_received_bytes_total") > 0
    assert value(server, "belljar_http_sent_bytes_total") > 0


def test_tells_the_version(server):
    version = belljar("version").stdout.decode().split()[1]
    assert value(server, "belljar_build_info", version=version) == 1


@pytest.mark.parametrize("mode", ["root", "nested"])
def test_tells_the_isolation_that_results_tell(own_server, mode):
    server = own_server(env=environment(BELLJAR_ISOLATION_MODE=mode,
                                        BELLJAR_ISOLATION_REQUIRE="basic"))
    isolation = server.execute("1")["isolation"]
    found = read(server)
    told = {name: dict(labels) for name, labels in found}
    assert told["belljar_isolation_info"] == {
        "grade": isolation["grade"], "tier": isolation["tier"], "mode": mode}
    layers = {dict(labels)["layer"]: count for (name, labels), count in found.items()
              if name == "belljar_isolation_layer_missing"}
    assert {layer for layer, count in layers.items() if count == 1} == set(isolation["missing"])
    assert {"seccomp", "namespaces", "landlock", "memory_limit"} <= set(layers)


def test_counts_runs_and_what_was_refused(own_server):
    server = own_server()
    assert not [name for name, _ in read(server) if name == "belljar_runs_total"], "no trial run"
    server.execute("1")
    server.execute("1", language="Py")
    server.execute("1/0")
    assert server.execute("while True: pass", timeout=0.5)["status"] == "timeout"
    found = read(server)
    assert names(found, "belljar_runs_total", "status") == {"ok", "error", "timeout"}
    assert names(found, "belljar_runs_total", "language") == {"python"}
    assert value(server, "belljar_runs_total", language="python", status="ok") == 2
    assert value(server, "belljar_denials_total", rule="limits.timeout") == 1
    buckets = [found[("belljar_run_seconds_bucket", (("le", end),))] for end in
               ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60", "300",
                "+Inf")]
    assert buckets == sorted(buckets) and buckets[-1] == 4
    assert buckets[3] < 4, "one of them took half a second"
    assert found[("belljar_run_seconds_count", ())] == 4
    assert 0.5 < found[("belljar_run_seconds_sum", ())] < 20


HOSTILE = ['python"} 1\nforged_total{a="b', "cobol\\", "é", "x" * 10_000, ""]


def test_a_hostile_language_becomes_no_label(own_server):
    server = own_server()
    for language in HOSTILE:
        answer = server.request("POST", "/execute", {"code": "1", "language": language})
        assert answer.status == 422, answer
    server.execute("raise ValueError('limits.forged\"} 1')")
    found = read(server)
    assert names(found, "belljar_runs_total", "language") == {"python"}
    assert value(server, "belljar_runs_refused_total", code="unsupported") == len(HOSTILE)
    assert b"forged" not in server.request("GET", "/metrics").body


def test_tells_what_runs_and_what_waits(own_server):
    server = own_server(env=environment(BELLJAR_LIMITS_CONCURRENT_RUNS="1"))
    code = "import time\ntime.sleep(2)"
    runs = [threading.Thread(target=server.execute, args=(code,)) for _ in range(2)]
    for run in runs:
        run.start()
    wait_until(lambda: value(server, "belljar_runs_waiting") == 1, "one run waits")
    assert value(server, "belljar_runs_running") == 1
    for run in runs:
        run.join()
    assert value(server, "belljar_runs_waiting") == value(server, "belljar_runs_running") == 0
    assert value(server, "belljar_run_seconds_count") == 2
