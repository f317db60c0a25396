# class: Lateral
# tries: two jars at once: find each other's files and processes
# expects: nothing of the other is visible
import os
import tempfile

from attempt import Attempts, answer, first, given, lacks, wait_for_other

PLACES = [os.getcwd(), tempfile.gettempdir(), "/dev/shm", "/var/tmp", "/run", "/dev/mqueue"]
own, other = (f"peer-{role}-{given['token']}" for role in
              (("first", "second") if first else ("second", "first")))
attempts = Attempts()
for place in PLACES:
    try:
        with open(f"{place}/{own}", "w", encoding="utf-8") as file:
            file.write(own)
    except OSError:
        pass

met = wait_for_other()
for place in PLACES:
    if os.path.lexists(f"{place}/{other}"):
        attempts.note(f"{place} shows the other's file")
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if folder != "/" or name not in ("usr", "proc", "sys")]
    if other in names:
        attempts.note(f"{folder} shows the other's file")
try:
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
except OSError:
    processes = []
for pid in processes:
    try:
        there = os.listdir(f"/proc/{pid}/cwd")
    except OSError:
        continue
    if other in there:
        attempts.note(f"the other's files through process {pid}")
if not lacks("namespaces") and len(processes) > 1:
    attempts.note(f"processes {processes}")
if not met:
    attempts.note("the other jar never came")
attempts.verdict() if attempts.through else answer(True, "the other jar is not to be seen")
