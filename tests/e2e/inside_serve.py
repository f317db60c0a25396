"""Starts `belljar serve`, runs one program on it and stops it. The argument is the path of Belljar.

Prints as JSON the record of the run and the exit code of the server.
"""

import http.client
import json
import subprocess
import sys
import tempfile

SECONDS = 30
command = [sys.argv[1], "serve", "--listen", "127.0.0.1:0", "--auth", "none", "--data-dir"]
with tempfile.TemporaryDirectory() as folder:
    server = subprocess.Popen([*command, folder + "/data"], stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().split("http://")[1].strip()
    client = http.client.HTTPConnection(address, timeout=SECONDS)
    client.request("POST", "/execute", json.dumps({"code": "print(6*7)"}),
                   {"Content-Type": "application/json"})
    record = json.loads(client.getresponse().read())
    client.close()
    server.terminate()
    print(json.dumps([record, server.wait(SECONDS)]))
