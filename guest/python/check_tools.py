"""Tries to import approved modules, each in a process of its own with a time of its own. The value
of this program says of each that cannot be served why. The names of the files to try come as JSON
on standard input."""

import importlib
import importlib.util
import json
import os
import select
import signal
import sys
import time

TOOLS = "/tools"
AT_ONCE = 4
SECONDS = 5  # for each module, without the time for which it waits for a processor
LOOK_SECONDS = 0.5
ALL_SECONDS = 100
LONGEST_TEXT = 300


def module_name(file):
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def shadows(name):
    """Whether programs would get something else by that name."""
    first = name.partition(".")[0]
    if first in sys.stdlib_module_names or first in sys.builtin_module_names:
        return True
    path = sys.path[:]
    sys.path = [place for place in path if place not in (TOOLS, os.getcwd(), "")]
    try:
        return importlib.util.find_spec(first) is not None
    except (ImportError, ValueError):
        return False
    finally:
        sys.path = path


def import_and_tell(name, report):
    """In a process of its own. What the module writes goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    try:
        importlib.import_module(name)
        text = "imported"
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
    os.write(report, text[:LONGEST_TEXT].encode(errors="replace"))
    os._exit(0)


class Attempt:
    def __init__(self, file):
        self.file = file
        self.begun = time.monotonic()
        self.report, ours = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.setsid()
            import_and_tell(module_name(file), ours)
        os.close(ours)

    def hangs(self):
        """On a busy machine everything takes long; that is no fault of the module."""
        try:
            with open(f"/proc/{self.process}/schedstat", encoding="ascii") as file:
                waited = int(file.read().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            waited = 0
        return time.monotonic() - self.begun - waited > SECONDS

    def end(self):
        """Why the module cannot be served; None if it can."""
        late = not select.select([self.report], [], [], 0)[0]
        text = "" if late else os.read(self.report, 4 * LONGEST_TEXT).decode(errors="replace")
        os.close(self.report)
        try:
            os.killpg(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.process, 0)
        if late:
            return refuse(self.file, "import_hangs", f"its import takes more than {SECONDS} s")
        if text != "imported":
            reason = text or "its import ends the process"
            return refuse(self.file, "import_failed", f"it cannot be imported: {reason}")
        return None


def refuse(file, reason, text):
    return {"file": file, "reason": reason, "text": text}


def try_all(files):
    refused = [refuse(file, "shadows", f"programs know another module '{module_name(file)}'")
               for file in files if shadows(module_name(file))]
    hidden = {entry["file"] for entry in refused}
    waiting = [file for file in files if file not in hidden]
    running = []
    over = time.monotonic() + ALL_SECONDS
    while waiting or running:
        while waiting and len(running) < AT_ONCE and time.monotonic() < over:
            running.append(Attempt(waiting.pop()))
        if not running:
            break
        told = select.select([one.report for one in running], [], [], LOOK_SECONDS)[0]
        late = time.monotonic() > over
        ended = [one for one in running if one.report in told or late or one.hangs()]
        running = [one for one in running if one not in ended]
        refused += filter(None, [attempt.end() for attempt in ended])
    refused += [refuse(file, "import_hangs", "others took all the time there was")
                for file in waiting]
    return refused


try_all(json.load(sys.stdin))
