"""Generic netlink: families are known by name, their numbers are asked for. Used by ethtool.py and netdev.py.

Layouts: linux/genetlink.h. `Context.once("genetlink", Genetlink)` shares one socket in a pass.
"""

import errno
import socket
import struct

from .netlink import Netlink, attribute, integer, table

NETLINK_GENERIC = getattr(socket, "NETLINK_GENERIC", 16)
GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 0x10, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2
# The payload begins with command, version, reserved.
GENERIC_HEADER = struct.Struct("=BBH")
VERSION = 1


class Genetlink(object):
    """A netlink socket whose messages go to families. Every answer is {attribute type: bytes}, from attribute lists
    in the order of the message where a type comes but once."""

    keep = True

    def __init__(self):
        self.netlink = Netlink(NETLINK_GENERIC)
        self.families = {}

    def close(self):
        self.netlink.close()

    def family(self, name):
        """The family's number; OSError ENOENT where the kernel has no such one, also from the second time on."""
        if name not in self.families:
            body = GENERIC_HEADER.pack(CTRL_CMD_GETFAMILY, VERSION, 0) + attribute(CTRL_ATTR_FAMILY_NAME, name)
            try:
                found = table(self.netlink.get(GENL_ID_CTRL, body), GENERIC_HEADER.size)
                self.families[name] = integer(found[CTRL_ATTR_FAMILY_ID])
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise
                self.families[name] = None
        if self.families[name] is None:
            raise OSError(errno.ENOENT, "this kernel has no netlink family %s" % name)
        return self.families[name]

    def get(self, family, command, attributes):
        return table(self.netlink.get(self.family(family), _body(command, attributes)), GENERIC_HEADER.size)

    def dump(self, family, command, attributes):
        answers = self.netlink.dump(self.family(family), _body(command, attributes))
        return [table(answer, GENERIC_HEADER.size) for answer in answers]

    def exchange(self, family, command, attributes):
        answers = self.netlink.exchange(self.family(family), _body(command, attributes))
        return [table(answer, GENERIC_HEADER.size) for answer in answers]


def _body(command, attributes):
    return GENERIC_HEADER.pack(command, VERSION, 0) + b"".join(attributes)
