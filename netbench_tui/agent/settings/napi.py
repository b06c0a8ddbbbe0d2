"""How the kernel polls a NIC: NAPI in threads, and how long hard interrupts are put off. From /sys/class/net/NIC."""

from .context import Refused
from .privileges import only_on_the_host

SCOPE, PREFIXES, RANK, RESETS = "device", ("napi.",), 80, False
NET = "sys/class/net"
FILES = {
    "napi.threaded": "threaded",
    "napi.defer_hard_irqs": "napi_defer_hard_irqs",
    "napi.gro_flush_timeout": "gro_flush_timeout",
}
# As /sys/class/net/NIC/threaded writes them; the third since Linux 6.18.
THREADED = {"0": "off", "1": "on", "2": "busy-poll"}


def read(context, scope):
    rows = (read_one(context, scope, key) for key in FILES)
    return [row for row in rows if row is not None]


def read_one(context, scope, key):
    path = _path(scope, key)
    text = context.root.text(path)
    if not text:
        return None
    threaded = key == "napi.threaded"
    return context.row(
        scope,
        key,
        THREADED.get(text, text) if threaded else text,
        "sysfs",
        choices=["off", "on"] if threaded else None,
        refusal=context.refusal(path) or (None if threaded else only_on_the_host(context)),
    )


def write(context, scope, key, value):
    if key == "napi.threaded":
        words = {word: number for number, word in THREADED.items()}
        if value not in words:
            raise Refused("%s: on or off" % value)
        value = words[value]
    elif not value.isdecimal():
        raise Refused("%s: no number" % value)
    context.write_file(_path(scope, key), value)


def _path(scope, key):
    if key not in FILES:
        raise Refused("%s: no such setting of a NIC" % key, "ENOENT")
    return "%s/%s/%s" % (NET, scope, FILES[key])
