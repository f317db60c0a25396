# class: Escape
# tries: use any capability: read the five sets, raise them, take another user
# expects: all sets empty, no_new_privs set, nothing changes
# needs: no_capabilities
import ctypes
import os

from attempt import Attempts, answer, lacks
from kernel import libc, syscall

PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT, IS_SET, RAISE = 23, 39, 47, 1, 2
attempts = Attempts()


def sets_of_proc():
    with open("/proc/self/status", encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(fields[name], 16) != 0:
            attempts.note(f"{name} {fields[name].strip()}")
    if fields["NoNewPrivs"].strip() != "1":
        attempts.note("NoNewPrivs is not set")


def sets_by_calls():
    """The same where /proc cannot be read."""
    for number in range(41):
        # Only who has a capability can empty this one; no_new_privs makes it mute.
        if not lacks("namespaces") and libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            attempts.note(f"capability {number} in the bounding set")
        if libc.prctl(PR_CAP_AMBIENT, IS_SET, number, 0, 0) == 1:
            attempts.note(f"capability {number} is ambient")
    if libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0:
        attempts.note("NoNewPrivs is not set")


def raise_all():
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    everything = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    return syscall("capset", header, everything)


try:
    sets_of_proc()
except OSError:
    sets_by_calls()
attempts.call("capset", raise_all)
for name, change in (("setuid", os.setuid), ("setgid", os.setgid), ("seteuid", os.seteuid),
                     ("setgroups", lambda number: os.setgroups([number]))):
    for number in (0, 1, 65534):
        if number not in (os.getuid(), os.getgid()):
            attempts.call(f"{name} {number}", change, number, also=(22,))

attempts.verdict() if attempts.through else answer(True, "none, and none to be had")
