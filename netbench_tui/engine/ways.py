"""How hosts are reached in this sitting: what the command line says for all of them. For session.py and reach.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from netbench_tui.model.question import Asker

# The key of `pythons` that stands for every host.
EVERY_HOST = ""


@dataclass(frozen=True, slots=True)
class Ways:
    """`ssh_config` replaces the user's own, as `ssh -F`. `asker` is None where nobody can be asked. `pythons` names the
    interpreter to use, by host; under EVERY_HOST for all others."""

    ssh_config: str | None = None
    accept_new: bool = False
    asker: Asker | None = None
    pythons: Mapping[str, str] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    """Keywords of ssh_config whose lack of support was told already: once is enough for a sitting."""

    def python(self, host: str) -> str:
        """Empty where nothing is said."""
        return self.pythons.get(host, self.pythons.get(EVERY_HOST, ""))
