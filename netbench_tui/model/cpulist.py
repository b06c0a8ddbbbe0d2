"""CPU lists as the kernel writes them. Used wherever CPUs are named: presets, settings, screens, scripts."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any

# What stands where a list is empty: no CPU steers, no CPU is served.
NONE = "none"
# No kernel numbers more CPUs; a typing error must not make a list of millions.
_LONGEST = 65536
# More different lists than a host of 512 CPUs has.
_REMEMBERED = 4096


def parse_cpu_list(text: Any) -> tuple[int, ...]:
    """`0-3,8` as (0, 1, 2, 3, 8); empty text and `none` as (). ValueError otherwise."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a CPU list such as 0-3,8")
    return _parsed(text)


@lru_cache(_REMEMBERED)
def _parsed(text: str) -> tuple[int, ...]:
    """Remembered: nearly all of a large host's thousands of lists are equal, and hold hundreds of CPUs each."""
    if text.strip() == NONE:
        return ()
    cpus: list[int] = []
    for part in filter(None, text.replace(" ", "").split(",")):
        found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
        if not found or int(found[2] or found[1]) - int(found[1]) not in range(0, _LONGEST):
            raise ValueError(f"{text!r} is not a CPU list such as 0-3,8")
        cpus += range(int(found[1]), int(found[2] or found[1]) + 1)
    return tuple(dict.fromkeys(cpus))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """(0, 1, 2, 3, 8) as `0-3,8`, in order and without repeats; `none` where empty."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or NONE


# The type of a field that holds CPUs: model/codec.py reads it from text as well.
CpuSet = Annotated[tuple[int, ...], parse_cpu_list]
