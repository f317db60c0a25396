# class: Escape
# tries: every system call number from 0 to 600 with bad arguments, each in a child of its own
# expects: refused ones say EPERM or ENOSYS, unknown ones ENOSYS; none ends the child
# needs: seccomp
import ctypes
import errno
import os
import signal

from attempt import Attempts, answer
from kernel import NUMBERS, X86, libc

LAST_KNOWN = 470  # numbers after this are newer than any filter can know
REFUSED = """acct add_key bpf chroot clock_adjtime clock_settime delete_module fanotify_init
finit_module fsconfig fsmount fsopen fspick init_module io_uring_enter io_uring_register
io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie modify_ldt mount
mount_setattr move_mount name_to_handle_at open_by_handle_at open_tree perf_event_open pidfd_getfd
pivot_root process_madvise process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot
request_key setdomainname sethostname setns settimeofday splice swapoff swapon syslog tee umount2
userfaultfd vmsplice clone3""".split()
HANGS = 0.3  # seconds: what has not returned by then was let through and waits
attempts = Attempts()
counts = {}


def call_in_child(number):
    """The errno, 0 for success, or a negative signal."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        bad = ctypes.c_long(-1)
        ctypes.set_errno(0)
        value = libc.syscall(ctypes.c_long(number), bad, bad, bad, bad, bad, bad)
        os._exit(ctypes.get_errno() & 0xFF if value == -1 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


refused = {NUMBERS[name][0 if X86 else 1]: name for name in REFUSED} if X86 else {}
for number in range(601):
    found = call_in_child(number)
    if found == -signal.SIGSYS:
        attempts.note(f"{number} kills")
    elif number in refused and found not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
        attempts.note(f"{refused[number]}: {errno.errorcode.get(found, found)}")
    elif number > LAST_KNOWN and found != errno.ENOSYS:
        attempts.note(f"unknown {number}: {errno.errorcode.get(found, found)}")
    name = errno.errorcode.get(found, "done") if found >= 0 else "signal"
    counts[name] = counts.get(name, 0) + 1
attempts.verdict() if attempts.through else answer(
    True, f"{counts.get('EPERM', 0)} EPERM, {counts.get('ENOSYS', 0)} ENOSYS, none kills")
