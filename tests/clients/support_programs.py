"""Programs for the sandbox that every client is tried with, and what runs of them on this host."""

import pathlib
import uuid

from support_binary import wait_until
from support_processes import all_processes

TICKS = "import time\nfor number in range(4):\n    print(number, flush=True)\n    time.sleep(0.2)\n"
PRINTED = "0\n1\n2\n3\n"

# A loop and a child in a session of its own; each becomes a program whose command line, other than
# that of the runner, shows the mark.
LOOP = """
import os, sys
if os.fork() == 0:
    os.setsid()
os.execv(sys.executable, [sys.executable, "-c", "while True: pass", sys.argv[1]])
"""


class EndlessProgram:
    def __init__(self):
        self.mark = str(uuid.uuid4())
        self.arguments = {"code": LOOP, "args": [self.mark], "timeout": 60}

    def processes(self):
        return [pid for pid, process in all_processes().items()
                if not process.ended and self.mark in command_line(pid)]

    def wait_for_start(self):
        wait_until(lambda: len(self.processes()) == 2, "both processes run")

    def wait_for_end(self):
        wait_until(lambda: not self.processes(), "no process is left", 5)


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


class ConversationFile:
    """A file that a run of this conversation writes, and the address under which it is read."""

    text = "first line\nsecond: \u00e9\u65e5\n"

    def __init__(self):
        self.conversation = f"talk-{uuid.uuid4().hex[:12]}"
        self.path = "notes/report.txt"
        self.uri = f"belljar://conversations/{self.conversation}/files/{self.path}"
        code = (f"import os\nos.makedirs('notes')\n"
                f"open({self.path!r}, 'w', encoding='utf-8').write({self.text!r})\n'written'")
        self.arguments = {"code": code, "conversation_id": self.conversation}
        self.read_arguments = {"conversation_id": self.conversation, "path": self.path}
