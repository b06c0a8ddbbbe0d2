"""Changes as transactions: the agent's operations apply, keep, restore, held and reports. Used by main.py.

Nothing is written before a guardian holds what it would take to undo it. Requests and answers:

    apply    transaction, changes: [{scope, key, value}], kind: trial | lease | permanent, seconds?, on_refusal: rest |
             undo, silence?     -> {outcomes, undone}; `silence` is how long the guardian bears with us
    keep     kind: lease | permanent     -> {}
    restore  places?: [[scope, key]]     -> {entries: [{scope, key, found, ours, state, note}]}
    held     -> {entries: [{scope, key, found, ours, kind, left?}], guardian: its process id or null}
    reports  -> {reports: [{boot_id, time, why, entries}]}, deleted once read

What a guardian puts back while we live is the event {"ev": "restored", "why", "entries"}.
"""

import errno
import time

from ..settings import registry as all_settings
from . import reports
from .applying import Transaction
from .guard import AGAIN_SECONDS, Guard
from .guardian import SILENCE_SECONDS
from .putting_back import PuttingBack
from .survey import Survey
from .undo_list import LEASE, PERMANENT, TRIAL, UndoList, place_of

KINDS = (TRIAL, LEASE, PERMANENT)
ON_REFUSAL = ("rest", "undo")
LONGEST_TRIAL_SECONDS = LONGEST_SILENCE_SECONDS = 3600.0
# A guardian that puts something back while we plan makes us plan anew; it has no more trials than this in a row.
PLANS = 8
BUSY = "the guardian is busy putting settings back"


class Transactions(object):
    """`make_context(request)` gives a settings Context; `registry` knows the kinds of settings."""

    def __init__(self, reactor, wire, make_context, registry=all_settings):
        self.reactor, self.wire, self.registry = reactor, wire, registry
        self.make_context = make_context
        self.undo = UndoList()
        self.put_back = set()
        self.guard = Guard(reactor, registry, lambda: make_context({}), self.undo, self._restored)

    def renew(self):
        """The workbench has been heard."""
        self.guard.renew()

    def apply(self, request):
        changes, kind, seconds, stop = _checked(request)
        self.guard.silence = _seconds(request.get("silence", SILENCE_SECONDS), LONGEST_SILENCE_SECONDS)
        context = self.make_context(request)
        try:
            transaction, planned = self._planned(context, changes, kind, time.monotonic() + seconds)
            try:
                undone = not transaction.write(stop)
                if undone:
                    transaction.undo_all()
                transaction.look_again()
                transaction.settle(self.put_back, undone)
            except BaseException:
                self.undo.entries = planned.entries
                raise
        finally:
            context.close()
        self._hold()
        return {"outcomes": transaction.outcomes(), "undone": undone}

    def _planned(self, context, changes, kind, deadline):
        """A transaction that a guardian can undo, and the undo list that it holds; OSError if there is none."""
        for _ in range(PLANS):
            self.put_back.clear()
            transaction = Transaction(self.registry, context, self.undo, changes, kind, deadline, self.renew)
            transaction.look()
            planned = transaction.plan()
            if self._may_begin(planned.all()):
                return transaction, planned
        raise OSError(errno.EBUSY, BUSY)

    def _may_begin(self, entries):
        """Whether the guardian holds these. One that does not answer may yet have taken them: it is told again."""
        try:
            return self.guard.hold(entries)
        except OSError:
            self.reactor.after(AGAIN_SECONDS, self._hold)
            raise

    def keep(self, request):
        if request["kind"] not in (LEASE, PERMANENT):
            raise ValueError("kind is lease or permanent")
        for _ in range(PLANS):
            kept = UndoList()
            if request["kind"] == LEASE:
                for entry in self.undo.all():
                    kept.put(entry)
                kept.keep()
            if self._may_begin(kept.all()):
                self.undo.entries = kept.entries
                return {}
        raise OSError(errno.EBUSY, BUSY)

    def restore(self, request):
        context = self.make_context({})
        try:
            back = self._going_back(context, request.get("places"))
            results = back.write().results()
        finally:
            context.close()
        self.undo.settle(results)
        self.undo.follow(back.moved)
        self._hold()
        return {"entries": results}

    def _going_back(self, context, places):
        """Sorted out, and held by the guardian as what we are writing just now: half-way through, others may have
        moved, and whatever stands there is our doing then."""
        for _ in range(PLANS):
            back = PuttingBack(self.registry, context, self._chosen(context, places), self.renew).sort_out()
            going = {place_of(entry) for entry in back.mine}
            marked = [dict(entry, planned=True) if place_of(entry) in going else entry for entry in self.undo.all()]
            if self._may_begin(marked):
                return back
        raise OSError(errno.EBUSY, BUSY)

    def _chosen(self, context, places):
        """The entries of these places, and with what moves others what had moved with it."""
        if places is None:
            return self.undo.all()
        wanted = {(scope, key) for scope, key in places}
        held = [place for place in map(place_of, self.undo.all()) if place in wanted]
        moving = [place for place in held if self.registry.kind_of(*place).RESETS]
        reached = Survey(self.registry, context, moving).parts
        return [
            entry
            for entry in self.undo.all()
            if place_of(entry) in wanted
            or ("moved" in entry and (entry["scope"], self.registry.kind_of(*place_of(entry))) in reached)
        ]

    def held(self, _request):
        return {"entries": self.undo.told(), "guardian": self.guard.pid}

    def reports(self, _request):
        return {"reports": reports.take()}

    def _hold(self):
        """Hands the list over as it stands. If that fails the guardian still holds more than it need."""
        try:
            for _ in range(PLANS):
                if self.guard.hold(self.undo.all()):
                    return
        except OSError:
            self.reactor.after(AGAIN_SECONDS, self._hold)

    def _restored(self, message):
        """The guardian has put something back."""
        if message["all"]:
            self.undo.clear()
        else:
            self.undo.settle(message["entries"])
            self.undo.follow(message["moved"])
            self.reactor.after(0.0, self._hold)
        self.put_back.update((told["scope"], told["key"]) for told in message["entries"])
        self.put_back.update((scope, key) for scope, key, _before, _now in message["moved"])
        self.wire.send({"ev": "restored", "why": message["restored"], "entries": message["entries"]})


def _checked(request):
    """(changes, kind, seconds, whether to stop at a refusal); ValueError says what is wrong with the request."""
    changes = []
    for change in request["changes"]:
        words = change["scope"], change["key"], change["value"]
        if not all(isinstance(word, str) and "\0" not in word and "\n" not in word for word in words):
            raise ValueError("scope, key and value are one line of text each")
        changes.append(((words[0], words[1]), words[2]))
    if len({place for place, _ in changes}) != len(changes):
        raise ValueError("a setting can be changed only once in a transaction")
    if request["kind"] not in KINDS or request["on_refusal"] not in ON_REFUSAL:
        raise ValueError("kind is trial, lease or permanent, on_refusal rest or undo")
    seconds = _seconds(request["seconds"], LONGEST_TRIAL_SECONDS) if request["kind"] == TRIAL else 0.0
    return changes, request["kind"], seconds, request["on_refusal"] == "undo"


def _seconds(value, longest):
    if not 0 < float(value) <= longest:
        raise ValueError("%r is not between 0 and %d s" % (value, longest))
    return float(value)
