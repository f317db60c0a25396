# class: HostDoS
# tries: change owner, rights, times and attributes of host files, which Landlock does not watch
# expects: no such file, or not permitted
# needs: unique_user
import errno
import os

from attempt import Attempts, given

attempts = Attempts()


def same_rights(path):
    os.chmod(path, os.stat(path).st_mode & 0o7777)


def same_times(path):
    status = os.stat(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


# What Landlock leaves to file permissions is set to what it is already: enough to see that it could
# be changed. What Landlock watches is tried in earnest, and looked for from outside.
for path in [*given["flags"], given["socket_file"], os.path.dirname(given["socket_file"])]:
    attempts.call(f"chmod {path}", same_rights, path)
    attempts.call(f"utime {path}", same_times, path)
    attempts.call(f"chown {path}", os.chown, path, os.getuid(), os.getgid())
    attempts.call(f"xattr {path}", os.setxattr, path, "user.belljar", b"x")
    attempts.call(f"link {path}", os.link, path, "linked", also=(errno.EXDEV,))
    attempts.call(f"rename {path}", os.rename, path, "moved", also=(errno.EXDEV,))
    attempts.call(f"unlink {path}", os.unlink, path, also=(errno.EISDIR,))
attempts.verdict()
