# class: HostLeak
# tries: a conversation named ../.. , and its neighbours in the file system
# expects: the request is refused; nothing is beside the workspace
import os

from attempt import Attempts, answer, given, lacks

attempts = Attempts()
here = os.getcwd()
# Without namespaces the directory around the workspace is the jar's own too, and ends with it.
for path in ("../..", "../../..") if lacks("namespaces") else ("..", "../..", "../../.."):
    place = os.path.join(here, path)
    attempts.call(f"create in {path}", os.open, f"{place}/belljar-{given['token']}",
                  os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    if lacks("namespaces"):
        attempts.call(f"list {path}", os.listdir, place)
attempts.verdict() if attempts.through else answer(True, "refused, and nothing is beside it")
