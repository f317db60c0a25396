"""The sample programs of the systems that Belljar takes over from, unmodified, with the arguments
that their documents show."""

import dataclasses
import math

import pytest

from support_binary import environment
from support_mcp import LEGACY, call
from support_tools import approve

FIBONACCI = """
def fibonacci(n):
    if n <= 1:
        return n
    return fibonacci(n-1) + fibonacci(n-2)

result = [fibonacci(i) for i in range(10)]
print("Fibonacci sequence:", result)
"""
STATISTICS = """
import statistics
data = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
mean = statistics.mean(data)
median = statistics.median(data)
stdev = statistics.stdev(data)

result = {
    'mean': mean,
    'median': median,
    'std_dev': stdev
}
print(f"Statistics: {result}")
"""
BUBBLE_SORT = """
def bubble_sort(arr):
    n = len(arr)
    for i in range(n):
        for j in range(0, n-i-1):
            if arr[j] > arr[j+1]:
                arr[j], arr[j+1] = arr[j+1], arr[j]
    return arr

test_data = [64, 34, 25, 12, 22, 11, 90]
result = bubble_sort(test_data.copy())
print(f"Sorted: {result}")
"""
PI = """
import math

def calculate_pi_leibniz(terms):
    pi_approx = 0
    for i in range(terms):
        pi_approx += ((-1) ** i) / (2 * i + 1)
    return pi_approx * 4

result = calculate_pi_leibniz(1000)
print(f"Pi approximation: {result}")
print(f"Difference from math.pi: {abs(result - math.pi)}")
"""
ANALYSIS = "import math\ndata = [1, 2, 3, 4, 5]\nresult = sum(data) / len(data)\n" \
           "print(f'Average: {result}')"
NUMPY_MEAN = "import numpy as np\ndata = np.array([1, 2, 3, 4, 5])\nresult = np.mean(data)"
NUMPY_RANDOM = "import numpy as np; data = np.random.rand(1000, 1000)"
GREETING = "print('Hello, World!')\nresult = 2 + 2\nprint(f'2 + 2 = {result}')"
ANSWER = "result = 2 + 2\nprint(f'The answer is: {result}')"
STATISTICS_FOUND = {"mean": 5.5, "median": 5.5, "std_dev": 3.0276503540974917}
PI_FOUND = 3.140592653839794
FIBONACCI_FOUND = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
SORTED = [11, 12, 22, 25, 34, 64, 90]


@dataclasses.dataclass
class Sample:
    name: str
    code: str
    stdout: str
    result: object = None
    arguments: dict = dataclasses.field(default_factory=dict)

    def check(self, record):
        assert record["status"] == "ok", record["stderr"] or record
        assert (record["success"], record["exit_code"], record["stderr"]) == (True, 0, "")
        assert record["stdout"] == self.stdout
        assert record["result"] == self.result
        assert record["execution_time"] > 0 and record["execution_id"]


SAMPLES = [
    # Sandbox Service
    Sample("greeting", GREETING, "Hello, World!\n2 + 2 = 4\n", 4, {"timeout": 10}),
    Sample("pi constant", 'import math\nprint(f"π = {math.pi}")', f"π = {math.pi}\n",
           arguments={"timeout": 10}),
    Sample("hello from sandbox", 'print("Hello from sandbox!")', "Hello from sandbox!\n"),
    # Code Sandbox Server
    Sample("hello in a language", 'print("Hello!")', "Hello!\n", arguments={"language": "python"}),
    # Python Sandbox Server
    Sample("answer", ANSWER, "The answer is: 4\n", 4, {"timeout": 10, "capture_output": True}),
    Sample("analysis", ANALYSIS, "Average: 3.0\n", 3.0,
           {"allowed_imports": ["math"], "timeout": 15}),
    Sample("numpy mean", NUMPY_MEAN, "", 3.0,
           {"use_container": True, "memory_limit": "256m", "timeout": 30}),
    Sample("fibonacci", FIBONACCI, f"Fibonacci sequence: {FIBONACCI_FOUND}\n", FIBONACCI_FOUND),
    # In the document the text ends with the indentation of the line that closes it.
    Sample("fibonacci indented", FIBONACCI + " " * 16,
           f"Fibonacci sequence: {FIBONACCI_FOUND}\n", FIBONACCI_FOUND),
    Sample("statistics", STATISTICS, f"Statistics: {STATISTICS_FOUND}\n", STATISTICS_FOUND),
    Sample("bubble sort", BUBBLE_SORT, f"Sorted: {SORTED}\n", SORTED),
    Sample("pi", PI, f"Pi approximation: {PI_FOUND}\n"
                     f"Difference from math.pi: {abs(PI_FOUND - math.pi)}\n", PI_FOUND),
    Sample("safe", "print('Safe code execution')", "Safe code execution\n"),
    Sample("batch hello", "print('Hello, World!')", "Hello, World!\n", arguments={"timeout": 5}),
    Sample("batch sum", "result = sum(range(10))", "", 45, {"timeout": 5}),
    Sample("batch pi", "import math; print(math.pi)", f"{math.pi}\n", arguments={"timeout": 5}),
    Sample("numpy random", NUMPY_RANDOM, "", arguments={
        "use_container": True, "memory_limit": "512m", "timeout": 60})]

# Log Analysis Sandbox
LOG_ANALYSIS = """# This code runs INSIDE the sandbox
import tools.log_store as logs
import tools.privacy as privacy

# Process large data locally
errors = logs.search_logs("payment-service", "ERROR", limit=100)

# Scrub PII before sending to LLM
safe_errors = [privacy.scrub_all_pii(e) for e in errors]

# Only return the small, clean result
print(f"Found {len(errors)} errors (sanitized):")
for err in safe_errors[:10]:
    print(err)
"""
LOG_STORE = '''
"""Finds lines in the logs of services."""

LINES = [f"2024-01-01 ERROR payment {number} of user{number}@example.com failed"
         for number in range(200)]


def search_logs(service_name, keyword, limit=100):
    return [line for line in LINES if keyword in line][:limit]
'''
PRIVACY = '''
"""Takes personal data out of texts."""

import re


def scrub_all_pii(text):
    return re.sub(r"[\\w.]+@[\\w.]+", "[EMAIL_REDACTED]", text)
'''


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.name.replace(" ", "-"))
def sample(request):
    return request.param


@pytest.fixture(scope="module")
def tools(session_place):
    """A directory of approved tools."""
    folder = session_place / "approved-tools"
    folder.mkdir()
    (folder / "log_store.py").write_text(LOG_STORE)
    (folder / "privacy.py").write_text(PRIVACY)
    approve(folder)
    return folder


@pytest.fixture(params=["BELLJAR_TOOLS_PATH", "TOOLS_PATH"])
def server_with_tools(request, own_server, tools):
    return own_server("--auth", "none", env=environment(**{request.param: str(tools)}))


def execute_by_http(server, code, **arguments):
    answer = server.request("POST", "/execute", {"code": code, **arguments})
    assert answer.status == 200, answer
    return answer.json


def execute_by_mcp(server, code, **arguments):
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LEGACY[-1]}
    answer = server.request("POST", "/mcp", call(1, code, **arguments), headers)
    assert answer.status == 200 and "result" in answer.json, answer
    assert not answer.json["result"].get("isError"), answer
    return answer.json["result"]["structuredContent"]


@pytest.fixture(params=[execute_by_http, execute_by_mcp], ids=["http", "mcp"])
def execute(request):
    return request.param


def test_sample_runs_as_its_document_says(server, execute, sample):
    sample.check(execute(server, sample.code, **sample.arguments))


def test_sample_runs_without_any_argument(server, sample):
    sample.check(execute_by_http(server, sample.code))


def test_variables_are_named_as_the_document_says(server, execute):
    assert execute(server, ANSWER, timeout=10, capture_output=True)["variables"] == ["result"]


def test_call_as_the_document_pastes_it(server):
    # No handshake and no header besides the token and the type, as in its line for curl.
    answer = server.request("POST", "/mcp", call("1", 'print("Hello!")', language="python"))
    assert answer.status == 200, answer
    assert "Hello!" in answer.json["result"]["content"][0]["text"]


def test_approved_tools_can_be_imported(server_with_tools, execute):
    record = execute(server_with_tools, LOG_ANALYSIS)
    assert record["status"] == "ok", record["stderr"]
    lines = record["stdout"].splitlines()
    assert lines[0] == "Found 100 errors (sanitized):"
    assert lines[1:] == [f"2024-01-01 ERROR payment {number} of [EMAIL_REDACTED] failed"
                         for number in range(10)]


def test_approved_tools_can_be_imported_by_their_own_names(server_with_tools):
    record = server_with_tools.execute(
        "import log_store, privacy\nprivacy.scrub_all_pii(log_store.search_logs('x', 'ERROR')[7])")
    assert record["status"] == "ok", record["stderr"]
    assert record["result"] == "2024-01-01 ERROR payment 7 of [EMAIL_REDACTED] failed"


def test_approved_tools_cannot_be_changed(server_with_tools, tools):
    code = """
import errno, os
def attempt(action, *arguments):
    try:
        action(*arguments)
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
[attempt(open, "/tools/log_store.py", "a"), attempt(open, "/tools/new.py", "w"),
 attempt(os.unlink, "/tools/privacy.py"), attempt(os.chmod, "/tools/privacy.py", 0o777)]
"""
    record = server_with_tools.execute(code)
    assert record["status"] == "ok", record["stderr"]
    # The module is nobody's but root's, and stands in a file system that takes nothing.
    assert record["result"] == ["EROFS", "EROFS", "EROFS", "EROFS"]
    assert (tools / "log_store.py").read_text() == LOG_STORE
    assert sorted(path.name for path in tools.iterdir()) == [
        "log_store.py", "manifest.toml", "privacy.py"]


def test_only_the_tools_are_seen(server_with_tools, tools):
    record = server_with_tools.execute("import os\n[os.listdir('/tools'), os.path.exists(" +
                                       repr(str(tools)) + ")]")
    assert sorted(record["result"][0]) == ["log_store.py", "privacy.py"]
    assert record["result"][1] is False
