# class: HostDoS
# tries: spread reads over 128 GiB of address space, so that page tables alone exceed the limit
# expects: ended for its memory, or no more address space
# needs: memory_limit
import mmap

from attempt import answer, given

limit = given["limits"]["memory_bytes"]
NO_RESERVE = 0x4000
REGION = 2 << 20  # what one page of page table covers
wanted = 2 * limit // 4096
touched = 0
try:
    area = mmap.mmap(-1, wanted * REGION,
                     flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE,
                     prot=mmap.PROT_READ)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for number in range(wanted):
        area[number * REGION]
        touched += 1
except (OSError, MemoryError):
    pass
answer(touched < wanted, f"{touched * 4096 >> 20} MiB of page tables, {limit >> 20} are allowed")
