# class: Escape
# tries: socket and socketpair with each of 46 families and every type
# expects: only unix, inet and inet6 without raw; the others do not exist
# needs: seccomp
import errno
import socket

from attempt import Attempts

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
TYPES = {"stream": 1, "datagram": 2, "raw": 3, "rdm": 4, "seqpacket": 5, "dccp": 6, "packet": 10}
ORDINARY = {*((UNIX, kind) for kind in (1, 2, 3, 5)), (INET, 1), (INET, 2), (INET6, 1), (INET6, 2)}
attempts = Attempts()
made = set()


def try_socket(family, kind, protocol=0):
    with socket.socket(family, kind, protocol):
        made.add(family)


for family in range(47):
    for name, kind in TYPES.items():
        if (family, kind) in ORDINARY:
            try:
                try_socket(family, kind)
            except OSError:
                pass
            continue
        attempts.call(f"socket {family} {name}", try_socket, family, kind, also=(errno.EINVAL,))
        # Some kernels mark the type with bits above those that count.
        attempts.call(f"socket {family} {name} and more bits", try_socket, family, kind | 0x800,
                      also=(errno.EINVAL,))
    if family != UNIX:
        attempts.call(f"socketpair {family}", socket.socketpair, family, 1, also=(errno.EINVAL,))
for protocol in range(1, 23):  # 0, the routing table, is what getifaddrs asks
    attempts.call(f"netlink {protocol}", try_socket, NETLINK, 3, protocol)
for protocol in (1, 58, 132, 33, 262):  # ICMP, ICMPv6, SCTP, DCCP, MPTCP
    for family in (INET, INET6):
        attempts.call(f"socket {family} raw {protocol}", try_socket, family, 3, protocol,
                      also=(errno.EINVAL,))
# What the routing table alone tells about an empty network is not worth a refusal.
attempts.through = [one for one in attempts.through if not one.startswith(f"socket {NETLINK} ")]
verdict = attempts.verdict()
if verdict["held"]:
    verdict["seen"] = f"families {sorted(made)}; {verdict['seen']}"
verdict
