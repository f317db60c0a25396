"""Asks a server through the published client of SandboxFusion; prints the answers as JSON."""

import json
import sys

from sandbox_fusion import RunCodeRequest, run_code, set_sandbox_endpoint


def main():
    endpoint, requests = sys.argv[1], json.load(sys.stdin)
    set_sandbox_endpoint(endpoint)
    answers = [run_code(RunCodeRequest(**request), max_attempts=1) for request in requests]
    print(json.dumps([json.loads(answer.json()) for answer in answers]))


if __name__ == "__main__":
    main()
