"""The frequency governor of all CPUs: one word where all agree, else `0-3:powersave,4-7:performance`."""

import re

from ..reading import format_list, numbered, parse_list
from .context import MACHINE, Refused
from .cpulists import wanted_cpus

SCOPE, PREFIXES, RANK, RESETS = "machine", ("cpu.",), 90, False
KEY = "cpu.governor"
POLICIES, CPUS = "sys/devices/system/cpu/cpufreq", "sys/devices/system/cpu"
PART = re.compile(r"([0-9][0-9,-]*):([A-Za-z_]+)(?:,|\Z)")


def read(context, scope):
    row = read_one(context, scope, KEY)
    return [] if row is None else [row]


def read_one(context, _scope, key):
    _check(key)
    found = [(folder, cpus, context.root.text(folder, "scaling_governor")) for folder, cpus in _policies(context.root)]
    found = [policy for policy in found if policy[2]]
    if not found:
        return None
    return context.row(
        MACHINE,
        KEY,
        _value(found),
        "sysfs",
        lives="machine",
        choices=_choices(context.root, found) or None,
        refusal=context.refusal(found[0][0] + "/scaling_governor", machine=True),
    )


def write(context, _scope, key, value):
    """Writes every policy's file; where one refuses, those already written get their old word again."""
    _check(key)
    if context.protect:
        raise Refused(context.protect, "EPERM")
    done = []
    try:
        for path, old, new in _plan(context, value):
            context.write_file(path, new)
            done.append((path, old))
    except OSError:
        for path, old in done:
            context.write_file(path, old)
        raise


def _check(key):
    if key != KEY:
        raise Refused("%s: no such setting of a machine" % key, "ENOENT")


def _policies(root):
    """[(folder, CPUs)]: CPUs of one policy have one governor. Kernels before 4.3 have a folder in each CPU's own."""
    numbers = numbered(root.names(POLICIES), "policy")
    if numbers:
        folders = [("%s/policy%d" % (POLICIES, number), number) for number in numbers]
    else:
        folders = [("%s/cpu%d/cpufreq" % (CPUS, cpu), cpu) for cpu in numbered(root.names(CPUS), "cpu")]
    return [(folder, _members(root, folder) or [number]) for folder, number in folders]


def _members(root, folder):
    """The file names its CPUs with blanks between."""
    return parse_list((root.text(folder, "affected_cpus") or "").replace(" ", ","))


def _value(found):
    words = {}
    for _, cpus, word in found:
        words.setdefault(word, []).extend(cpus)
    if len(words) == 1:
        return found[0][2]
    ordered = sorted(words.items(), key=lambda item: min(item[1]))
    return ",".join("%s:%s" % (format_list(cpus), word) for word, cpus in ordered)


def _choices(root, found):
    """What every policy offers."""
    offered = [(root.text(folder, "scaling_available_governors") or "").split() for folder, _, _ in found]
    return [word for word in offered[0] if all(word in words for words in offered)]


def _plan(context, value):
    """[(path, old word, new word)] for one word, or for words by CPU list."""
    wanted = _by_cpu(value)
    plan = []
    for folder, cpus in _policies(context.root):
        path = folder + "/scaling_governor"
        old, new = context.root.text(path), wanted.get(cpus[0]) if wanted else value
        if old and new and new != old:
            plan.append((path, old, new))
    return plan


def _by_cpu(value):
    """{CPU: word} of `0-3,8:powersave,4-7:performance`; empty for a single word."""
    if ":" not in value:
        return {}
    parts = PART.findall(value)
    if ",".join("%s:%s" % part for part in parts) != value:
        raise Refused("%s: neither a governor nor lists such as 0-3:powersave,4-7:performance" % value)
    return {cpu: word for cpus, word in parts for cpu in wanted_cpus(cpus)}
