"""IP addresses of all NICs by rtnetlink, without a child process. Used by nics.py.

Message layouts: linux/rtnetlink.h, linux/if_addr.h.
"""

import socket
import struct

RTM_GETADDR = 22
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, DUMP = 1, 0x300
IFA_ADDRESS, IFA_LOCAL = 1, 2
SCOPES = {0: "global", 200: "site", 253: "link", 254: "host"}
FAMILIES = {socket.AF_INET: 4, socket.AF_INET6: 6}
# Answers come in pieces of at most 32 KiB; twice that is never truncated.
RECEIVE_SIZE = 1 << 16


def attributes(data, offset):
    """Yields (type, bytes) of the netlink attributes in data[offset:]."""
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, offset)
        if length < 4:
            return
        yield kind & 0x3FFF, data[offset + 4 : offset + length]
        offset += (length + 3) & ~3


def messages(handle, sequence):
    """Yields the payloads of one dump's answer; raises OSError with the kernel's errno."""
    while True:
        data, offset = handle.recv(RECEIVE_SIZE), 0
        while offset + 16 <= len(data):
            length, kind, _flags, number, _port = struct.unpack_from("=IHHII", data, offset)
            body = data[offset + 16 : offset + length]
            offset += (length + 3) & ~3
            if number != sequence:
                continue
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                code = -struct.unpack_from("=i", body)[0]
                raise OSError(code, "rtnetlink: %d" % code)
            yield body


def addresses():
    """{interface index: [{text, prefix, family, scope}]}; raises OSError where netlink is refused."""
    found = {}
    handle = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    try:
        handle.bind((0, 0))
        request = struct.pack("=BBBBI", 0, 0, 0, 0, 0)
        handle.send(struct.pack("=IHHII", 16 + len(request), RTM_GETADDR, REQUEST | DUMP, 1, 0) + request)
        for body in messages(handle, 1):
            family, prefix, _flags, scope, index = struct.unpack_from("=BBBBI", body)
            values = dict(attributes(body, 8))
            raw = values.get(IFA_LOCAL, values.get(IFA_ADDRESS))
            if family not in FAMILIES or raw is None:
                continue
            found.setdefault(index, []).append(
                {
                    "text": socket.inet_ntop(family, raw),
                    "prefix": prefix,
                    "family": FAMILIES[family],
                    "scope": SCOPES.get(scope, str(scope)),
                }
            )
    finally:
        handle.close()
    return found
