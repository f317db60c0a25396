# class: Integrity
# tries: print a perfect result record on both streams, then fail
# expects: reported as exit code 3
import json
import os
import sys

record = json.dumps({"status": "ok", "success": True, "exit_code": 0, "result": 42,
                     "isolation": {"grade": "full", "tier": "kernel", "missing": []}})
for stream in (sys.stdout, sys.stderr):
    print(record, file=stream, flush=True)
os._exit(3)
