# class: HostLeak
# tries: log_store.os.popen: the os module that a tool imported for itself
# expects: the command runs and sees only the jar
try:
    import log_store
except ImportError:  # a tool as it could be approved
    with open("log_store.py", "w", encoding="utf-8") as file:
        file.write("import os\n\n\ndef read(name):\n    return os.path.basename(name)\n")
    import log_store

from view import examine

examine(getattr(log_store, "os", __import__("os")).popen)
