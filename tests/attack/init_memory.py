# class: InternalRead
# tries: look into init and the server by /proc/PID, ptrace, process_vm_readv and pidfd_getfd
# expects: absent or refused
import ctypes
import os

from attempt import Attempts, given, lacks
from kernel import syscall

PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
SECRETIVE = ("mem", "environ", "maps", "smaps", "exe", "root", "cwd", "fd/0", "fd/3", "fd/64",
             "auxv", "syscall", "stack", "io", "personality", "map_files", "pagemap")
WRITABLE = ("mem", "oom_score_adj", "uid_map", "setgroups", "comm", "clear_refs", "coredump_filter",
            "attr/current", "loginuid", "timens_offsets")
attempts = Attempts()

targets = {os.getppid()} - {0}
if lacks("namespaces"):
    targets |= {given["server_pid"], *given["warden_pids"]}
else:
    targets.add(1)


def read_memory(pid):
    buffer = ctypes.create_string_buffer(16)
    local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 16)
    remote = (ctypes.c_uint64 * 2)(0x400000, 16)
    return syscall("process_vm_readv", pid, local, 1, remote, 1, 0)


def take_descriptor(pid):
    descriptor = syscall("pidfd_open", pid, 0)
    try:
        return syscall("pidfd_getfd", descriptor, 0, 0)
    finally:
        os.close(descriptor)


def read(path):
    if os.path.isdir(path):
        return os.listdir(path)
    with open(path, "rb", buffering=0) as file:
        return file.read(16)


for pid in sorted(targets):
    for name in SECRETIVE:
        attempts.call(f"read {pid}/{name}", read, f"/proc/{pid}/{name}")
    for name in WRITABLE:
        attempts.open(f"/proc/{pid}/{name}", os.O_WRONLY)
    attempts.call(f"PTRACE_ATTACH {pid}", syscall, "ptrace", PTRACE_ATTACH, pid, 0, 0)
    attempts.call(f"PTRACE_SEIZE {pid}", syscall, "ptrace", PTRACE_SEIZE, pid, 0, 0)
    attempts.call(f"process_vm_readv {pid}", read_memory, pid)
    attempts.call(f"pidfd_getfd {pid}", take_descriptor, pid)
    attempts.call(f"kcmp {pid}", syscall, "kcmp", os.getpid(), pid, 0, 0, 0)

attempts.verdict()
