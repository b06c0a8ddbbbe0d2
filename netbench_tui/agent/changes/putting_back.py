"""Puts settings back to how they were found. Used by the guardian, and by transactions.py for `restore` and undo."""

from .survey import Survey, attempt, read_one, value_of
from .undo_list import FOREIGN, HELD, REFUSED, RESTORED, place_of, result

# Writing one setting may move another that was right before: scatter-gather goes before segmentation, a ring before
# what it resets. Three rounds settle every chain that a driver is known to have; more would hide a fight.
ROUNDS = 3
GONE = "there is no such setting any more"


class PuttingBack(object):
    """Some entries of an undo list on their way back. First `sort_out`, then `write`; `results` tells about each.

    `beat()` is called between writes. With `to_kept` a trial on top of a lease returns to what was kept."""

    def __init__(self, registry, context, entries, beat=lambda: None, to_kept=False):
        self.registry, self.context, self.beat = registry, context, beat
        self.entries, self.to_kept = list(entries), to_kept
        self.foreign = []
        self.mine = []
        # Not there any more, and not by a change of ours to them: putting another back may bring them back, as the
        # start of irqbalance does its ban list.
        self.absent = set()
        self.trouble = {}
        # What is none of the entries and stayed moved by putting them back: [scope, key, before, now].
        self.moved = []

    def sort_out(self):
        """Finds what is not ours any more. All of it comes before the first write, which may itself move others."""
        self.context.forget()
        for entry in self.entries:
            now = self._now(entry)
            if now in (self._target(entry), entry["ours"]) or "planned" in entry or (now is None and "born" in entry):
                self.mine.append(entry)
            elif now is None:
                self.absent.add(place_of(entry))
                self.mine.append(entry)
            else:
                self.foreign.append((entry, "it reads %s" % now))
        return self

    def write(self):
        """Lower ranks first; among equals the last change goes back first, and what had moved with others after them:
        most of it goes back by itself."""
        order = sorted(enumerate(self.mine), key=lambda item: (self._kind(item[1]).RANK, "moved" in item[1], -item[0]))
        resetting = [entry for _, entry in order if self._kind(entry).RESETS and not self._is_back(entry)]
        around = Survey(self.registry, self.context, [place_of(entry) for entry in resetting])
        before = around.look() if resetting else {}
        for _ in range(ROUNDS):
            left = [entry for _, entry in order if not self._is_back(entry)]
            if not left:
                break
            for entry in left:
                self._write(entry)
        if resetting:
            self._write_neighbours(before, around)
        return self

    def _write(self, entry):
        target = self._target(entry)
        if target is None or self._is_back(entry) or self._is_gone(entry):
            return
        self.beat()
        self.trouble[place_of(entry)] = attempt(self.registry, self.context, entry["scope"], entry["key"], target)

    def _write_neighbours(self, before, around):
        """What was reset by putting back, and is none of the entries, gets the value it had just before."""
        ours = {place_of(entry) for entry in self.entries}
        after = around.look()
        moved = [place for place, row in before.items() if place not in ours and place in after]
        moved = [place for place in moved if after[place]["value"] != before[place]["value"]]
        for place in sorted(moved, key=lambda place: self.registry.kind_of(*place).RANK):
            self.beat()
            attempt(self.registry, self.context, place[0], place[1], before[place]["value"])
        after = around.look()
        for place in set(before) | set(after):
            was, now = value_of(before.get(place)), value_of(after.get(place))
            if place not in ours and was != now and not around.unread(place):
                self.moved.append([place[0], place[1], was, now])

    def results(self):
        """One row an entry: {scope, key, found, ours, state, note}."""
        self.context.forget()
        told = [self._told(entry) for entry in self.mine]
        return told + [result(entry, FOREIGN, note) for entry, note in self.foreign]

    def _told(self, entry):
        if self._is_gone(entry):
            return result(entry, FOREIGN, GONE)
        if not self._is_back(entry):
            words = (self.trouble.get(place_of(entry)) or ("", ""))[1]
            now = self._now(entry)
            words = words or (GONE if now is None else "the host left it at %s" % now)
            return result(dict(entry, ours=now), REFUSED, words)
        if self.to_kept and "kept" in entry:
            return result(dict(entry, ours=entry["kept"]), HELD, "back to what was kept")
        return result(entry, RESTORED)

    def _target(self, entry):
        return entry.get("kept", entry["found"]) if self.to_kept else entry["found"]

    def _is_back(self, entry):
        now = self._now(entry)
        return now == self._target(entry) or (now is None and "born" in entry)

    def _is_gone(self, entry):
        return place_of(entry) in self.absent and self._now(entry) is None

    def _now(self, entry):
        return value_of(read_one(self.registry, self.context, entry["scope"], entry["key"]))

    def _kind(self, entry):
        return self.registry.kind_of(entry["scope"], entry["key"])
