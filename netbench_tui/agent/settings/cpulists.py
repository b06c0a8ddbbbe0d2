"""CPU and queue lists as a person writes them, checked. Used by affinity.py and steering.py."""

import re

from .context import Refused

# No kernel numbers more CPUs; a typing error must not make a list of millions.
LONGEST = 65536
PART = re.compile(r"(\d+)(?:-(\d+))?\Z")


def wanted_cpus(value):
    """`0-3,8` as [0, 1, 2, 3, 8]; `none` and empty text as []. Raises Refused for anything else."""
    numbers = []
    if value.strip() in ("none", ""):
        return numbers
    for part in value.replace(" ", "").split(","):
        matched = PART.match(part)
        first = int(matched.group(1)) if matched else 0
        last = int(matched.group(2) or first) if matched else -1
        if not 0 <= last - first < LONGEST or last >= LONGEST:
            raise Refused("%s: no list such as 0-3,8" % value)
        numbers.extend(range(first, last + 1))
    return sorted(set(numbers))
