"""The program under test, and waiting for what it does."""

import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUESTS = ROOT / "tests" / "guests"
BINARY = pathlib.Path(os.environ.get("BELLJAR_BINARY", "build/release/belljar"))
if not BINARY.is_absolute():
    BINARY = ROOT / BINARY

# Where the program under test would put temporary files, if it made any.
TEMPORARY = pathlib.Path(tempfile.mkdtemp(prefix="e2e-tmpdir-"))
TEMPORARY.chmod(0o1777)
atexit.register(shutil.rmtree, TEMPORARY)

# A hang must end the test, not the patience of whoever waits for it.
COMMAND_SECONDS = 60

# What the program reads besides BELLJAR_...; the shell that starts the tests may have some of it.
OTHER_SETTINGS = {
    "LOG_LEVEL", "MCP_API_TOKEN", "MCP_API_KEY", "SANDBOX_API_TOKEN", "FILE_SECRET", "SANDBOX_ROOT",
    "PUBLIC_BASE_URL", "MCP_HTTP_ADDR", "MAX_EXECUTION_TIME", "MAX_MEMORY_MB", "BLOCKED_PACKAGES",
    "TOOLS_PATH", "WORKSPACE_PATH"}


def environment(**settings):
    """That of the tests without any setting of Belljar, and with the given ones."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("BELLJAR_", "SANDBOX_")) and name not in OTHER_SETTINGS}
    return {**kept, "TMPDIR": str(TEMPORARY), **settings}


def service_environment(env=None):
    """For a server. Jars that wait for a run come and go by themselves, which a test that looks for
    what was left behind could not tell from that; whoever wants them says so. A server that is
    stopped does not wait for runs that nobody ends."""
    return {"BELLJAR_POOL_READY": "0", "BELLJAR_SERVER_SHUTDOWN_TIME": "200ms",
            **(env or environment())}


def sanitizer_options():
    """What a build with sanitizers must be told, for surroundings with their own environment."""
    return {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}


def belljar(*arguments, stdin=b"", env=None):
    """Runs one command to its end. The output is bytes."""
    return subprocess.run([str(BINARY), *map(str, arguments)], input=stdin, capture_output=True,
                          env=env or environment(), timeout=COMMAND_SECONDS, check=False)


def run_code(code, *options):
    """`belljar run` of a program text."""
    return belljar("run", *options, "-", stdin=code.encode())


def wait_until(condition, what, seconds=20):
    """Asks again and again; returns the first answer that is true."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
