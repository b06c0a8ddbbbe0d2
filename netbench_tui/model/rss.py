"""RSS indirection tables as text, as the setting `rss.indirection` has them. Used by analysis/steering.py and scripts.

`equal N` where entries count 0, 1, .. N-1, 0, 1, ..; otherwise runs such as `0*32,1*32` (`0,3*2` is 0, 3, 3).
"""

import re
from collections.abc import Sequence
from itertools import groupby

_RUN = re.compile(r"([0-9]{1,9})(?:\*([0-9]{1,9}))?")
# No table of a NIC comes near it; a typing error must not make a list of millions.
_LONGEST = 65536


def table_text(table: Sequence[int]) -> str:
    queues = max(table) + 1
    if all(queue == entry % queues for entry, queue in enumerate(table)):
        return f"equal {queues}"
    runs = [(queue, len(list(same))) for queue, same in groupby(table)]
    return ",".join(f"{queue}*{count}" if count > 1 else str(queue) for queue, count in runs)


def parse_runs(text: str) -> list[int]:
    """The entries that runs stand for; ValueError for anything else."""
    table: list[int] = []
    for part in text.split(","):
        found = _RUN.fullmatch(part.strip())
        if not found or int(found[2] or 1) > _LONGEST - len(table):
            raise ValueError(f"{text!r} is no table such as 0*32,1*32")
        table += [int(found[1])] * int(found[2] or 1)
    return table
