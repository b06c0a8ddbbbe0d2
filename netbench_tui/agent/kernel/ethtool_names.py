"""What both ways to a NIC's settings, ethtool.py and ethtool_ioctl.py, call by the same names: those of ethtool(8)."""

# Numbers of string sets, linux/ethtool.h.
SET_STATISTICS, SET_FEATURES, SET_HASH_FUNCTIONS = 1, 4, 5
# In the order of the kernel's structures.
RING_NAMES = ("rx", "rx-mini", "rx-jumbo", "tx")
CHANNEL_NAMES = ("rx", "tx", "other", "combined")
COALESCE_NAMES = (
    ("rx-usecs", "rx-frames", "rx-usecs-irq", "rx-frames-irq")
    + ("tx-usecs", "tx-frames", "tx-usecs-irq", "tx-frames-irq")
    + ("stats-block-usecs", "adaptive-rx", "adaptive-tx", "pkt-rate-low")
    + ("rx-usecs-low", "rx-frames-low", "tx-usecs-low", "tx-frames-low", "pkt-rate-high")
    + ("rx-usecs-high", "rx-frames-high", "tx-usecs-high", "tx-frames-high", "sample-interval")
)


class Features(object):
    """The features of a NIC: all names that the kernel has (empty for numbers out of use), and by their order as bits
    which of them may be changed, are wanted and are active."""

    def __init__(self, names, changeable, wanted, active, never_changed):
        self.names, self.wanted, self.active = names, wanted, active
        self.changeable = changeable & ~never_changed
