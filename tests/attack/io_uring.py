# class: Escape
# tries: io_uring_setup, io_uring_enter, io_uring_register
# expects: no such system call
# needs: seccomp
from attempt import Attempts
from kernel import syscall

attempts = Attempts()
attempts.call("io_uring_setup", syscall, "io_uring_setup", 8, bytes(120))
attempts.call("io_uring_enter", syscall, "io_uring_enter", 0, 1, 0, 0, 0, 0)
attempts.call("io_uring_register", syscall, "io_uring_register", 0, 0, 0, 0)
attempts.verdict()
