# class: Escape
# tries: turn the whole program into one that uses int 0x80
# expects: ended by the filter, and reported as denied
# needs: seccomp
import os

from attempt import answer
from kernel import EXIT, INT_80, X86, load, write_program

if X86:
    program = write_program("program", load("eax", 20) + INT_80 + EXIT)
    try:
        os.execv(program, [program])
    except OSError as error:
        outcome = answer(True, f"not executed ({error.errno})")
else:
    outcome = answer(True, "no such ABI on this processor")
outcome
