"""The scanner: ordinary programs pass without a warning, harmful ones are noticed. Figures as in
docs/POLICY.md."""

import pytest

from support_policy import programs, validate

LEAST_QUIET = 0.95
WARNING = ("warn", "ask", "refuse")


def warnings_of(findings):
    return [one["rule"] for one in findings if one["action"] in WARNING]


def test_harmless_programs_run_under_basic_without_a_warning(server):
    harmless = programs("harmless")
    assert len(harmless) == 200
    warned = {}
    for language, name, code in harmless:
        record = server.execute(code, language=language, profile="basic")
        assert record["status"] == "ok", (language, name, record["stderr"])
        assert record["profile"] == "basic" and record["denials"] == []
        if warnings_of(record.get("findings", [])):
            warned[name] = warnings_of(record["findings"])
    quiet = 1 - len(warned) / len(harmless)
    print(f"\nscanner: {quiet:.1%} of {len(harmless)} harmless programs without a warning; "
          f"{warned}")
    assert quiet >= LEAST_QUIET


def test_every_harmful_sample_is_flagged(server):
    harmful = programs("harmful")
    assert len(harmful) >= 40
    missed = []
    for language, name, code in harmful:
        told = validate(server, code, language=language, profile="basic")
        if not warnings_of(told["findings"]):
            missed.append((language, name))
    print(f"\nscanner: {len(harmful) - len(missed)} of {len(harmful)} harmful samples flagged")
    assert missed == []


@pytest.mark.parametrize(("code", "language", "rule", "severity"), [
    # The patterns of the document on code execution, by what they mean.
    ("eval('1')", "javascript", "code.eval", "medium"),
    ("new Function('return 1')", "javascript", "code.eval", "medium"),
    ("require('child_process').exec('ls')", "javascript", "process.spawn", "high"),
    ("fetch('http://example.org/')", "javascript", "network.plain_http", "low"),
    ("import os\nos.system('ls')", "python", "process.spawn", "high"),
    ("exec('x = 1')", "python", "code.eval", "medium"),
    ("import socket\nsocket.socket()", "python", "network.socket", "medium"),
    ("__import__(name)", "python", "code.dynamic_import", "medium")])
def test_rules_have_stable_names_and_severities(server, code, language, rule, severity):
    findings = validate(server, code, language=language)["findings"]
    assert {"rule": rule, "severity": severity}.items() <= {
        one["rule"]: one for one in findings}[rule].items()


def test_a_template_string_is_no_injection(server):
    code = "const name = 'x';\nconsole.log(`hello ${name}`);"
    told = validate(server, code, language="javascript")
    assert told["findings"] == [] and told["validation"]["valid"]


def test_files_are_refused_by_the_profile_rather_than_by_the_word(server):
    told = validate(server, "const fs = require('fs');", language="javascript")
    assert told["validation"]["errors"] == ["Line 1: Import 'fs' is not allowed"]
    assert validate(server, "const fs = require('fs');", language="javascript",
                    profile="filesystem")["validation"]["valid"]


@pytest.mark.parametrize("secret", ["ghp_0123456789abcdefghijABCDEFGHIJ456789",
                                    "AKIAIOSFODNN7ABCDEFG", "S3cretPass99word"])
def test_a_secret_is_never_repeated(server, secret):
    answer = server.request("POST", "/v1/policy/validate", {
        "code": f"api_key = '{secret}'\nprint(api_key)"})
    assert "secret.in_code" in answer.body.decode() and secret not in answer.body.decode()


def test_deep_and_odd_programs_are_answered(server):
    deep = {
        "nested lists": "x = " + "[" * 90 + "]" * 90,
        "10,000 attributes": "x" + ".a" * 10_000,
        "10,000 terms": "x = " + "1+" * 10_000 + "1",
        "10,000 signs": "x = " + "-" * 10_000 + "1",
        "10,000 blocks": "".join(" " * n + "if 1:\n" for n in range(99)) + " " * 99 + "pass",
        "10,000 elifs": "if 0: pass\n" + "elif 0: pass\n" * 10_000,
        "10,000 calls": "f(" * 90 + ")" * 90,
        "names that stand for each other": "a = b\nb = a\n" * 50 + "a.b.c(b[a](a))",
        "texts of texts": "".join(f"a{n} = a{n + 1} + a{n + 1}\n" for n in range(60)) + "eval(a0)"}
    for name, code in deep.items():
        assert "valid" in validate(server, code, profile="standard")["validation"], name
    for name, code in {"arrays": "[" * 10_000 + "]" * 10_000, "calls": "f(" * 10_000 + ")" * 10_000,
                       "members": "x" + ".a" * 10_000, "terms": "1+" * 10_000 + "1",
                       "arrows": "()=>" * 10_000 + "1"}.items():
        told = validate(server, code, language="javascript", profile="standard")
        assert "valid" in told["validation"], name


def test_fifty_megabytes_are_refused_by_their_size(server):
    answer = server.request("POST", "/v1/policy/validate", {"code": "x" * (50 << 20)})
    assert answer.status == 413 and answer.json["error"]
    answer = server.request("POST", "/v1/policy/validate", {"code": "x" * (2 << 20)})
    assert answer.status == 413 and "1048576" in answer.json["error"]


def test_nul_bytes_and_bytes_that_are_no_text(server):
    told = validate(server, "x = 1\0")
    assert told["validation"]["valid"] is False
    assert validate(server, "let x = 1\0;", language="javascript")["validation"]["valid"] is False
    answer = server.request("POST", "/v1/policy/validate", b'{"code": "\xff\xfe"}')
    assert answer.status == 400 and answer.json["error"]


@pytest.mark.parametrize("body", [
    {}, {"code": 5}, {"code": "1", "profile": "none"}, {"code": "1", "language": "bash"},
    {"code": "1", "more": 1}, [], {"code": "1", "profile": 5}])
def test_bad_questions_are_refused_in_words(server, body):
    answer = server.request("POST", "/v1/policy/validate", body)
    assert answer.status in (400, 422) and answer.json["error"]
