# class: Escape
# tries: write to every read-only place: create, open, truncate, link, chmod
# expects: refused; the host's files keep their bytes
import errno
import os

from attempt import Attempts, given

FOLDERS = ["/", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/bin", "/lib", "/etc", "/dev",
           "/proc", "/sys", "/var", "/root", "/home", "/run", "/opt", "/srv", "/boot", "/tools",
           "/servers", "/skills"]
# Nothing here destroys what it could change: sizes, rights and times are set to what they are.
attempts = Attempts()


def try_folder(folder):
    name = f"{folder}/belljar-{given['token']}"
    attempts.call(f"create in {folder}", os.open, name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    attempts.call(f"mkdir in {folder}", os.mkdir, name + "-folder")
    attempts.call(f"symlink in {folder}", os.symlink, "/", name + "-link")
    attempts.call(f"chmod {folder}", os.chmod, folder, os.stat(folder).st_mode & 0o7777)


def try_file(path):
    for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_APPEND):
        attempts.open(path, flags)
    attempts.call(f"truncate {path}", os.truncate, path, os.stat(path).st_size)
    attempts.call(f"link {path}", os.link, path, f"{path}-{given['token']}",
                  also=(errno.EXDEV,))
    attempts.call(f"utime {path}", os.utime, path, (os.stat(path).st_atime, os.stat(path).st_mtime))
    attempts.call(f"xattr {path}", os.setxattr, path, "user.belljar", b"x")


for folder in FOLDERS:
    if os.path.isdir(folder) and not os.path.islink(folder):
        try_folder(folder)
for path in [*given["shared_files"], "/etc/passwd", "/etc/hosts", "/usr/bin/env", "/usr/bin/id"]:
    if os.path.isfile(path):
        try_file(path)
attempts.verdict()
