# class: Escape
# tries: mount, umount, pivot_root, chroot and the new mount calls
# expects: refused
import errno
import os

from attempt import Attempts
from kernel import syscall

AT_FDCWD, CLONE_TREE, EXPIRE, BIND, REMOUNT = -100, 1, 4, 0x1000, 0x20
attempts = Attempts()
os.mkdir("place")
place = os.path.abspath("place").encode()

for kind in (b"tmpfs", b"proc", b"sysfs", b"devtmpfs", b"overlay", b"cgroup2", b"ext4", b"fuse"):
    attempts.call(f"mount {kind.decode()}", syscall, "mount", kind, place, kind, 0, 0)
    attempts.call(f"fsopen {kind.decode()}", syscall, "fsopen", kind, 0)
attempts.call("bind", syscall, "mount", b"/", place, 0, BIND, 0)
attempts.call("remount", syscall, "mount", b"none", b"/", 0, REMOUNT | BIND, 0)
attempts.call("change propagation", syscall, "mount", b"none", b"/", 0, 1 << 20, 0)
for path in (b"/", b"/proc", b"/usr", b"/tmp", b"/dev"):
    attempts.call(f"umount {path.decode()}", syscall, "umount2", path, EXPIRE)
    attempts.call(f"open_tree {path.decode()}", syscall, "open_tree", AT_FDCWD, path, CLONE_TREE)
    attempts.call(f"fspick {path.decode()}", syscall, "fspick", AT_FDCWD, path, 0)
# Without fsopen there is nothing that these two could be used on.
attempts.call("fsmount", syscall, "fsmount", 0, 0, 0, also=(errno.EINVAL, errno.EBADF))
attempts.call("fsconfig", syscall, "fsconfig", 0, 6, 0, 0, 0, also=(errno.EINVAL, errno.EBADF))
attempts.call("move_mount", syscall, "move_mount", AT_FDCWD, place, AT_FDCWD, place, 0)
attempts.call("mount_setattr", syscall, "mount_setattr", AT_FDCWD, b"/", 0, bytes(32), 32)
attempts.call("pivot_root", syscall, "pivot_root", place, place)
attempts.call("chroot", syscall, "chroot", place)
attempts.verdict()
