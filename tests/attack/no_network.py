# class: Exfil
# tries: reach the host's loopback and reserved addresses by TCP, UDP, IPv6 and ICMP
# expects: refused or unreachable; the host sees nothing
import errno
import socket

from attempt import Attempts, given

# 192.0.2.0/24, 198.51.100.0/24 and 2001:db8::/32 belong to nobody: whatever escapes reaches nobody.
FAR = [(socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "198.51.100.1"),
       (socket.AF_INET6, "2001:db8::1"), (socket.AF_INET6, "ff02::1")]
UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED, errno.EADDRNOTAVAIL,
               errno.ENETDOWN, errno.EINVAL)
attempts = Attempts()


def dial(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(0.3)
        try:
            one.connect(address)
            if kind == socket.SOCK_DGRAM:
                one.send(b"belljar")
                one.recv(1)
        except TimeoutError:
            # To ourselves a datagram can always be sent; to others it needs a route.
            if address[0] not in ("127.0.0.1", "::1"):
                raise OSError(0, "on its way") from None


def try_all(family, host, port):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        attempts.call(f"{host} {port}", dial, family, kind, (host, port), also=UNREACHABLE)


for port in (given["tcp_port"], given["udp_port"], 22, 53, 80):
    try_all(socket.AF_INET, "127.0.0.1", port)
    try_all(socket.AF_INET6, "::1", port)
    try_all(socket.AF_INET, "0.0.0.0", port)
for family, host in FAR:
    for port in (53, 443):
        try_all(family, host, port)
for family, protocol in ((socket.AF_INET, 1), (socket.AF_INET6, 58)):
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        def ping():
            with socket.socket(family, kind, protocol) as one:
                one.sendto(bytes([8, 0, 0xF7, 0xFF, 0, 0, 0, 0]), (FAR[0][1], 0))
        attempts.call("ping", ping, also=UNREACHABLE)
try:
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
except OSError:
    others = []
if others:
    try:
        with socket.socket():
            attempts.note(f"network interfaces {others}")
    except OSError:
        pass  # names without a socket to use them
attempts.verdict()
