"""The agent's side of the guardian: starts it, tells it what to hold, and starts another if it dies. Used by
transactions.py."""

import errno
import json
import socket
import time

from . import guardian

# Putting back a ring or the channels takes a driver a second or two, and the guardian answers after that.
ANSWER_SECONDS = 15.0
# The workbench is heard several times a second while a screen is open; the lease is counted in tens of seconds.
RENEWAL_SECONDS = 1.0
# A guardian that was ended twice in a row is being ended by somebody.
ATTEMPTS = 2
AGAIN_SECONDS = 1.0
PIECE = 1 << 16
SILENT = "the guardian that would undo the changes does not answer"


class Guard(object):
    """`undo` is the list whose entries a new guardian has to hold; `on_restored(message)` hears what one put back."""

    def __init__(self, reactor, registry, make_context, undo, on_restored):
        self.reactor, self.registry, self.make_context = reactor, registry, make_context
        self.undo, self.on_restored = undo, on_restored
        self.link = None
        self.pid = None
        self.silence = guardian.SILENCE_SECONDS
        self.asked = self.seen = 0
        self.told_all = False
        self.renewed = 0.0
        self.buffer = b""

    def hold(self, entries):
        """True once a guardian holds exactly these; False if one has put something back meanwhile (`on_restored` has
        been called: plan anew). OSError if no guardian can be had: then nothing may be written."""
        for _ in range(ATTEMPTS):
            if self.link is None:
                if not entries:
                    return True
                self._start()
            answer = self._ask(entries)
            if answer is not None:
                if answer["held"] and not entries:
                    self._let_go()
                return answer["held"]
            if self.told_all:
                return False
        raise OSError(errno.ECHILD, "the guardian that would undo the changes does not stay alive")

    def renew(self):
        now = time.monotonic()
        if self.link is not None and now >= self.renewed + RENEWAL_SECONDS:
            self.renewed = now
            try:
                self.link.settimeout(0.0)
                self.link.send(b'{"alive": true}\n')
            except OSError:  # busy putting back, or gone: both are noticed when reading
                pass

    def _start(self):
        ours, theirs = socket.socketpair()
        try:
            guardian.fork(theirs, self.registry, self.make_context)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self.link, self.seen, self.buffer, self.told_all = ours, 0, b"", False
        self.reactor.watch(ours.fileno(), self._readable)
        self.pid = (self._answer(lambda message: "pid" in message) or {}).get("pid")

    def _ask(self, entries):
        """The guardian's answer; None if it is gone."""
        self.asked += 1
        self.renewed = time.monotonic()
        message = {"list": entries, "born": sorted(self.undo.born), "number": self.asked, "silence": self.silence}
        message["seen"] = self.seen
        try:
            if self.link is not None:
                self.link.settimeout(ANSWER_SECONDS)
                self.link.sendall(json.dumps(message).encode("ascii") + b"\n")
        except socket.timeout:  # half a message was sent: it can only be left to put back what it holds
            self._let_go()
            raise OSError(errno.ETIMEDOUT, SILENT)
        except OSError:
            pass  # what it said before it went is still to be read
        return self._answer(lambda message: message.get("re") == self.asked)

    def _answer(self, wanted):
        """Reads until a message is `wanted`; None at the end of the link."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while self.link is not None:
            for message in self._messages(max(0.001, deadline - time.monotonic())):
                if wanted(message):
                    return message
            if time.monotonic() > deadline:
                raise OSError(errno.ETIMEDOUT, SILENT)
        return None

    def _messages(self, timeout):
        """What has come, after waiting so long for it; hands on what was put back. At the end the link is None."""
        try:
            self.link.settimeout(timeout)
            data = self.link.recv(PIECE)
        except (socket.timeout, BlockingIOError):
            return []
        except OSError:
            data = b""
        if not data:
            self._let_go()
            return []
        lines = (self.buffer + data).split(b"\n")
        self.buffer = lines.pop()
        messages = [json.loads(line.decode("ascii")) for line in lines]
        for message in messages:
            if "restored" in message:
                self.seen += 1
                self.told_all = self.told_all or message["all"]
                self.on_restored(message)
        return messages

    def _let_go(self):
        if self.link is not None:
            self.reactor.forget(self.link.fileno())
            self.link.close()
        self.link = self.pid = None

    def _readable(self):
        self._messages(0.0)
        if self.link is None:
            self._replace()

    def _replace(self):
        """Its end, while there is something to hold, was none of its own doing."""
        try:
            if self.link is None and self.undo.all():
                self.hold(self.undo.all())
        except OSError:
            self.reactor.after(AGAIN_SECONDS, self._replace)
