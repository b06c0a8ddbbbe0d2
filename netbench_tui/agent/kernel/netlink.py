"""Netlink messages and attributes, and one socket that asks the kernel. Used by genetlink.py and rtnetlink.py.

Every answer is awaited before the next question, so one socket serves one caller at a time. What the kernel refuses is
an OSError with its errno and, where it says more ("requested channel count exceeds maximum"), its own words.
Layouts: linux/netlink.h.
"""

import errno
import os
import socket
import struct

NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
# Flags of a request that makes something: put in place of what is there; only if nothing is; make it if nothing is.
REPLACE, EXCLUSIVE, CREATE = 0x100, 0x200, 0x400
DUMP_INTERRUPTED = 0x10
# Flags of an error: the request is not repeated in it; attributes follow.
CAPPED, ACK_ATTRIBUTES = 0x100, 0x200
ERROR_MESSAGE = 1
SOL_NETLINK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK = 270, 11, 12
NESTED, TYPE_MASK = 0x8000, 0x3FFF
HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")
# Dumps come in pieces of at most 32 KiB; a single answer's largest attribute is 64 KiB.
RECEIVE_SIZE = 1 << 17
# A list that changes while the kernel walks it is asked for again; one that never holds still is an error.
DUMP_ATTEMPTS = 4


def attribute(kind, value=b""):
    """One packed attribute: an int as 32 bits, text with its closing NUL, bytes as they are, a list as a nest."""
    if isinstance(value, list):
        kind, value = kind | NESTED, b"".join(value)
    elif isinstance(value, int):
        value = struct.pack("=I", value)
    elif not isinstance(value, bytes):
        value = os.fsencode(value) + b"\0"
    return ATTRIBUTE.pack(4 + len(value), kind) + value + b"\0" * (-len(value) & 3)


def attributes(data, offset=0):
    """Yields (type, bytes) of the attributes in data[offset:]."""
    while offset + 4 <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, offset)
        if length < 4:
            return
        yield kind & TYPE_MASK, data[offset + 4 : offset + length]
        offset += (length + 3) & ~3


def table(data, offset=0):
    """{type: bytes} of the attributes in data[offset:]."""
    return dict(attributes(data, offset))


def integer(raw):
    """An unsigned number of any width: kernels differ in the width of the same attribute."""
    return int.from_bytes(raw, BYTE_ORDER)


def text(raw):
    return os.fsdecode(raw.split(b"\0", 1)[0])


BYTE_ORDER = "little" if struct.pack("=H", 1)[0] else "big"


class Netlink(object):
    """One socket. Context.once may hold it: it stays across readings and is closed with the pass."""

    keep = True

    def __init__(self, protocol):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self.sequence = 0
        try:
            self.socket.bind((0, 0))
        except OSError:
            self.socket.close()
            raise
        for option in (NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK):
            try:
                self.socket.setsockopt(SOL_NETLINK, option, 1)
            except OSError:
                pass  # Linux before 4.12 and 4.20: no words, no strict checks

    def close(self):
        self.socket.close()

    def get(self, kind, body):
        """The one message that answers a question."""
        self._send(kind, REQUEST, body)
        for answer, _flags in self._answers():
            return answer
        raise OSError(errno.ENODATA, "the kernel gave no answer")

    def dump(self, kind, body):
        """All messages of a list."""
        for _attempt in range(DUMP_ATTEMPTS):
            self._send(kind, REQUEST | DUMP, body)
            answers, interrupted = [], False
            for answer, flags in self._answers():
                answers.append(answer)
                interrupted = interrupted or bool(flags & DUMP_INTERRUPTED)
            if not interrupted:
                return answers
        raise OSError(errno.EAGAIN, "changed again and again while it was read")

    def exchange(self, kind, body, flags=0):
        """Has something done, with its consent awaited; the messages that the kernel answers with before that."""
        self._send(kind, REQUEST | ACK | flags, body)
        return [answer for answer, _flags in self._answers()]

    def _send(self, kind, flags, body):
        self.sequence += 1
        self.socket.send(HEADER.pack(16 + len(body), kind, flags, self.sequence, 0) + body)

    def _answers(self):
        """Yields (payload, flags) until the list's end, the consent, or an error, which is raised."""
        while True:
            data, _ancillary, status, _address = self.socket.recvmsg(RECEIVE_SIZE)
            if status & socket.MSG_TRUNC:
                raise OSError(errno.EMSGSIZE, "the kernel's answer is too long")
            offset = 0
            while offset + 16 <= len(data):
                length, kind, flags, number, _port = HEADER.unpack_from(data, offset)
                body = data[offset + 16 : offset + length]
                offset += (max(length, 16) + 3) & ~3
                if number != self.sequence:
                    continue  # what is left of an answer that was given up
                if kind in (NLMSG_DONE, NLMSG_ERROR):
                    _raise_error(body, flags, kind == NLMSG_DONE)
                    return
                yield body, flags


def _raise_error(body, flags, of_list):
    """Raises OSError if the message holds an error number. A list's end may hold one as well."""
    code = -struct.unpack_from("=i", body)[0] if len(body) >= 4 else 0
    if code <= 0:
        return
    words = ""
    if flags & ACK_ATTRIBUTES:
        start = 4
        if not of_list:
            start += 16 if flags & CAPPED else (struct.unpack_from("=I", body, 4)[0] + 3) & ~3
        words = text(table(body, start).get(ERROR_MESSAGE, b""))
    raise OSError(code, os.strerror(code) + (": " + words if words else ""))
