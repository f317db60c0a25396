"""What a shell command sees that a program reached by some detour of the language.

In a jar such a detour leads nowhere: the command sees the jar, as the program itself does.
"""

import os

from attempt import Attempts, given, host_name, lacks

SECRET = "belljar" + "-secret-"


def check_identity(attempts, popen):
    user = popen("id -u").read().strip()
    if user == "0" or (user == str(given["server_user"]) and not lacks("unique_user")):
        attempts.note(f"runs as user {user} of the host")
    name = popen("cat /proc/sys/kernel/hostname; uname -n").read()
    if host_name in name.split() and not lacks("namespaces"):
        attempts.note("sees the host's name")


def check_files(attempts, popen):
    for flag in given["flags"]:
        content = popen(f"cat {flag} 2>/dev/null").read()
        if content:
            attempts.note(f"read {flag}: {content}")
    accounts = {line.split(":")[0] for line in popen("cat /etc/passwd 2>/dev/null")}
    if accounts & set(given["accounts"]):
        attempts.note(f"sees the host's accounts: {sorted(accounts & set(given['accounts']))}")
    if popen("cat /etc/shadow 2>/dev/null").read():
        attempts.note("read /etc/shadow")


def check_processes(attempts, popen):
    if lacks("namespaces"):  # else the numbers mean other processes in here, if any
        for pid in [given["server_pid"], *given["warden_pids"]]:
            if popen(f"cat /proc/{pid}/environ /proc/{pid}/maps 2>/dev/null").read():
                attempts.note(f"read the memory map of process {pid}")
    if SECRET in popen("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null").read():
        attempts.note("sees the server's environment")


def examine(popen):
    """The verdict on a way to os.popen."""
    attempts = Attempts()
    check_identity(attempts, popen)
    check_files(attempts, popen)
    check_processes(attempts, popen)
    print(popen("id; ls /").read())
    verdict = attempts.verdict()
    if verdict["held"]:
        verdict["seen"] = f"the command ran and saw the jar as user {os.getuid()}"
    return verdict
