"""What has to be put back: one entry for each setting that differs from how the session found it.

Held by transactions.py in the agent and, as the same JSON, by the guardian. An entry is a dict:

    scope, key   the place
    found        the value at its first change by this agent
    ours         the value we made of it, as read back; None: a change of ours made it go away
    kind         "trial" or "lease"
    deadline     of a trial: when it is put back, on the host's monotonic clock
    kept         of a trial on top of a lease: the value that was kept, to which the trial's end returns
    planned      we are writing just now: whatever stands there counts as ours
    moved        nobody asked for it: it moved along with another change
    born         a change of ours brought the setting about (a new queue): it goes when that is put back
"""

import collections
import time

TRIAL, LEASE, PERMANENT = "trial", "lease", "permanent"
# What became of an entry, in the words of model/change.py.
HELD, RESTORED, FOREIGN, REFUSED = "held", "restored", "changed by someone else", "refused"


def place_of(entry):
    return entry["scope"], entry["key"]


def result(entry, state, note=""):
    """What is told about an entry that was to be put back."""
    told = {name: entry[name] for name in ("scope", "key", "found", "ours")}
    told.update({"state": state, "note": note})
    return told


def as_lease(entry, **changed):
    """The entry without what makes it a trial or a plan."""
    fresh = {name: item for name, item in entry.items() if name not in ("deadline", "kept", "planned")}
    fresh.update({"kind": LEASE}, **changed)
    return fresh


class UndoList(object):
    """The entries by place, oldest first. `born` remembers which settings our changes brought about."""

    def __init__(self):
        self.entries = collections.OrderedDict()
        self.born = set()

    def get(self, place):
        return self.entries.get(place)

    def all(self):
        return list(self.entries.values())

    def put(self, entry):
        self.entries[place_of(entry)] = entry

    def forget(self, place):
        self.entries.pop(place, None)

    def clear(self):
        self.entries.clear()

    def keep(self):
        """All trials become leases."""
        for place, entry in self.entries.items():
            self.entries[place] = as_lease(entry)

    def settle(self, results):
        """After these were put back: what is as found, or not ours any more, is held no longer; what was refused
        stays for another attempt; a trial that returned to what was kept is a lease again."""
        for told in results:
            place = told["scope"], told["key"]
            entry = self.entries.get(place)
            if entry is None:
                continue
            if told["state"] in (HELD, REFUSED):
                self.entries[place] = as_lease(entry, ours=told["ours"])
            else:
                del self.entries[place]

    def follow(self, moved):
        """What others were moved to by putting something back is our doing as well; rows [scope, key, before, now].
        Those that were not held are from now on."""
        for scope, key, before, now in moved:
            place = scope, key
            entry = self.entries.get(place)
            if entry is None and before is None:
                self.born.add(place)
            elif entry is None:
                if place not in self.born:
                    self.put({"scope": scope, "key": key, "found": before, "ours": now, "kind": LEASE, "moved": True})
            elif now == entry["found"]:
                del self.entries[place]
            elif entry["ours"] == before:
                entry["ours"] = now

    def told(self):
        """For `held`: without the inner marks; `left` is the seconds that a trial has."""
        rows, now = [], time.monotonic()
        for entry in self.entries.values():
            row = {name: entry[name] for name in ("scope", "key", "found", "ours", "kind")}
            if "deadline" in entry:
                row["left"] = max(0.0, entry["deadline"] - now)
            rows.append(row)
        return rows
