"""The host as it is: answers the `inspect` request. One pass over files, no child process.

The shape is that of model/host.py (HostFacts); every part is read in its own try, and what failed stands in `notes`.
"""

import os
import sys

from . import nics, topology
from .reading import Root

# A non-root PATH often lacks the sbin folders, where Debian and RHEL keep such tools.
EXTRA_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
TOOLS = ("iperf3", "netperf", "netserver", "nuttcp", "nttcp", "stress-ng", "stress", "ethtool")
# Files of one value each that decide performance (research: what to record with every run).
ENVIRONMENT = (
    ("command line", "proc/cmdline"),
    ("governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("frequency driver", "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    ("turbo off", "sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("boost", "sys/devices/system/cpu/cpufreq/boost"),
    ("idle driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("smt", "sys/devices/system/cpu/smt/control"),
    ("isolated", "sys/devices/system/cpu/isolated"),
    ("nohz_full", "sys/devices/system/cpu/nohz_full"),
    ("clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("transparent huge pages", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("tuned profile", "etc/tuned/active_profile"),
    ("net.core.rmem_max", "proc/sys/net/core/rmem_max"),
    ("net.core.wmem_max", "proc/sys/net/core/wmem_max"),
    ("net.core.netdev_max_backlog", "proc/sys/net/core/netdev_max_backlog"),
    ("net.core.netdev_budget", "proc/sys/net/core/netdev_budget"),
    ("net.core.default_qdisc", "proc/sys/net/core/default_qdisc"),
    ("net.core.rps_sock_flow_entries", "proc/sys/net/core/rps_sock_flow_entries"),
    ("net.ipv4.tcp_rmem", "proc/sys/net/ipv4/tcp_rmem"),
    ("net.ipv4.tcp_wmem", "proc/sys/net/ipv4/tcp_wmem"),
    ("net.ipv4.tcp_congestion_control", "proc/sys/net/ipv4/tcp_congestion_control"),
    ("net.ipv4.tcp_timestamps", "proc/sys/net/ipv4/tcp_timestamps"),
)


def inspect(path="/"):
    """All facts as one JSON-able dict. `path` is "/" or a captured tree with proc/ and sys/ below it."""
    root, notes = Root(path), []
    live = path == "/"
    kernel = os.uname()
    facts = {
        "name": kernel.nodename if live else (root.text("proc/sys/kernel/hostname") or ""),
        "kernel": kernel.release if live else (root.text("proc/sys/kernel/osrelease") or ""),
        "machine": kernel.machine if live else "",
        "uid": os.geteuid(),
        "python": sys.version.split()[0],
        "clock_ticks": os.sysconf("SC_CLK_TCK"),
        "boot_id": root.text("proc/sys/kernel/random/boot_id") or "",
    }
    parts = (
        ("distribution", lambda: _distribution(root)),
        ("product", lambda: _product(root)),
        ("cpu_model", lambda: _cpu_model(root)),
        ("cpus", lambda: topology.cpus(root)),
        ("nodes", lambda: topology.nodes(root)),
        ("nics", lambda: nics.nics(root, live, notes)),
        ("tools", lambda: _tools() if live else []),
        ("environment", lambda: _environment(root)),
    )
    for name, read in parts:
        try:
            facts[name] = read()
        except Exception as error:  # one part that fails must not hide the rest
            notes.append("%s: %s: %s" % (name, type(error).__name__, error))
    facts["notes"] = notes
    return facts


def _distribution(root):
    for line in (root.text("etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip("\"'")
    return ""


def _product(root):
    words = [root.text("sys/class/dmi/id", name) for name in ("sys_vendor", "product_name")]
    return " ".join(word for word in words if word)


def _cpu_model(root):
    """The first processor's model; ARM names none: its implementer and part numbers then."""
    values = {}
    for line in (root.text("proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        values.setdefault(key.strip().lower(), value.strip())
    for key in ("model name", "cpu model", "cpu", "uarch"):
        if values.get(key):
            return values[key]
    if "cpu part" in values:
        return "implementer %s part %s" % (values.get("cpu implementer", "?"), values["cpu part"])
    return ""


def _tools():
    folders = os.environ.get("PATH", "").split(":") + list(EXTRA_PATH)
    found = []
    for tool in TOOLS:
        for folder in folders:
            path = os.path.join(folder, tool)
            if folder.startswith("/") and os.path.isfile(path) and os.access(path, os.X_OK):
                found.append({"name": tool, "path": path})
                break
    return found


def _environment(root):
    values = {}
    for name, path in ENVIRONMENT:
        text = root.text(path)
        if text:
            values[name] = text
    for name in root.names("sys/devices/system/cpu/vulnerabilities"):
        text = root.text("sys/devices/system/cpu/vulnerabilities", name)
        if text:
            values["mitigation " + name] = text
    for line in (root.text("proc/cpuinfo") or "").splitlines():
        if line.startswith("microcode"):
            values["microcode"] = line.partition(":")[2].strip()
            break
    return values
