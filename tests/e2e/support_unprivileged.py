"""An ordinary user of the host around a command: no capability, no group, nothing of root's."""

import os
import pathlib
import subprocess

from support_binary import BINARY, COMMAND_SECONDS, sanitizer_options

# Ids that no account has, below those of jars: the user's, and further ones for its namespaces.
USER = 1_900_000_000
FIRST_SUBORDINATE = 1_900_100_000
NAME = "belljar-e2e"
# So that a bomb which gets loose harms nobody: the kernel counts the user's processes.
MOST_PROCESSES = 1024

# Runs as root in a mount namespace of its own, so that nothing of this is seen outside: $1 is the
# directory with replacements for files of /etc, $2 the one to show the programs in, $3 that of the
# build, which the user might not be able to reach.
ENTER = """
set -e
replacements=$1 programs=$2 build=$3
shift 3
for file in "$replacements"/*; do
    mount --bind "$file" "/etc/${file##*/}"
done
mount --bind -o ro "$build" "$programs"
exec "$@"
"""


class Unprivileged:
    """Runs commands as a user with a home below `place`.

    With a `subordinate_count` newuidmap hands that many further ids out to the user. Nothing of it
    is written to the machine's own /etc.
    """

    def __init__(self, place, subordinate_count=0):
        self.place = pathlib.Path(place)
        self.programs = self.place / "programs"
        self.home = self.place / "home"
        self.temporary = self.place / "tmp"
        self.replacements = self.place / "etc"
        for folder in (self.place, self.programs, self.home, self.temporary, self.replacements):
            folder.mkdir()
        for folder in (self.home, self.temporary):
            os.chown(folder, USER, USER)
        self.replace("passwd", f"{NAME}:x:{USER}:{USER}::{self.home}:/bin/sh\n", keep="all")
        self.replace("group", f"{NAME}:x:{USER}:\n", keep="all")
        line = f"{NAME}:{FIRST_SUBORDINATE}:{subordinate_count}\n" if subordinate_count else ""
        self.replace("subuid", line)
        self.replace("subgid", line)

    def replace(self, name, text, keep="nothing"):
        kept = pathlib.Path("/etc", name).read_text() if keep == "all" else ""
        (self.replacements / name).write_text(kept + text)

    def run(self, command, environment=None, timeout=COMMAND_SECONDS, stdin=b""):
        """Runs one command to its end. The output is bytes."""
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home),
                     "TMPDIR": str(self.temporary), "LANG": "C.UTF-8", **sanitizer_options(),
                     **(environment or {})}
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh",
                 str(self.replacements), str(self.programs), str(BINARY.parent)]
        become = ["prlimit", f"--nproc={MOST_PROCESSES}", "setpriv", f"--reuid={USER}",
                  f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]
        return subprocess.run([*enter, *become, *map(str, command)], input=stdin, cwd=self.home,
                              env=variables, capture_output=True, timeout=timeout, check=False)

