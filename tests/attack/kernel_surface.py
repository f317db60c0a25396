# class: Escape
# tries: sixty calls that no ordinary program needs: bpf, perf, modules, keys, ptrace, clocks
# expects: each refused
# needs: seccomp
import ctypes
import os

from attempt import Attempts
from kernel import exists, syscall

READ_IMPLIES_EXEC, AT_FDCWD = 0x0400000, -100
attempts = Attempts()
buffer = ctypes.create_string_buffer(256)
me = os.getpid()
impossible = (ctypes.c_int64 * 2)(1, -1)  # a time that no clock can be set to

# Arguments that would do no harm if the call were let through.
CALLS = [
    ("bpf", 0, bytes(128), 128),
    ("perf_event_open", bytes(128), 0, -1, -1, 0),
    ("userfaultfd", 1),
    ("kexec_load", 0, 0, 0, -1), ("kexec_file_load", -1, -1, 0, 0, 0),
    ("init_module", 0, 0, b""), ("finit_module", -1, b"", 0), ("delete_module", b"belljar", 0),
    ("add_key", b"user", b"belljar", b"x", 1, -3), ("request_key", b"user", b"belljar", 0, -3),
    ("keyctl", 0, -3, 0), ("keyctl", 0, -4, 1), ("keyctl", 1, 0),
    ("modify_ldt", 0, buffer, 16), ("personality", READ_IMPLIES_EXEC),
    ("iopl", 3), ("ioperm", 0, 1, 1),
    ("syslog", 3, buffer, 256), ("syslog", 10, 0, 0),
    ("lookup_dcookie", 1, buffer, 256), ("quotactl", 0x80000100, b"/", 0, buffer),
    ("quotactl_fd", 0, 0x80000100, 0, buffer),
    ("swapon", b"/tmp/none", 0), ("swapoff", b"/tmp/none"), ("acct", b"/tmp/none"),
    ("reboot", 0, 0, 0, 0), ("vhangup",),
    ("settimeofday", impossible, 0), ("clock_settime", 0, impossible),
    ("sethostname", b"x", -1), ("setdomainname", b"x", -1),
    ("ptrace", 0, 0, 0, 0), ("ptrace", 16, me, 0, 0),
    ("process_vm_readv", me, buffer, 0, buffer, 0, 0),
    ("process_vm_writev", me, buffer, 0, buffer, 0, 0),
    ("process_madvise", -1, buffer, 0, 4, 0), ("pidfd_getfd", -1, 0, 0), ("kcmp", me, me, 0, 0, 1),
    ("name_to_handle_at", AT_FDCWD, b"/", buffer, buffer, 0), ("open_by_handle_at", 0, buffer, 0),
    ("fanotify_init", 0, 0), ("memfd_secret", 0), ("migrate_pages", me, 0, 0, 0),
    ("move_pages", me, 0, 0, 0, 0, 0), ("statmount", buffer, buffer, 256, 0),
    ("listmount", buffer, buffer, 16, 0), ("lsm_set_self_attr", 100, buffer, 32, 0),
    ("uselib", b"/tmp/none"), ("open_tree_attr", AT_FDCWD, b"/", 1, 0, 0),
    ("splice", 0, 0, 0, 0, 0, 0), ("vmsplice", 0, 0, 0, 0), ("tee", 0, 0, 0, 0),
    ("setns", 0, 0), ("chroot", b"/"), ("mount", 0, 0, 0, 0, 0), ("umount2", b"/tmp/none", 0),
    ("pivot_root", b"/", b"/"), ("fsopen", b"tmpfs", 0),
    ("sched_setscheduler", 0, 1, (ctypes.c_int * 1)(1)),
    ("setgroups", 0, 0),
]
for name, *arguments in CALLS:
    if exists(name):
        attempts.call(name, syscall, name, *arguments)
attempts.verdict()
