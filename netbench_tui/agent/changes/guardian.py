"""The guardian: a process of its own that puts everything back if the agent goes away. Forked by guard.py.

It outlives the agent, its SSH session and their signals. It hears the agent through a socket, one JSON object a line:

    {"list": [entry], "born": [place], "number": k, "silence": s, "seen": n}
                      hold exactly these (undo_list.py), answered {"re": k, "held": true}; false if something was put
                      back that the agent has not `seen`
    {"alive": true}   the lease is renewed

and says {"pid": n} first, and {"restored": why, "entries": [result], "moved": [[scope, key, before, now]], "all": bool}
when it put something back: everything after the agent's end or silence, a trial at its deadline. An empty list lets it
go.
"""

import ctypes
import gc
import json
import os
import select
import signal
import socket
import time

from . import reports
from .putting_back import PuttingBack
from .undo_list import REFUSED, TRIAL, UndoList, result

# A silent agent is stopped, or its host cut off: the workbench speaks every 2 s.
SILENCE_SECONDS = 30.0
# An agent that writes says so between two writes; a driver may take this long over one.
WRITING_SECONDS = 5.0
PIECE = 1 << 16
SAY_SECONDS = 5.0
# An end of the agent, of its terminal or of its session is what the guardian is there for.
OUTLIVED = (signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGINT)
PR_SET_NAME = 15
NAME = b"netbench-guard"
# Where the root control group is: version 2 beside version 1, or alone; and systemd's own hierarchy of version 1.
ROOT_GROUPS = {
    "": ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"),
    "name=systemd": ("/sys/fs/cgroup/systemd",),
}


class Guardian(object):
    """Holds an undo list and waits. `run` returns when there is nothing left to guard."""

    def __init__(self, link, registry, make_context):
        self.link, self.registry, self.make_context = link, registry, make_context
        self.undo = UndoList()
        self.silence, self.heard = SILENCE_SECONDS, time.monotonic()
        self.told = 0
        self.buffer = b""
        self.ended = False

    def run(self):
        try:
            self._watch()
        except Exception as error:  # a message that makes no sense: whatever is held goes back
            self._everything("the guardian failed: %s: %s" % (type(error).__name__, error))

    def _watch(self):
        self._say({"pid": os.getpid()})
        waiting = select.poll()
        waiting.register(self.link, select.POLLIN)
        while not self.ended:
            if waiting.poll(int(self._left() * 1000 + 0.999)):
                self._hear()
            elif time.monotonic() >= self.heard + self.silence:
                self._everything("no sign of life for %g s" % self.silence)
            if not self.ended:
                self._trials()

    def _left(self):
        """Seconds until something is due."""
        quiet = self._quiet()
        due = [self.heard + self.silence] + [max(entry["deadline"], quiet) for entry in self._on_trial()]
        return max(0.0, min(due) - time.monotonic())

    def _on_trial(self):
        return [entry for entry in self.undo.all() if entry["kind"] == TRIAL]

    def _quiet(self):
        """From when a trial may be put back: not while the agent is writing, for two at once would mix up what is
        whose."""
        writing = any("planned" in entry for entry in self.undo.all())
        return self.heard + WRITING_SECONDS if writing else 0.0

    def _hear(self):
        try:
            data = self.link.recv(PIECE)
        except OSError:
            data = b""
        if not data:
            self._everything("the agent ended")
            return
        self.heard = time.monotonic()
        lines = (self.buffer + data).split(b"\n")
        self.buffer = lines.pop()
        for line in lines:
            message = json.loads(line.decode("ascii"))
            if "list" in message:
                self._hold(message)

    def _hold(self, message):
        if message["seen"] != self.told:
            self._say({"re": message["number"], "held": False})
            return
        self.silence = message["silence"]
        self.undo.clear()
        for entry in message["list"]:
            self.undo.put(entry)
        self.undo.born = {(scope, key) for scope, key in message["born"]}
        self._say({"re": message["number"], "held": True})
        self.ended = not self.undo.entries

    def _trials(self):
        now = time.monotonic()
        over = [entry for entry in self._on_trial() if entry["deadline"] <= now] if self._quiet() <= now else []
        if over:
            results, moved = self._put_back(over, to_kept=True)
            self.undo.settle(results)
            self.undo.follow(moved)
            self.told += 1
            self._say({"restored": "the trial ended", "entries": results, "moved": moved, "all": False})

    def _everything(self, why):
        self.ended = True
        held = self.undo.all()
        if not held:
            return
        results, _moved = self._put_back(held)
        try:
            reports.write(why, results)
        except OSError:  # nowhere to write: the settings are back all the same
            pass
        self._say({"restored": why, "entries": results, "moved": [], "all": True})

    def _put_back(self, entries, to_kept=False):
        context = self.make_context()
        try:
            back = PuttingBack(self.registry, context, entries, to_kept=to_kept).sort_out().write()
            return back.results(), back.moved
        except Exception as error:
            return [result(entry, REFUSED, "%s: %s" % (type(error).__name__, error)) for entry in entries], []
        finally:
            context.close()

    def _say(self, message):
        """Nobody who does not read may hold the guardian up: the link is cut then, which counts as the agent's end."""
        try:
            self.link.settimeout(SAY_SECONDS)
            self.link.sendall(json.dumps(message).encode("ascii") + b"\n")
        except socket.timeout:
            self.link.shutdown(socket.SHUT_RDWR)
        except OSError:  # the end of the link is seen when reading
            pass


def fork(link, registry, make_context):
    """Starts a guardian that hears through `link`; OSError if no process can be made.

    Forked twice, so that it is nobody's child and leaves no zombie."""
    child = os.fork()
    if child == 0:
        try:
            signal.set_wakeup_fd(-1)  # or our signals would be read as the agent's
            os.setsid()
            if os.fork() == 0:
                _stand_alone(link)
                Guardian(link, registry, make_context).run()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _stand_alone(link):
    """Lets go of all that is the agent's: its pipes and sockets, its folder, its signals, its session."""
    for number in OUTLIVED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # The agent's files are closed below its own objects; were those collected, they would close ours.
    gc.disable()
    os.chdir("/")
    os.umask(0o077)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for number in _descriptors():
        if number > 2 and number != link.fileno():
            try:
                os.close(number)
            except OSError:
                pass
    if os.geteuid() == 0:
        leave_session()
    try:
        ctypes.CDLL(None).prctl(PR_SET_NAME, NAME, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def _descriptors():
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return list(range(3, os.sysconf("SC_OPEN_MAX")))


def leave_session(groups="/proc/self/cgroup", roots=ROOT_GROUPS):
    """Moves to the root control group: systemd ends what is left in a login's scope when the login ends, where
    KillUserProcesses is set. Does nothing outside such a scope, and where it may not."""
    try:
        with open(groups) as handle:
            lines = handle.read().splitlines()
    except OSError:
        return
    for line in lines:
        _number, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        last = path.rpartition("/")[2]
        if last.startswith("session-") and last.endswith(".scope"):
            _enter_first(roots.get(controllers, ()))


def _enter_first(roots):
    for root in roots:
        try:
            with open(root + "/cgroup.procs", "w") as handle:
                handle.write("%d\n" % os.getpid())
            return
        except OSError:
            pass
