# class: HostLeak
# tries: read kernel files of /proc and /sys, open its switches for writing
# expects: absent or refused
import errno
import os

from attempt import Attempts

READ = ["kcore", "keys", "key-users", "sched_debug", "timer_list", "timer_stats", "interrupts",
        "kallsyms", "config.gz", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo",
        "slabinfo", "modules", "iomem", "ioports", "latency_stats", "acpi", "asound", "scsi",
        "bus/pci/devices", "fs/ext4", "driver", "tty/drivers", "mtrr", "dma", "swaps", "net/tcp",
        "sys/kernel/core_pattern", "sys/kernel/random/boot_id", "1/net/tcp"]
WRITE = ["sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug",
         "sys/vm/panic_on_oom", "sys/vm/overcommit_memory", "sys/fs/binfmt_misc/register",
         "sys/kernel/ns_last_pid", "sys/net/ipv4/ip_forward", "irq/default_smp_affinity",
         "sys/kernel/perf_event_paranoid", "sys/kernel/randomize_va_space"]
SYS = ["firmware", "kernel/debug", "kernel/security", "kernel/tracing", "devices/virtual/powercap",
       "devices/system/cpu", "fs/cgroup", "class/net", "block", "module"]
attempts = Attempts()


def read(path):
    """Containers put an empty file over what is not to be seen."""
    if os.path.isdir(path):
        content = os.listdir(path)
    else:
        with open(path, "rb", buffering=0) as file:
            content = file.read(64)
    if not content:
        raise FileNotFoundError(errno.ENOENT, "nothing in it", path)


for name in READ:
    attempts.call(f"read /proc/{name}", read, f"/proc/{name}")
for name in SYS:
    attempts.call(f"read /sys/{name}", read, f"/sys/{name}")
for name in WRITE:  # opened, never written: this must be harmless where it succeeds
    attempts.open(f"/proc/{name}", os.O_WRONLY)
for path in ("/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs",
             "/sys/kernel/mm/ksm/run"):
    attempts.open(path, os.O_WRONLY)
attempts.verdict()
