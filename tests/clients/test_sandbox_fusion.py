"""The published client of SandboxFusion, which knows neither Belljar nor tokens."""

import base64
import json
import subprocess

import pytest

from support_binary import COMMAND_SECONDS, ROOT, environment
from support_server import Server

PYTHON = ROOT / "build" / "python" / "sandbox_fusion" / "bin" / "python"
PROGRAM = ROOT / "tests" / "clients" / "python" / "sandbox_fusion_client.py"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("fusion"), "--auth", "none")

    def send(*requests):
        done = subprocess.run([str(PYTHON), str(PROGRAM), f"http://{server.address}"],
                              input=json.dumps(requests), capture_output=True, text=True,
                              timeout=COMMAND_SECONDS, env=environment(), check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    yield send
    server.stop()


def test_runs_programs_of_several_languages(ask):
    answers = ask({"code": "print(input())", "language": "python", "stdin": "typed"},
                  {"code": "console.log(6 * 7)", "language": "nodejs"},
                  {"code": "echo $((6 * 7))", "language": "bash"})
    assert [one["status"] for one in answers] == ["Success"] * 3
    results = [one["run_result"] for one in answers]
    assert [one["stdout"] for one in results] == ["typed\n", "42\n", "42\n"]
    assert all(one["status"] == "Finished" and one["return_code"] == 0 for one in results)


def test_tells_what_failed(ask):
    failed, late = ask({"code": "import sys; print(1); sys.exit(3)", "language": "python"},
                       {"code": "while True: pass", "language": "python", "run_timeout": 0.5})
    assert failed["status"] == late["status"] == "Failed"
    assert failed["run_result"]["return_code"] == 3
    assert late["run_result"]["status"] == "TimeLimitExceeded"
    assert late["run_result"]["return_code"] is None


def test_gives_and_fetches_files(ask):
    given = base64.b64encode(b"\x00\xffbytes").decode()
    code = "open('out/b.bin', 'wb').write(open('a.bin', 'rb').read() * 2)"
    answer, = ask({"code": f"import os; os.mkdir('out'); {code}", "language": "python",
                   "files": {"a.bin": given}, "fetch_files": ["out/b.bin", "not-there"]})
    assert answer["status"] == "Success"
    assert {name: base64.b64decode(text) for name, text in answer["files"].items()} == {
        "out/b.bin": b"\x00\xffbytes" * 2}
