"""What is known of the kernel's NIC features: what each does, what it needs, and ethtool's short names for several.

Used by the Features screen, by `get` and `set`, and by presets. The names are those of the kernel (`ethtool -k` prints
some under an older name of its own). The rules in `needs` and `excludes` are those that the kernel has for every NIC;
a driver may have more, so they foretell what will move and never stand in for reading back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class FeatureGroup:
    """Features that are shown together. `short` are ethtool's short names that switch features of this group."""

    key: str
    title: str
    short: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature. `text` says what it does while on.

    `needs`: of each tuple one must be on, else the kernel switches this off. `moves`: what the kernel may switch off
    when this goes off. `excludes`: what the kernel switches off when this goes on. `otherwise`: who does the work
    while it is off."""

    name: str
    group: str
    text: str
    needs: tuple[tuple[str, ...], ...] = ()
    moves: tuple[str, ...] = ()
    otherwise: str = ""
    excludes: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """ethtool's short name that covers it; empty if none does."""
        return next((word for word, patterns in SHORT_NAMES.items() if _matches(self.name, patterns)), "")


GROUPS = (
    FeatureGroup("checksum", "Checksums", ("rx", "tx")),
    FeatureGroup("segmentation", "Segmentation", ("tso", "ufo", "gso")),
    FeatureGroup("receive", "Receive aggregation", ("gro", "lro")),
    FeatureGroup("steering", "Scatter-gather and steering", ("sg", "rxhash", "ntuple")),
    FeatureGroup("vlan", "VLAN", ("rxvlan", "txvlan")),
    FeatureGroup("tunnel", "Tunnels"),
    FeatureGroup("other", "Other"),
)

# ethtool -K's own words. Each stands for every feature that matches, never for one boolean.
SHORT_NAMES: Mapping[str, tuple[str, ...]] = {
    "rx": ("rx-checksum",),
    "tx": ("tx-checksum-*",),
    "sg": ("tx-scatter-gather*",),
    "tso": ("tx-tcp*-segmentation",),
    "ufo": ("tx-udp-fragmentation",),
    "gso": ("tx-generic-segmentation",),
    "gro": ("rx-gro",),
    "lro": ("rx-lro",),
    "rxvlan": ("rx-vlan-hw-parse",),
    "txvlan": ("tx-vlan-hw-insert",),
    "ntuple": ("rx-ntuple-filter",),
    "rxhash": ("rx-hashing",),
}
# What `ethtool -k` calls them in its listing.
LONG_NAMES: Mapping[str, str] = {
    "rx-checksumming": "rx",
    "tx-checksumming": "tx",
    "scatter-gather": "sg",
    "tcp-segmentation-offload": "tso",
    "udp-fragmentation-offload": "ufo",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
    "large-receive-offload": "lro",
    "rx-vlan-offload": "rxvlan",
    "tx-vlan-offload": "txvlan",
    "ntuple-filters": "ntuple",
    "receive-hashing": "rxhash",
}

_GATHER = ("tx-scatter-gather",)
_IPV4 = ("tx-checksum-ip-generic", "tx-checksum-ipv4")
_IPV6 = ("tx-checksum-ip-generic", "tx-checksum-ipv6")
_BY_GSO = "GSO cuts in software, just before the driver"
_BY_STACK = "the CPU cuts before the packet leaves the stack"
_BY_CPU = "the CPU does it"


def _checksums() -> Iterable[Feature]:
    def add(name: str, text: str, otherwise: str = "the CPU sums up every packet", **more: object) -> Feature:
        return Feature(name, "checksum", text, otherwise=otherwise, **more)  # type: ignore[arg-type]

    generic = "tx-checksum-ip-generic"
    by_protocol = ("tx-checksum-ipv4", "tx-checksum-ipv6")
    yield add("rx-checksum", "The NIC checks the checksums of received packets, so that the stack need not.")
    yield add("tx-checksum-ipv4", "The NIC fills in TCP and UDP checksums of IPv4 packets.")
    yield add(generic, "The NIC fills in any protocol's checksum, told where it stands.", excludes=by_protocol)
    yield add("tx-checksum-ipv6", "The NIC fills in TCP and UDP checksums of IPv6 packets.")
    yield add("tx-checksum-fcoe-crc", "The NIC fills in the CRC of Fibre Channel frames over Ethernet.")
    yield add("tx-checksum-sctp", "The NIC fills in SCTP's CRC32c.")


def _segmentation() -> Iterable[Feature]:
    def add(name: str, text: str, *needs: tuple[str, ...], otherwise: str = _BY_GSO) -> Feature:
        return Feature(name, "segmentation", text, needs, otherwise=otherwise)

    any_tso = ("tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-mangleid-segmentation")
    yield add("tx-tcp-segmentation", "The NIC cuts large TCP buffers into packets (TSO, IPv4).", _GATHER, _IPV4)
    yield add("tx-tcp6-segmentation", "The NIC cuts large TCP buffers into packets (TSO, IPv6).", _GATHER, _IPV6)
    yield add(
        "tx-tcp-ecn-segmentation", "TSO also for segments with the congestion mark CWR (ECN).", _GATHER, _IPV4, any_tso
    )
    yield add("tx-tcp-accecn-segmentation", "TSO also for flows with Accurate ECN.")
    yield add(
        "tx-tcp-mangleid-segmentation",
        "TSO may give all packets of a buffer the same IPv4 ID.",
        _GATHER,
        ("tx-tcp-segmentation",),
    )
    yield add(
        "tx-generic-segmentation",
        "GSO: the stack carries large buffers and cuts them just before the driver, in software.",
        _GATHER,
        otherwise="TCP builds every packet by itself; each goes through the whole stack",
    )
    yield add("tx-gso-partial", "The NIC cuts where only the inner headers differ; software prepares the outer ones.")
    yield add("tx-udp-segmentation", "The NIC cuts large UDP sends into datagrams (USO, UDP_SEGMENT).", _IPV4, _IPV6)
    yield add(
        "tx-udp-fragmentation",
        "UFO: the NIC cut large UDP datagrams into IP fragments. Gone since Linux 4.14 but for packets of guests.",
        _GATHER,
        _IPV4,
        otherwise="the IP layer makes the fragments",
    )
    yield add("tx-sctp-segmentation", "The NIC cuts large SCTP buffers into packets.")
    yield add("tx-esp-segmentation", "The NIC cuts large buffers inside IPsec (ESP) packets.")
    yield add("tx-fcoe-segmentation", "The NIC cuts large Fibre Channel sequences into frames.", otherwise=_BY_CPU)
    yield add("tx-gso-list", "The NIC takes lists of packets that are one flow as one.")
    yield add(
        "tx-gso-robust", "The NIC checks segmentation requests of guests by itself.", otherwise="the stack checks them"
    )


def _receive() -> Iterable[Feature]:
    def add(name: str, text: str, otherwise: str, **more: object) -> Feature:
        return Feature(name, "receive", text, otherwise=otherwise, **more)  # type: ignore[arg-type]

    each = "every packet goes up the stack alone"
    yield add("rx-gro", "GRO: NAPI merges packets of a flow, so the stack sees few large ones.", each)
    yield add(
        "rx-gro-hw",
        "The NIC merges packets so that they can be cut again exactly as they came.",
        "rx-gro merges in software",
        needs=(("rx-checksum",),),
        excludes=("rx-lro",),
    )
    yield add(
        "rx-lro",
        "LRO: the NIC merges TCP packets and loses their borders: not for routers and bridges.",
        "rx-gro merges in software",
    )
    yield add("rx-gro-list", "GRO keeps merged packets as a list: cheap to forward.", "GRO copies or refuses them")
    yield add("rx-udp-gro-forwarding", "GRO merges UDP datagrams of forwarded flows too.", each)


def _steering() -> Iterable[Feature]:
    def add(name: str, text: str, otherwise: str) -> Feature:
        return Feature(name, "steering", text, otherwise=otherwise)

    copied = "the CPU copies each packet into one piece"
    yield add("tx-scatter-gather", "The NIC gathers a packet from several pieces of memory: no copy.", copied)
    yield add("tx-scatter-gather-fraglist", "The NIC sends a packet that is a list of buffers.", copied)
    yield add(
        "rx-hashing",
        "The NIC hands its RSS hash of each flow to the stack, for RPS and RFS.",
        "the CPU computes it",
    )
    yield add(
        "rx-ntuple-filter",
        "Rules in the NIC steer flows to queues; accelerated RFS uses them by itself.",
        "RFS steers in software; only RSS spreads in the NIC",
    )


def _vlan() -> Iterable[Feature]:
    def add(name: str, text: str, otherwise: str = "the stack does it") -> Feature:
        return Feature(name, "vlan", text, otherwise=otherwise)

    yield add("rx-vlan-hw-parse", "The NIC takes the VLAN tag off received frames.")
    yield add("tx-vlan-hw-insert", "The NIC puts the VLAN tag on sent frames.")
    yield add("rx-vlan-filter", "The NIC drops frames of VLANs nobody has here.", "the stack drops them")
    yield add("rx-vlan-stag-hw-parse", "The NIC takes the outer (802.1ad) tag off received frames.")
    yield add("tx-vlan-stag-hw-insert", "The NIC puts the outer (802.1ad) tag on sent frames.")
    yield add("rx-vlan-stag-filter", "The NIC drops frames of outer VLANs nobody has here.", "the stack drops them")
    yield add("vlan-challenged", "This device cannot carry VLANs.", "VLANs can be put on it")


def _tunnels() -> Iterable[Feature]:
    def add(name: str, text: str, otherwise: str = _BY_GSO) -> Feature:
        return Feature(name, "tunnel", text, otherwise=otherwise)

    yield add("tx-gre-segmentation", "The NIC cuts large buffers inside GRE.")
    yield add("tx-gre-csum-segmentation", "The NIC cuts inside GRE and fills in the outer checksum.")
    yield add("tx-ipxip4-segmentation", "The NIC cuts large buffers inside IPv4 tunnels (IPIP, SIT).")
    yield add("tx-ipxip6-segmentation", "The NIC cuts large buffers inside IPv6 tunnels.")
    yield add("tx-ipip-segmentation", "The NIC cuts large buffers inside IPIP (kernels before 4.7).")
    yield add("tx-sit-segmentation", "The NIC cuts large buffers inside SIT (kernels before 4.7).")
    yield add("tx-udp_tnl-segmentation", "The NIC cuts large buffers inside VXLAN, Geneve and other UDP tunnels.")
    yield add("tx-udp_tnl-csum-segmentation", "The NIC cuts inside UDP tunnels and fills in the outer UDP checksum.")
    yield add("tx-tunnel-remcsum-segmentation", "The NIC cuts inside tunnels with remote checksum offload.")
    yield add(
        "rx-udp_tunnel-port-offload",
        "The NIC is told the ports of VXLAN and Geneve, and spreads and checks by the inner headers.",
        "it sees tunnel packets as plain UDP: one flow",
    )


def _crypto() -> Iterable[Feature]:
    def add(name: str, text: str, *needs: tuple[str, ...], otherwise: str = "the CPU ciphers") -> Feature:
        return Feature(name, "other", text, needs, otherwise=otherwise)

    yield add("tls-hw-tx-offload", "The NIC enciphers TLS records of sent data.", _IPV4, _IPV6)
    yield add("tls-hw-rx-offload", "The NIC deciphers TLS records of received data.", ("rx-checksum",))
    yield add("tls-hw-record", "The NIC does TLS records and TCP by itself.")
    yield add("esp-hw-offload", "The NIC does IPsec's (ESP) ciphers.")
    yield add(
        "esp-tx-csum-hw-offload",
        "The NIC fills in checksums inside ESP packets.",
        ("esp-hw-offload",),
        otherwise="the CPU sums up every packet",
    )
    yield add("macsec-hw-offload", "The NIC does MACsec's ciphers.")


def _others() -> Iterable[Feature]:
    def add(name: str, text: str, otherwise: str = "", **more: object) -> Feature:
        return Feature(name, "other", text, otherwise=otherwise, **more)  # type: ignore[arg-type]

    merged = ("rx-lro", "rx-gro-hw")
    yield add("highdma", "The NIC reaches all memory.", "the CPU copies packets to low memory")
    yield add("tx-nocache-copy", "Sent data is copied past the CPU's caches.", "the copy goes through the caches")
    yield add("loopback", "The NIC sends everything back to itself.", "frames go to the wire")
    yield add("rx-fcs", "The frame's CRC is handed up with it.", "the NIC cuts it off", excludes=merged)
    yield add("rx-all", "Broken frames are received too.", "the NIC drops them")
    yield add("l2-fwd-offload", "The NIC switches for macvlan devices.", "macvlan switches in software")
    yield add("hw-tc-offload", "tc's rules run in the NIC.", "they run on the CPU")
    yield add("hsr-tag-ins-offload", "The NIC puts HSR and PRP tags on frames.", _BY_CPU)
    yield add("hsr-tag-rm-offload", "The NIC takes HSR and PRP tags off frames.", _BY_CPU)
    yield add("hsr-fwd-offload", "The NIC forwards in an HSR ring by itself.", _BY_CPU)
    yield add("hsr-dup-offload", "The NIC sends each frame on both ports of an HSR or PRP pair.", _BY_CPU)
    yield add("fcoe-mtu", "The NIC takes Fibre Channel frames of 2158 bytes.", "frames are cut to the MTU")
    yield add("tx-lockless", "The driver takes packets without the queue's lock.", "the stack locks the queue")
    yield add("netns-local", "The device cannot be moved to another network namespace.", "it can be moved")
    yield add("busy-poll", "The driver can be polled by the reader of a socket.", "interrupts wake the reader")


def _all() -> Mapping[str, Feature]:
    makers = (_checksums, _segmentation, _receive, _steering, _vlan, _tunnels, _crypto, _others)
    plain = [feature for maker in makers for feature in maker()]
    return {feature.name: replace(feature, moves=_movers(feature.name, plain)) for feature in plain}


def _movers(name: str, features: Iterable[Feature]) -> tuple[str, ...]:
    return tuple(other.name for other in features if any(name in choice for choice in other.needs))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


FEATURES: Mapping[str, Feature] = _all()


def about(name: str) -> Feature:
    """What is known of a feature; one that no kernel up to 6.15 has stands in `other` without words."""
    return FEATURES.get(name) or Feature(name, "other", "")


def group_of(name: str) -> str:
    """The key of the group in which it is shown."""
    return about(name).group


def expand(word: str, present: Iterable[str]) -> tuple[str, ...]:
    """The features of `present` that ethtool's short name, its listing's name, or a feature's own name stands for, in
    their order. Leave fixed ones out of `present` where the names are to be switched."""
    patterns = SHORT_NAMES.get(LONG_NAMES.get(word, word))
    return tuple(name for name in present if name == word or (patterns and _matches(name, patterns)))


def settle(wanted: Iterable[str]) -> frozenset[str]:
    """What the kernel's own rules leave on of the features that are wanted on. Drivers may leave less."""
    on = set(wanted)
    while dropped := {name for name in on if _must_go(about(name), on)}:
        on -= dropped
    return frozenset(on)


def _must_go(feature: Feature, on: set[str]) -> bool:
    if any(not on.intersection(choice) for choice in feature.needs):
        return True
    return any(feature.name in about(other).excludes for other in on)


def moved_along(switched: Mapping[str, bool], wanted: Iterable[str], active: Iterable[str]) -> dict[str, bool]:
    """Features that will probably move when those of `switched` are set: name -> on. `wanted` and `active` are the
    names that are so now."""
    wished = (set(wanted) | {name for name, on in switched.items() if on}) - {
        name for name, on in switched.items() if not on
    }
    before, after = set(active), settle(wished)
    moved = {name: name in after for name in before ^ after if name not in switched}
    # What is on against the wishes, or off in spite of them, is the driver's doing and stays so.
    steady = settle(wanted) ^ before
    return {name: on for name, on in sorted(moved.items()) if name not in steady}
