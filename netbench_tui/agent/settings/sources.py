"""The two kernel interfaces to a NIC's settings, netlink before ioctl. Used by the device settings and by queues/."""

import errno

from ..kernel.ethtool import Ethtool
from ..kernel.ethtool_ioctl import EthtoolIoctl
from .context import IOCTL, NETLINK

# What a kernel answers that lacks the family, the message or the address family, and a driver that lacks the setting.
LACKING = (errno.EOPNOTSUPP, errno.ENOENT, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ENOSYS)
# What a sandbox answers that lets no such socket be made.
BARRED = (errno.EPERM, errno.EACCES)


def sources(context):
    """Yields (name, interface) of what may be tried and is there."""
    for name, key, make in ((NETLINK, "ethtool", Ethtool), (IOCTL, "ethtool_ioctl", EthtoolIoctl)):
        if context.may(name):
            try:
                yield name, context.once(key, make)
            except OSError as error:
                if error.errno not in LACKING + BARRED:
                    raise


def reading(context, scope, part, ask):
    """(name of the interface, what `ask(interface)` gave) from the first one that knows, once in a pass; None where the
    device has no such thing. Notes in the context's paths who answered."""

    def make():
        for name, source in sources(context):
            try:
                found = ask(source)
            except OSError as error:
                if error.errno not in LACKING:
                    raise
                continue
            context.paths["%s: %s" % (scope, part)] = name
            return name, found
        return None

    return context.once((part, scope), make)


def change(context, ask):
    """Has the first interface that can do it. Where none can, raises what the first one said: it has more words."""
    refused = None
    for _name, source in sources(context):
        try:
            return ask(source)
        except OSError as error:
            if error.errno not in LACKING:
                raise
            refused = refused or error
    raise refused or OSError(errno.EOPNOTSUPP, "no kernel interface to change this")
