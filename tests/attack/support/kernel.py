"""The kernel without the C library between: system calls by number, programs of a few bytes."""

import ctypes
import os
import platform
import struct

X86 = platform.machine() == "x86_64"

# Number on x86-64 and on arm64; None where there is no such call. Those after 423 are the same on
# both, and the last ones are newer than many header files.
NUMBERS = {
    "accept": (43, 202), "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171),
    "bind": (49, 200), "bpf": (321, 280), "capget": (125, 90), "capset": (126, 91),
    "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_settime": (227, 112),
    "clone": (56, 220), "clone3": (435, 435), "connect": (42, 203), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "futex": (202, 98),
    "init_module": (175, 105), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "landlock_restrict_self": (446, 446), "lookup_dcookie": (212, 18), "memfd_secret": (447, 447),
    "migrate_pages": (256, 238), "mknodat": (259, 33), "modify_ldt": (154, None),
    "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "move_pages": (279, 239), "mq_open": (240, 180), "mq_unlink": (241, 181), "msgget": (68, 186),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "open_tree": (428, 428),
    "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41),
    "prctl": (157, 167), "process_madvise": (440, 440), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "request_key": (249, 218),
    "sched_setattr": (314, 274), "sched_setscheduler": (144, 119), "seccomp": (317, 277),
    "semget": (64, 190), "setdomainname": (171, 162), "setgid": (106, 144),
    "setgroups": (116, 159), "sethostname": (170, 161), "setns": (308, 268),
    "setresgid": (119, 149), "setresuid": (117, 147), "settimeofday": (164, 170),
    "setuid": (105, 146), "shmat": (30, 196), "shmctl": (31, 195), "shmget": (29, 194),
    "splice": (275, 76), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "tee": (276, 77), "umount2": (166, 39), "unshare": (272, 97), "uselib": (134, None),
    "userfaultfd": (323, 282), "vhangup": (153, 58), "vmsplice": (278, 75),
    "statmount": (457, 457), "listmount": (458, 458), "lsm_set_self_attr": (460, 460),
    "mseal": (462, 462), "open_tree_attr": (467, 467)}

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def exists(name):
    return NUMBERS[name][0 if X86 else 1] is not None


def raw(number, *arguments):
    """The value that the kernel returns; OSError if it is an error."""
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    ctypes.set_errno(0)
    value = libc.syscall(ctypes.c_long(number), *given)
    if value == -1:
        raise OSError(ctypes.get_errno(), str(number))
    return value


def syscall(name, *arguments):
    return raw(NUMBERS[name][0 if X86 else 1], *arguments)


def write_program(path, code, machine=62):
    """An ELF program of nothing but machine code: 62 is x86-64, 3 the 32-bit i386."""
    if machine == 62:
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0x400078, 64, 0,
                           0, 64, 56, 1, 0, 0, 0)
        size = 120 + len(code)
        segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, size, size, 0x1000)
    else:
        head = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, machine, 1, 0x400054, 52,
                           0, 0, 52, 32, 1, 0, 0, 0)
        size = 84 + len(code)
        segment = struct.pack("<IIIIIIII", 1, 0, 0x400000, 0x400000, size, size, 5, 0x1000)
    with open(path, "wb") as file:
        file.write(head + segment + code)
    os.chmod(path, 0o755)
    return os.path.abspath(path)


def load(register, value):
    """mov register, value"""
    opcode = 0xB8 + ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"].index(register)
    return bytes([opcode]) + struct.pack("<I", value & 0xFFFFFFFF)


INT_80 = b"\xcd\x80"
SYSCALL = b"\x0f\x05"
SURVIVED = 42
# exit(42): whoever gets so far was not stopped.
EXIT = load("edi", SURVIVED) + load("eax", 60) + SYSCALL
EXIT_32 = load("ebx", SURVIVED) + load("eax", 1) + INT_80
