# class: Escape
# tries: system calls by int 0x80, by x32 numbers and from a 32-bit program
# expects: killed at the first one (SIGSYS), or the kernel has no such ABI
# needs: seccomp
import signal
import subprocess

from attempt import Attempts, answer
from kernel import (EXIT, EXIT_32, INT_80, SURVIVED, SYSCALL, X86, load, write_program)

X32 = 0x40000000
attempts = Attempts()
ends = {}

PROGRAMS = {
    "int-getpid": load("eax", 20) + INT_80 + EXIT,
    "int-mount": load("eax", 21) + load("ebx", 0) + load("ecx", 0) + INT_80 + EXIT,
    "int-socketcall": load("eax", 102) + load("ebx", 1) + load("ecx", 0x400000) + INT_80 + EXIT,
    "int-ptrace": load("eax", 26) + load("ebx", 0) + INT_80 + EXIT,
    "x32-getpid": load("eax", X32 + 39) + SYSCALL + EXIT,
    "x32-mount": load("eax", X32 + 165) + SYSCALL + EXIT,
    "x32-ptrace": load("eax", X32 + 521) + SYSCALL + EXIT,
    "x32-last": load("eax", X32 + 547) + SYSCALL + EXIT,
}


def run(name, code, machine):
    program = write_program(name, code, machine)
    try:
        return subprocess.run([program], timeout=5).returncode
    except OSError as error:  # no such ABI, or no execution from here
        return f"not executed ({error.errno})"


def judge(name, end):
    ends[name] = end
    stopped = isinstance(end, str) or end in (-signal.SIGSYS, -signal.SIGSEGV)
    if not stopped:
        attempts.note(f"{name} went on" if end == SURVIVED else f"{name} ended with {end}")


if X86:
    for name, code in PROGRAMS.items():
        judge(name, run(name, code, 62))
    judge("32-bit", run("program-32", EXIT_32, 3))
# A program of the usual kind has to work, or the others prove nothing.
control = run("control", EXIT, 62) if X86 else SURVIVED
if control != SURVIVED and not isinstance(control, str):
    attempts.note(f"the control program ended with {control}")
killed = sum(end == -signal.SIGSYS for end in ends.values())
attempts.verdict() if attempts.through else answer(
    True, f"{killed} of {len(ends)} killed by SIGSYS" if X86 else "no such ABI on this processor")
