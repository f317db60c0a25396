# class: Escape
# tries: run a set-user-id file of its own and those it finds; give a file capabilities
# expects: the user stays what it was
import os
import shutil
import subprocess

from attempt import Attempts, answer

attempts = Attempts()
found = []


def effective_user(*command):
    """As the dynamic loader sees it at the start of a program; it hides this from none but secure
    ones."""
    try:
        said = subprocess.run(command, env={"LD_SHOW_AUXV": "1", "PATH": "/usr/bin:/bin"},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=0.5).stdout
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b""
    lines = said.decode("utf-8", "replace").splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    if fields.get("AT_SECURE", "0").strip() != "0":
        return "secure"
    return fields.get("AT_EUID", str(os.getuid())).strip()


def try_program(path, *arguments):
    try:
        user = effective_user(path, *arguments)
    except (OSError, subprocess.SubprocessError):
        return
    if user != str(os.getuid()):
        attempts.note(f"{path} runs as {user}")


own = os.path.abspath("own-id")
shutil.copy("/usr/bin/id", own)
try:
    os.chmod(own, 0o6755)
except OSError:
    pass
try_program(own)
attempts.call("file capabilities", os.setxattr, own, "security.capability",
              bytes.fromhex("0100000200200000002000000000000000000000"), also=(95, 22))

for folder in ("/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/lib", "/usr/local/bin", "/bin"):
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if mode & 0o6000 and mode & 0o170000 == 0o100000:
                found.append(path)
for path in found[:20]:
    try_program(path, "--version")

attempts.verdict() if attempts.through else answer(
    True, f"own file and {len(found)} found ones give nothing")
