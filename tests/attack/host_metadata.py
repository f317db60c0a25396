# class: HostDoS
# tries: change owner, rights, times and attributes of host files, which Landlock does not watch
# expects: no such file, or not permitted
# needs: unique_user
import os

from attempt import Attempts, given

attempts = Attempts()
for path in [*given["flags"], given["socket_file"], os.path.dirname(given["socket_file"])]:
    attempts.call(f"chmod {path}", os.chmod, path, 0o600)
    attempts.call(f"chown {path}", os.chown, path, os.getuid(), os.getgid())
    attempts.call(f"utime {path}", os.utime, path, (0, 0))
    attempts.call(f"xattr {path}", os.setxattr, path, "user.belljar", b"x")
    attempts.call(f"link {path}", os.link, path, "linked", also=(18,))
    attempts.call(f"rename {path}", os.rename, path, "moved", also=(18,))
    attempts.call(f"unlink {path}", os.unlink, path, also=(21,))
attempts.verdict()
