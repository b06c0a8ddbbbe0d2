"""A preset's settings for the time of one run: written on both hosts before the traffic, taken back after it. Used by
runner.py.

They are a lease: a host that loses us puts them back by itself. Taken back is what still reads as the run made it, to
what stood there before the run, so that what the session held stays held.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NoReturn

from netbench_tui.engine.changes import Changes, backwards
from netbench_tui.engine.marks import short
from netbench_tui.errors import RunFailed, TrafficImpossible, WorkbenchError
from netbench_tui.model.change import Applied, Change, ChangeKind, OnRefusal, Outcome
from netbench_tui.model.features import expand
from netbench_tui.model.host import Role
from netbench_tui.model.preset_settings import FEATURE, ON_OFF, PresetSetting
from netbench_tui.model.run import RunEvent
from netbench_tui.model.session import HostView
from netbench_tui.model.setting import MACHINE, NIC_WORDS, HostSettings, Setting

# What was in place already may move with what was not, e.g. steering with the number of channels: then it is set again.
ROUNDS = 2
# A host that hangs, and is not known to be lost yet, may hold up the end of a run for so long; what it was asked to do
# it does when it goes on.
BACK_SECONDS = 4.0
_PATTERN = frozenset("*?[")

Place = tuple[Role, str, str]
# What still waits for a host after its run's end.
_going: set[asyncio.Task[tuple[RunEvent, ...]]] = set()


class PresetSettings:
    """The settings of one run. `outcomes` is what came of them, for the run's record."""

    def __init__(self, changes: Changes, views: Mapping[Role, HostView], settings: Sequence[PresetSetting]) -> None:
        self.changes, self.views, self.settings = changes, views, settings
        self._outcomes: dict[Place, Outcome] = {}
        # What a host made of a value that it took: a driver rounds a ring's size, `tc` has its own way with units.
        self._accepted: dict[Place, str | None] = {}

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What was asked, then what moved along."""
        return tuple(sorted(self._outcomes.values(), key=lambda outcome: outcome.moved_along))

    # before the traffic

    async def apply(self) -> None:
        """Writes them on both hosts, all or nothing. Raises RunFailed with a host's own words where it refuses, and
        HostLost; in either case `take_back` is still to be called."""
        if not self.settings:
            return
        known = await self._known()
        wanted = self._wanted(known)
        self._refuse_on_trial(wanted)
        missing = []
        for change in wanted:
            setting = known[change.role].get(change.scope, change.key)
            if setting is not None and _is_in_place(setting, change):
                self._outcomes[change.place] = _unchanged(setting, change)
            else:
                missing.append(change)
        for _ in range(ROUNDS):
            if not missing:
                return
            applied = await self.changes.apply_for_run(missing, OnRefusal.UNDO)
            self._take_over(applied)
            if applied.refused:
                self._fail(applied.refused)
            missing = [change for change in wanted if not self._is_as_wished(change)]
        if missing:
            self._fail([self._outcomes[change.place] for change in missing])

    async def _known(self) -> dict[Role, HostSettings]:
        roles = [role for role in Role if any(setting.is_for(role) for setting in self.settings)]
        machine = any(setting.of_machine for setting in self.settings)
        found = await asyncio.gather(*(self._read(role, machine) for role in roles))
        return dict(zip(roles, found, strict=True))

    async def _read(self, role: Role, machine: bool) -> HostSettings:
        nic = self.views[role].data_nic
        if not nic:
            raise TrafficImpossible("no data path is chosen", "choose the NICs that carry the traffic")
        return await self.changes.host(role).read_settings((nic,), machine)

    def _wanted(self, known: Mapping[Role, HostSettings]) -> list[Change]:
        """The changes of all hosts, each place once."""
        found: dict[Place, Change] = {}
        for role, settings in known.items():
            view = self.views[role]
            for change in changes_of(role, settings, view.data_nic, view.name, self.settings):
                found[change.place] = change
        return list(found.values())

    def _refuse_on_trial(self, wanted: Iterable[Change]) -> None:
        """A trial would end in the middle of the run."""
        trials = {
            entry.place for role in Role for entry in self.changes.journal.held(role) if entry.kind is ChangeKind.TRIAL
        }
        for change in wanted:
            if change.place in trials:
                raise RunFailed(f"{self._where(*change.place)} is on trial", "keep it, or put it back, and run again")

    def _take_over(self, applied: Applied) -> None:
        """Of two transactions on one place the first says what was there before."""
        for outcome in applied.outcomes:
            place = (outcome.role, outcome.scope, outcome.key)
            if outcome.asked is not None and not outcome.code:
                self._accepted[place] = outcome.now
            first = self._outcomes.get(place, outcome)
            asked = first.asked if outcome.asked is None else outcome.asked
            self._outcomes[place] = replace(outcome, old=first.old, was_active=first.was_active, asked=asked)

    def _is_as_wished(self, change: Change) -> bool:
        """On and off mean nothing else; of other values the host has the last word, once it has taken them."""
        outcome = self._outcomes[change.place]
        if outcome.took or change.value in ON_OFF:
            return outcome.took
        return change.place in self._accepted and outcome.now == self._accepted[change.place]

    def _fail(self, troubles: Sequence[Outcome]) -> NoReturn:
        """Names the first."""
        first = troubles[0]
        wish = f"={first.asked}" if first.asked is not None else ""
        more = f", and {len(troubles) - 1} more" if len(troubles) > 1 else ""
        raise RunFailed(
            f"{self._where(first.role, first.scope, first.key)}{wish}: {_trouble(first)}{more}",
            "the preset asks for it; what was set is taken back",
        )

    def _where(self, role: Role, scope: str, key: str) -> str:
        return f"{self.views[role].name}: {key}" if scope == MACHINE else f"{self.views[role].name}: {scope} {key}"

    # after it

    async def take_back(self) -> tuple[RunEvent, ...]:
        """Puts back what the run moved, on the hosts that are there, in bounded time; never raises WorkbenchError. What
        could not be put back is told, and stays on the hosts' lists of what is held."""
        if not any(outcome.old != outcome.now for outcome in self._outcomes.values()):
            return ()
        going = asyncio.create_task(self._take_back())
        _going.add(going)
        going.add_done_callback(_going.discard)
        done, _ = await asyncio.wait([going], timeout=BACK_SECONDS)
        return going.result() if done else (_mark("a host does not answer: settings are not put back yet"),)

    async def _take_back(self) -> tuple[RunEvent, ...]:
        marks: list[RunEvent] = []
        back: list[Change] = []
        for role in [role for role in Role if role not in self.changes.lost]:
            try:
                back += await self._ours(role)
            except WorkbenchError as error:
                marks.append(_mark(f"settings are not put back: {error.message}", role))
        try:
            applied = await self.changes.apply_for_run(back, OnRefusal.REST) if back else None
        except WorkbenchError as error:
            return (*marks, _mark(f"settings are not put back: {error.message}"))
        refused = applied.refused if applied else ()
        return (*marks, *(_mark(f"{short(each.key)} is not put back: {each.error}", each.role) for each in refused))

    async def _ours(self, role: Role) -> list[Change]:
        """The changes that lead back, for what nobody else changed meanwhile."""
        moved = [outcome for outcome in self._outcomes.values() if outcome.role is role and outcome.old != outcome.now]
        if not moved:
            return []
        places = [(outcome.scope, outcome.key) for outcome in moved]
        found = await self.changes.host(role).read_one(places)
        values = {place: setting.value for place, setting in found.index.items()}
        return backwards([outcome for outcome in moved if values.get((outcome.scope, outcome.key)) == outcome.now])


def changes_of(
    role: Role, known: HostSettings, nic: str, host: str, settings: Iterable[PresetSetting]
) -> Iterator[Change]:
    """What the preset's settings mean on one host, as far as it has them; the rest is the host's to refuse. Of several
    on one place the later one counts: what is named outright, and what is for this host alone. Raises RunFailed for a
    name that may stand for several and stands for none."""
    mine = [setting for setting in settings if setting.is_for(role)]
    for own in (False, True):
        layer = [setting for setting in mine if (setting.role is not None) is own]
        for setting in sorted(layer, key=_is_named_outright):
            scope = MACHINE if setting.of_machine else nic
            keys = _keys(known, scope, setting)
            if not keys:
                name = "the machine" if scope == MACHINE else nic
                raise RunFailed(f"{host}: {name} has no setting {setting.key}", "the preset asks for it")
            yield from (Change(role, scope, key, setting.value) for key in keys)


def _is_named_outright(setting: PresetSetting) -> bool:
    is_short = "." not in setting.key and setting.key not in NIC_WORDS
    return not is_short and not _PATTERN & set(setting.key)


def _keys(known: HostSettings, scope: str, setting: PresetSetting) -> list[str]:
    """Names that stand for several leave out what the driver fixed, unless it fixed all."""
    if _is_named_outright(setting):
        return [setting.key]
    there = list(known.of(scope))
    if _PATTERN & set(setting.key):
        some = [each for each in there if fnmatchcase(each.key, setting.key)]
    else:
        features = {each.key.removeprefix(FEATURE): each for each in there if each.group == "feature"}
        some = [features[name] for name in expand(setting.key, features)]
    return [each.key for each in some if not each.fixed] or [each.key for each in some]


def _is_in_place(setting: Setting, change: Change) -> bool:
    return setting.value == change.value and _unchanged(setting, change).took


def _unchanged(setting: Setting, change: Change) -> Outcome:
    active = setting.active
    return Outcome(*change.place, setting.value, change.value, setting.value, was_active=active, active=active)


def _trouble(outcome: Outcome) -> str:
    if outcome.code:
        return f"{outcome.error} ({outcome.code})"
    return f"it reads {outcome.now}" if outcome.active in ("", outcome.now) else f"it stays {outcome.active}"


def _mark(text: str, role: Role | None = None) -> RunEvent:
    return RunEvent(time.monotonic(), text, role)
