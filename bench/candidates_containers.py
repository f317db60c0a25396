"""Containers as others make them: crun or runc with a bundle, and a Docker engine of our own."""

import contextlib
import http.client
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tarfile
import time

import support_container
from candidates_commands import Command, python_program
from stats import NotHere
from support_binary import wait_until
from support_processes import descendants, reap_adopted
from support_traces import own_cgroups
from timekeepers import PYTHON

# What a jar does not have either and a program does not miss: leaving it out is faster.
LEFT_OUT = ("/sys", "/dev/mqueue", support_container.PROGRAMS)
LABELS = {"crun": "crun, OCI bundle, python3", "runc": "runc, OCI bundle, python3"}


def cgroup_mounts():
    """[(type, place)] of every hierarchy that is mounted."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    fields = [(line.partition(" - ")[2].split()[0], line.split()[4]) for line in lines]
    return [(kind, place) for kind, place in fields if kind in ("cgroup", "cgroup2")]


def crun_surroundings():
    """A mount namespace for crun 1.8, which refuses to work beside both kinds of cgroups.

    It also takes relative names from the top of a hierarchy; here the top is our own cgroup.
    """
    mounts = cgroup_mounts()
    if "cgroup" not in dict(mounts):
        return ()
    steps = [f"umount '{place}'" for kind, place in mounts if kind == "cgroup2"]
    for kind, place in mounts:
        inner = [str(own) for own in own_cgroups() if str(own).startswith(f"{place}/")]
        if kind == "cgroup" and inner:
            steps.append(f"mount --bind '{inner[0]}' '{place}'")
    return private_mounts(steps)


def private_mounts(steps):
    """A command that starts another one where these mounts are made and nobody else sees them."""
    script = " && ".join([*steps, 'exec "$@"'])
    return ("/usr/bin/unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")


class Bundle(Command):
    """One directory with a root and a config.json; the cgroup is made and removed by each run."""

    def __init__(self, runtime, place):
        program = shutil.which(runtime)
        if not program:
            raise NotHere(f"{runtime} is not installed")
        if not support_container.PROFILE.exists():
            raise NotHere(f"{support_container.PROFILE} is not there")
        self.name = f"bench-{secrets.token_hex(4)}"
        self.place = place / runtime
        support_container.Container(self.place)
        self.start = [program, "--root", str(self.place / "state"), "run", "--bundle",
                      str(self.place), self.name]
        surroundings = crun_surroundings() if runtime == "crun" else ()
        super().__init__({runtime: LABELS[runtime]}, self.command, surroundings)

    def command(self, token):
        command = [PYTHON, "-I", "-c", python_program(token)]
        process = support_container.process_of(command, "user", None)
        found = support_container.specification(process, "docker", self.name)
        found["mounts"] = [one for one in found["mounts"]
                           if not one["destination"].startswith(LEFT_OUT)]
        (self.place / "config.json").write_text(json.dumps(found))
        return self.start


class DockerRun(Command):
    """`docker run` with the usual flags of a sandbox, on an engine that lives as long as this."""

    def __init__(self, place):
        self.engine = Engine(place / "docker")
        try:
            self.engine.start()
            self.engine.make_image()
            super().__init__({"docker": "docker run, sandbox flags, python3"}, self.command)
        except BaseException:
            self.engine.stop()
            raise

    def command(self, token):
        return [*self.engine.client, "run", "--rm", "--network", "none", "--read-only",
                "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--memory", "256m",
                "--cpus", "0.5", "--pids-limit", "64", "--user", "65534:65534", "--volume",
                "/usr:/usr:ro", Engine.IMAGE, PYTHON, "-I", "-c", python_program(token)]

    def close(self):
        super().close()
        self.engine.stop()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=5)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    """A dockerd with its own data, socket and mount namespace; after stop() nothing of it is left.

    Debian's package is started by hand: nothing listens on a network, no bridge and no packet
    filter rule is made, and its cgroups are below our own.
    """

    IMAGE = "belljar-bench:1"
    START_SECONDS = 30
    STOP_SECONDS = 30
    # Written to whatever is said on the command line.
    FIXED_PLACES = ("/run", "/opt", "/etc/docker")

    def __init__(self, place):
        self.daemon = shutil.which("dockerd")
        program = next((path for path in ("/usr/bin/docker", shutil.which("docker"))
                        if path and pathlib.Path(path).exists()), None)
        if not self.daemon or not program:
            raise NotHere("docker.io is not installed")
        self.place, self.process = place, None
        self.cgroup = f"bench-{secrets.token_hex(4)}"
        self.socket = place / "socket"
        self.client = [program, "--config", str(place / "client"), "--host",
                       f"unix://{self.socket}"]

    def start(self):
        reason = ""
        for driver in ("overlay2", "vfs"):
            self.place.mkdir()
            self.launch(driver)
            if self.is_ready():
                return
            reason = self.last_words()
            self.stop()
        raise NotHere(f"dockerd does not start: {reason}")

    def launch(self, driver):
        (self.place / "daemon.json").write_text("{}")
        hidden = [f"mount -t tmpfs tmpfs {place}" for place in self.FIXED_PLACES
                  if pathlib.Path(place).is_dir()]
        command = [
            *private_mounts(hidden), self.daemon, "--config-file",
            f"{self.place}/daemon.json", "--data-root", f"{self.place}/data", "--exec-root",
            f"{self.place}/exec", "--pidfile", f"{self.place}/pid", "--host",
            f"unix://{self.socket}", "--bridge", "none", "--iptables=false",
            "--ip-forward=false", "--ip-masq=false", "--userland-proxy=false",
            "--storage-driver", driver, "--exec-opt", "native.cgroupdriver=cgroupfs",
            "--cgroup-parent", self.cgroup, "--log-level", "error"]
        with open(self.place / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)

    def is_ready(self):
        deadline = time.monotonic() + self.START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            connection = UnixConnection(str(self.socket))
            try:
                connection.request("GET", "/_ping")
                if connection.getresponse().status == 200:
                    return True
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            finally:
                connection.close()
        return False

    def last_words(self):
        words = (self.place / "log").read_text(errors="replace").strip().splitlines()
        return words[-1][-300:] if words else f"not within {self.START_SECONDS} s"

    def make_image(self):
        """A root with nothing in it: the programs are the host's, as for the other candidates."""
        root = self.place / "root"
        for folder in ("usr", "proc", "sys", "dev", "tmp", "etc"):
            (root / folder).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (root / name).symlink_to(f"usr/{name}")
        archive = self.place / "root.tar"
        with tarfile.open(archive, "w") as packed:
            packed.add(root, arcname=".")
        done = subprocess.run([*self.client, "import", str(archive), self.IMAGE],
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise NotHere(f"docker import: {done.stderr.decode(errors='replace').strip()}")

    def stop(self):
        if self.process is not None:
            family = {one.pid for one in descendants(self.process.pid)}
            self.process.terminate()
            try:
                self.process.wait(timeout=self.STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.end_orphans(family)
            self.process = None
        self.remove_cgroups()
        shutil.rmtree(self.place, ignore_errors=True)

    @staticmethod
    def end_orphans(family):
        """Those of its processes that did not end with it; they have become our children."""
        for one in descendants():
            if one.pid in family or one.name.startswith("containerd"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
        reap_adopted(set())

    def remove_cgroups(self):
        for own in own_cgroups():
            tree = own / self.cgroup
            for folder in sorted(tree.glob("**/"), reverse=True):
                wait_until(lambda folder=folder: is_removed(folder), f"{folder} is empty")


def is_removed(folder):
    """A cgroup whose last process is just ending cannot be removed yet."""
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True
