# class: Exfil
# tries: connect to a unix socket file of the host, and to those of well-known services
# expects: no such file, or refused
import errno
import socket

from attempt import Attempts, given

KNOWN = ["/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock",
         "/run/systemd/private", "/run/dbus/system_bus_socket", "/run/systemd/journal/socket",
         "/dev/log", "/run/podman/podman.sock", "/run/crio/crio.sock", "/run/snapd.socket"]
attempts = Attempts()


def dial(kind, path):
    with socket.socket(socket.AF_UNIX, kind) as one:
        one.connect(path)


for path in [given["socket_file"], "/proc/1/root" + given["socket_file"], *KNOWN]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        attempts.call(f"connect {path}", dial, kind, path,
                      also=(errno.ECONNREFUSED, errno.EPROTOTYPE))
attempts.verdict()
