"""What a person means to change and has not written yet, on both hosts. No Textual here. Held by state.Workbench."""

from collections.abc import Iterable, Iterator, Mapping

from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings


class Staging:
    """Staged changes in the order in which they were staged, one per place."""

    def __init__(self) -> None:
        self._staged: dict[tuple[Role, str, str], Change] = {}

    def __len__(self) -> int:
        return len(self._staged)

    def __iter__(self) -> Iterator[Change]:
        return iter(tuple(self._staged.values()))

    def stage(self, changes: Iterable[Change], settings: Mapping[Role, HostSettings]) -> None:
        """Takes wishes; one that asks for what is set already takes back what was staged there."""
        for change in changes:
            known = settings.get(change.role)
            now = known.get(change.scope, change.key) if known else None
            self._staged.pop(change.place, None)
            if now is None or now.value != change.value:
                self._staged[change.place] = change

    def value(self, role: Role, scope: str, key: str) -> str | None:
        """What is staged there; None if nothing is."""
        found = self._staged.get((role, scope, key))
        return found.value if found else None

    def drop(self, places: Iterable[tuple[Role, str, str]]) -> None:
        for place in places:
            self._staged.pop(place, None)

    def clear(self) -> None:
        self._staged.clear()
