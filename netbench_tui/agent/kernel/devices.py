"""Names of network devices as the kernel takes them. Used by ethtool.py, ethtool_ioctl.py and rtnetlink.py."""

import errno
import os

# IFNAMSIZ of linux/if.h less the closing NUL.
LONGEST_NAME = 15


def name_bytes(nic):
    """The name's bytes; OSError ENODEV for what no device can be called. The kernel would stop reading at a NUL, and
    so would act on another device than was named."""
    raw = os.fsencode(nic)
    if not raw or len(raw) > LONGEST_NAME or b"\0" in raw or b"/" in raw:
        raise OSError(errno.ENODEV, "no network device can have this name")
    return raw
