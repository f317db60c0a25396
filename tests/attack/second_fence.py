# class: Escape
# tries: what Landlock alone has to stop: write outside, abstract sockets, signals to outside
# expects: refused, also where other layers are switched off
import errno
import os
import socket

from attempt import Attempts, given, lacks

attempts = Attempts()


def dial():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + given["abstract_socket"])


for folder in ("/", "/usr", "/usr/lib", "/etc", "/dev", "/var", "/opt"):
    if os.path.isdir(folder):
        attempts.call(f"create in {folder}", os.open, f"{folder}/belljar-{given['token']}",
                      os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        attempts.call(f"mkdir in {folder}", os.mkdir, f"{folder}/belljar-{given['token']}-folder")
for path in given["shared_files"]:
    if os.path.exists(path):
        attempts.open(path, os.O_RDWR)
for flag in given["flags"]:
    attempts.open(flag)

attempts.call("connect to the abstract socket", dial, also=(errno.ECONNREFUSED,))
if lacks("namespaces"):
    for pid in [given["server_pid"], *given["warden_pids"]]:
        attempts.call(f"signal {pid}", os.kill, pid, 0)
attempts.verdict()
