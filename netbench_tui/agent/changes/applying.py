"""One transaction: reads what is there, writes, reads back, and says what came of it. Used by transactions.py.

The order of calls: `look`, `plan`, `write`, perhaps `undo_all`, `look_again`, then `outcomes` and `settle`.
"""

import collections

from ..settings.context import Refused
from .putting_back import PuttingBack
from .survey import Survey, attempt, canonical, read_one, value_of
from .undo_list import LEASE, PERMANENT, REFUSED, TRIAL, UndoList, as_lease, place_of

MISSING = ("ENOENT", "there is no such setting")
FIXED = ("EOPNOTSUPP", "fixed by the driver")


class Transaction(object):
    """`changes` is a list of (place, value) in the order of the wish, `undo` the list as it stands. `kind` is trial,
    lease or permanent; `deadline` that of a trial. `beat()` is called between writes."""

    def __init__(self, registry, context, undo, changes, kind, deadline, beat):
        self.registry, self.context, self.undo, self.beat = registry, context, undo, beat
        self.changes, self.kind, self.deadline = changes, kind, deadline
        self.asked = collections.OrderedDict(changes)
        self.problems = {}
        self.survey = Survey(registry, context, list(self.asked))
        self.before, self.after = {}, {}
        # Scopes on which a change may bring settings about that are not there yet.
        self.resets = set()
        # The value of what the transaction itself brought about, when it was first seen.
        self.first = {}
        self.written = set()

    def look(self):
        self.before = self.survey.look()
        self.resets = {scope for scope, key in self.survey.places if self.registry.kind_of(scope, key).RESETS}
        self.problems = {}
        for place, value in self.changes:
            problem = self._impossible(place, value)
            if problem:
                self.problems[place] = problem

    def _impossible(self, place, value):
        """Why a change need not even be tried; what a reset may yet bring about is tried."""
        try:
            self.registry.kind_of(*place)
        except Refused as error:
            return error.code, error.text
        row = self.before.get(place)
        if row is None:
            return None if place[0] in self.resets else MISSING
        return FIXED if row.get("fixed") and canonical(value, row["value"], place[1]) != row["value"] else None

    def plan(self):
        """The undo list as a guardian must hold it before the first write: all that may move is in it, and whatever
        stands there counts as ours."""
        planned = UndoList()
        for entry in self.undo.all():
            planned.put(entry)
        if len(self.problems) == len(self.changes):
            return planned
        for place in _in_order(self.before, self.asked):
            row = self.before.get(place, {})
            if place in self.problems or (place not in self.asked and (row.get("fixed") or row.get("refusal"))):
                continue
            entry = self._entry(place, value_of(row or None), self.asked.get(place))
            entry["planned"] = True
            planned.put(entry)
        return planned

    def _entry(self, place, before, ours):
        """An entry for what this transaction makes of that place."""
        existing = self.undo.get(place)
        entry = dict(existing or {"scope": place[0], "key": place[1], "found": before}, ours=ours)
        if not existing and (place in self.undo.born or place in self.first or before is None):
            entry["born"] = True
        if place in self.asked:
            entry.pop("moved", None)
        elif not existing:
            entry["moved"] = True
        elif existing["kind"] == TRIAL:  # a change elsewhere does not keep it
            return entry
        if self.kind != TRIAL:
            return as_lease(entry)
        if existing and existing["kind"] == LEASE:
            entry["kept"] = existing["ours"]
        entry.update({"kind": TRIAL, "deadline": self.deadline})
        return entry

    def write(self, stop_at_refusal):
        """False if it stopped at a refusal. What resets others goes first; what of ours it moved is set again before
        the rest is written."""
        if stop_at_refusal and self.problems:
            return False
        order = [change for change in self.changes if change[0] not in self.problems]
        order.sort(key=lambda change: self.registry.kind_of(*change[0]).RANK)
        again = False
        for place, value in order:
            resets = self.registry.kind_of(*place).RESETS
            if again and not resets:
                self._write_again()
            again = resets
            if not self._write(place, value) and stop_at_refusal:
                return False
        if again:
            self._write_again()
        return True

    def _write(self, place, value):
        self.beat()
        if place not in self.before:
            row = read_one(self.registry, self.context, place[0], place[1])
            if row is None:
                self.problems[place] = MISSING
                return False
            self.first[place] = row["value"]
        problem = attempt(self.registry, self.context, place[0], place[1], value)
        self.written.add(place)
        if problem:
            self.problems[place] = problem
        return not problem

    def _write_again(self):
        """Values that we had set in this session and a reset has moved."""
        stood = [
            (place_of(entry), entry["ours"])
            for entry in self.undo.all()
            if place_of(entry) not in self.asked and "moved" not in entry
        ]
        stood = [item for item in stood if item[1] is not None and value_of(self.before.get(item[0])) == item[1]]
        now = self.survey.look() if stood else {}
        for place, value in sorted(stood, key=lambda item: self.registry.kind_of(*item[0]).RANK):
            if place in now and now[place]["value"] != value:
                self.beat()
                problem = attempt(self.registry, self.context, place[0], place[1], value)
                if problem:
                    self.problems[place] = problem

    def undo_all(self):
        """Back to how it was before this transaction, whatever it had come to."""
        if not self.written:
            return
        now = self.survey.look()
        moved = [
            dict(
                {"scope": place[0], "key": place[1], "found": row["value"], "ours": value_of(now.get(place))},
                **({} if place in self.asked else {"moved": True}),
            )
            for place, row in self.before.items()
            if not self.survey.unread(place) and value_of(now.get(place)) != row["value"]
        ]
        back = PuttingBack(self.registry, self.context, moved, self.beat).sort_out().write()
        for told in back.results():
            if told["state"] == REFUSED:
                place = told["scope"], told["key"]
                self.problems.setdefault(place, ("EIO", "could not be undone: %s" % told["note"]))

    def look_again(self):
        """What moved while nothing was written was not our doing: the guardian may have ended a trial meanwhile."""
        self.after = self.survey.look() if self.written else dict(self.before)
        for place in self.before:
            if place not in self.after and self.survey.unread(place):
                self.after[place] = self.before[place]

    def outcomes(self):
        """What was asked, in its order, then what moved along."""
        rows = [self._outcome(place, value) for place, value in self.changes]
        others = [place for place in _in_order(self.before, self.after) if place not in self.asked]
        return rows + [self._outcome(place, None) for place in others if self._moved(place)]

    def _moved(self, place):
        before, after = self.before.get(place, {}), self.after.get(place, {})
        changed = any(before.get(name, "") != after.get(name, "") for name in ("value", "active"))
        return changed or place in self.problems

    def _outcome(self, place, asked):
        before, after = self.before.get(place), self.after.get(place)
        now = value_of(after)
        if asked is not None and place not in self.problems:
            asked = canonical(asked, now, place[1])
        row = {"scope": place[0], "key": place[1], "old": value_of(before), "asked": asked, "now": now}
        for name, of in (("was_active", before), ("active", after)):
            if of and of.get("active"):
                row[name] = of["active"]
        if place in self.problems:
            row["code"], row["error"] = self.problems[place]
        return row

    def settle(self, put_back, undone):
        """Brings the undo list up to what was read back. `put_back` are places that the guardian has put back since
        the plan: what moved there was its doing."""
        for place in _in_order(self.asked, self.before, self.after):
            before, now = value_of(self.before.get(place)), value_of(self.after.get(place))
            if place in put_back and place not in self.written:
                continue
            fresh = before is None and not self.undo.get(place)
            if place in self.written and place not in self.problems and not undone:
                self._settle(place, self.first.get(place, before), now)
            elif now != before and not fresh:
                self._settle(place, before, now)
            if fresh and now is not None and self.kind != PERMANENT:
                self.undo.born.add(place)

    def _settle(self, place, before, now):
        existing = self.undo.get(place)
        for_good = self.kind == PERMANENT and (place in self.asked or not existing or now is None)
        if for_good or now == (existing["found"] if existing else before):
            self.undo.forget(place)
            return
        self.undo.put(self._entry(place, before, now))


def _in_order(*maps):
    """All places of these, each once."""
    return list(collections.OrderedDict((place, None) for each in maps for place in each))
