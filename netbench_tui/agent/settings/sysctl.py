"""The sysctls that decide network performance. Keys are `sysctl.NAME`; any other below net. can be named as well."""

import re

from .context import MACHINE, Refused

SCOPE, PREFIXES, RANK, RESETS = "machine", ("sysctl.",), 90, False
FOLDER = "proc/sys"
# Shown by themselves; the rest on demand.
SHOWN = (
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rmem_default",
    "net.core.wmem_default",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.dev_weight",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.rps_sock_flow_entries",
    "net.core.flow_limit_cpu_bitmap",
    "net.core.flow_limit_table_len",
    "net.core.somaxconn",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "kernel.numa_balancing",
)
# The file's name is made from the key: nothing may climb out of the folder. A slash stands for a dot inside a NIC's
# name, as with sysctl(8).
NAME = re.compile(r"(?:net|kernel|vm)(?:\.[A-Za-z0-9_:@-][A-Za-z0-9_:@/-]*)+\Z")
# What every network namespace has for itself. Of net.core only a few are.
OF_NAMESPACE = ("net.ipv4.", "net.ipv6.", "net.core.somaxconn", "net.core.xfrm_")


def read(context, scope):
    rows = (read_one(context, scope, "sysctl." + name) for name in SHOWN)
    return [row for row in rows if row is not None]


def read_one(context, _scope, key):
    name = _name(key)
    text = context.root.text(_path(name))
    if text is None:
        return None
    of_namespace = name.startswith(OF_NAMESPACE)
    return context.row(
        MACHINE,
        key,
        " ".join(text.split()),
        "procfs",
        lives="namespace" if of_namespace else "machine",
        choices=_choices(context, name),
        refusal=context.refusal(_path(name), machine=not of_namespace),
    )


def write(context, _scope, key, value):
    name = _name(key)
    if context.protect and not name.startswith(OF_NAMESPACE):
        raise Refused(context.protect, "EPERM")
    context.write_file(_path(name), value)


def _name(key):
    name = key[len("sysctl.") :]
    if not NAME.match(name):
        raise Refused("%s: no name of a sysctl" % key)
    return name


def _path(name):
    return "%s/%s" % (FOLDER, "/".join(part.replace("/", ".") for part in name.split(".")))


def _choices(context, name):
    if name != "net.ipv4.tcp_congestion_control":
        return None
    return (context.root.text(FOLDER, "net/ipv4/tcp_available_congestion_control") or "").split() or None
