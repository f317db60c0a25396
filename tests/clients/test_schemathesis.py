"""The description of the HTTP interface: valid, and true of the real server."""

import subprocess

import pytest

from support_binary import ROOT, environment
from support_server import Server

PROGRAMS = ROOT / "build" / "python" / "schemathesis" / "bin"
SECONDS = 540
SEED = 20260101
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,"
          "response_headers_conformance,response_schema_conformance")
HOOKS = ROOT / "tests" / "clients" / "python"
# Operations that cannot be asked for at random, each with its reason.
LEFT_OUT = {
    "watchRuns": "a stream that ends when its reader leaves",
    "listenMcp": "a stream that ends when its reader leaves",
    "listenMcpV1": "a stream that ends when its reader leaves",
    "listenSse": "a stream that ends when its reader leaves",
    "setDrain": "ends the server's work",
    "blockPrincipal": "may block the caller itself",
}
VALIDATE = ("import json, sys; from openapi_spec_validator import OpenAPIV31SpecValidator as V;"
            "V(json.load(sys.stdin)).validate()")


@pytest.fixture(scope="module")
def lenient_server(session_place):
    """Its own, because whatever can be asked for is asked for."""
    started = Server(session_place / "schemathesis")
    started.settle()
    yield started
    assert started.stop() == 0


def test_the_document_is_openapi(lenient_server):
    answer = lenient_server.request("GET", "/openapi.json", token=False)
    assert answer.status == 200 and answer.json["openapi"].startswith("3.1")
    subprocess.run([PROGRAMS / "python", "-c", VALIDATE], input=answer.body, check=True,
                   timeout=60)


def test_the_server_does_what_the_document_says(lenient_server, place):
    document = lenient_server.request("GET", "/openapi.json").json
    known = {operation["operationId"] for item in document["paths"].values()
             for operation in item.values()}
    command = [PROGRAMS / "schemathesis", "run",
               f"http://{lenient_server.address}/openapi.json",
               "--header", f"Authorization: Bearer {lenient_server.token}",
               "--checks", CHECKS, "--seed", str(SEED), "--max-examples", "12",
               "--phases", "examples,coverage,fuzzing", "--request-timeout", "30",
               "--suppress-health-check", "all", "--no-shrink", "--continue-on-failure",
               "--warnings", "off", "--no-color"]
    for name in sorted(set(LEFT_OUT) & known):
        command += ["--exclude-operation-id", name]
    ended = subprocess.run(command, cwd=place, timeout=SECONDS, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, env=environment(
                               HOME=str(place), PYTHONPATH=str(HOOKS), PYTHONDONTWRITEBYTECODE="1",
                               SCHEMATHESIS_HOOKS="schemathesis_hooks"))
    assert ended.returncode == 0, ended.stdout.decode()[-20000:]
    assert lenient_server.execute("6*7")["result"] == 42
