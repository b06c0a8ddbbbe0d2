"""The root queueing discipline of a NIC: `qdisc.root`, in the words that `tc qdisc replace dev NIC root` takes.

`fq maxrate 1gbit`, `mq`, `handle 8001: pfifo limit 100`; options at their kind's default are left out. The kernel's own
choice for a device (handle 0) is its kind alone, and is put back by deleting what stands in its place. A handle is
written unless it is one of ours, so that what others made comes back under its old one.

What cannot be put back exactly is not written over: kinds with classes or options that we do not know.
"""

import re

from ..kernel.rtnetlink import ROOT, Discipline
from . import qdisc_options
from .context import Refused
from .link import link_of, route_of

SCOPE, PREFIXES, RANK, RESETS = "device", ("qdisc.",), 25, False
KEY = "qdisc.root"
# Handles of roots that we make. Two: a new root needs another handle than the old one's, or the kernel would change the
# old one and keep its options. Below 8000:, where the kernel numbers those for which nobody named one.
OURS = (0x4E420000, 0x4E430000)
HANDLE = re.compile(r"([0-9a-f]{1,4}):\Z")
DEFAULT_QDISC = "proc/sys/net/core/default_qdisc"


def read(context, scope):
    row = read_one(context, scope, KEY)
    return [] if row is None else [row]


def read_one(context, scope, key):
    if key != KEY or not context.live:
        return None
    root, mtu = _root(context, scope), link_of(context, scope)["mtu"]
    context.paths["%s: qdisc" % scope] = "rtnetlink"
    refusal = context.refusal() or _irreplaceable(context, root)
    return context.row(scope, key, words_of(root, mtu), "rtnetlink", refusal=refusal)


def write(context, scope, key, value):
    if key != KEY:
        raise Refused("%s: no such setting of a NIC" % key, "ENOENT")
    if not context.live:
        raise Refused("a captured tree cannot be changed", "EROFS")
    wanted, link = discipline_of(value), link_of(context, scope)
    root = _root(context, scope)
    if words_of(root, link["mtu"]) == words_of(settled(wanted), link["mtu"]):
        return
    why = _irreplaceable(context, root)
    if why:
        raise Refused(why, "EBUSY")
    route, index = route_of(context), link["index"]
    if wanted.handle is None and not wanted.options and wanted.kind in _by_itself(context) and root.handle:
        _take_default(context, scope, root, wanted)
    else:
        _replace(route, index, root, wanted)


def _take_default(context, scope, root, wanted):
    """Deletes the root. Should the device's default be of another kind, that kind is made; should that fail, the old
    root comes back. Once it was up, no device has noop any more: its default then has to do."""
    route, index = route_of(context), link_of(context, scope)["index"]
    route.delete_root(index)
    context.forget()
    now = _root(context, scope)
    if wanted.kind in (now.kind, "noop"):
        return
    try:
        _replace(route, index, now, wanted)
    except OSError:
        _replace(route, index, now, root)
        raise


def _replace(route, index, root, wanted):
    """The old root goes first only if the new one has its handle: otherwise the kernel swaps them in one step."""
    handle = wanted.handle
    if handle is None:
        handle = next(ours for ours in OURS if ours != root.handle)
    if handle != root.handle:
        route.set_root(index, wanted.kind, handle, wanted.options)
        return
    route.delete_root(index)
    try:
        route.set_root(index, wanted.kind, handle, wanted.options)
    except OSError:
        route.set_root(index, root.kind, root.handle, root.options)
        raise


def _by_itself(context):
    """Kinds that a kernel may attach to a device that nobody gave one."""
    return qdisc_options.BARE + (context.root.text(DEFAULT_QDISC) or "",)


def _disciplines(context):
    """All of the namespace, once in a pass, by the index of their devices."""

    def make():
        found = {}
        for discipline in route_of(context).qdiscs():
            found.setdefault(discipline.index, []).append(discipline)
        return found

    return context.once("qdiscs", make)


def _of(context, scope):
    return _disciplines(context).get(link_of(context, scope)["index"], ())


def _root(context, scope):
    """What a device that was never up has in its place (noop) is in no list."""
    for discipline in _of(context, scope):
        if discipline.parent == ROOT:
            return discipline
    link = link_of(context, scope)
    return Discipline(link["qdisc"] or "noqueue", 0, index=link["index"])


def _irreplaceable(context, root):
    """Why the root could not be put back exactly once it is replaced; None if it could. What we made goes in any case:
    nobody is to be stuck with it."""
    if not root.handle or root.handle in OURS:
        return None
    words = "could not be put back exactly: "
    if root.kind not in qdisc_options.KINDS:
        return words + root.kind
    if not root.plain or not qdisc_options.whole(root.kind, root.options):
        return words + "%s with options that are not known here" % root.kind
    below = [
        other.kind
        for other in _disciplines(context).get(root.index, ())
        if other.handle and other.parent != ROOT and other.parent >> 16 == root.handle >> 16
    ]
    return words + "%s with %s below it" % (root.kind, below[0]) if below else None


def words_of(root, mtu):
    """The setting's text for a root. `handle` None stands for one of ours."""
    words = []
    if root.handle and root.handle not in OURS:
        words += ["handle", "%x:" % (root.handle >> 16)]
    words.append(root.kind)
    if root.handle != 0:
        words += qdisc_options.words(root.kind, root.options, mtu)
    return " ".join(words)


def settled(wanted):
    """What will be read once it is set."""
    return Discipline(wanted.kind, wanted.handle, options=qdisc_options.settled(wanted.kind, wanted.options))


def discipline_of(value):
    """The root that a text stands for; Refused where it is none."""
    words, handle = value.split(), None
    if words[:1] == ["handle"]:
        found = HANDLE.match(words[1].lower()) if len(words) > 1 else None
        if not found or int(found.group(1), 16) in (0, 0xFFFF):
            raise Refused("a handle is 1: to fffe:")
        handle, words = int(found.group(1), 16) << 16, words[2:]
    if not words or words[0] not in qdisc_options.KINDS:
        known = ", ".join(sorted(set(qdisc_options.KINDS) - {"noop"}))
        raise Refused("%s: not a queueing discipline that can be set here (%s)" % (" ".join(words[:1]), known))
    return Discipline(words[0], handle, options=qdisc_options.parse(words[0], words[1:]))
