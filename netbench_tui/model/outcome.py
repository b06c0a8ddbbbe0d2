"""What came of one change of a setting. Part of transactions (model/change.py) and of runs (model/run.py)."""

from dataclasses import dataclass

from netbench_tui.model.cpulist import parse_cpu_list
from netbench_tui.model.host import Role


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one change, or of a setting that moved with it (`asked` is None then).

    `old` and `now` are what was set before and after (None: there was, or is, no such setting), `active` what is in
    force now where that is not `now`. `code` and `error` are the host's own words where it refused."""

    role: Role
    scope: str
    key: str
    old: str | None
    asked: str | None
    now: str | None
    was_active: str = ""
    active: str = ""
    code: str = ""
    error: str = ""

    @property
    def moved_along(self) -> bool:
        return self.asked is None

    @property
    def took(self) -> bool:
        """What was asked is in force, as read back. An IRQ may be sent to any of the CPUs that were asked for, and is
        moved there when it comes the next time."""
        if self.code or self.asked is None:
            return not self.code
        if self.key.endswith(".irq_affinity"):
            return self.now == self.asked or self._is_sent_as_asked
        return self.now == self.asked and self.active in ("", self.asked)

    @property
    def moves_later(self) -> bool:
        """An IRQ took a CPU that the kernel does not send it to before it comes the next time."""
        mine = self.key.endswith(".irq_affinity") and self.asked is not None
        return mine and self.took and self.active != "" and not self._is_sent_as_asked

    @property
    def _is_sent_as_asked(self) -> bool:
        return self.active != "" and set(parse_cpu_list(self.active)) <= set(parse_cpu_list(self.asked))
