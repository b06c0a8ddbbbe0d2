"""JSON lines over standard input and output, both non-blocking. Used by main.py.

The outgoing buffer is bounded by its users: ticks are left out while it is `crowded` (their counts go into the next
one), and generators' output is not read on while it is `full`.
"""

import errno
import json
import os
import select

# A healthy link drains in a tick; this much waiting means that it is slower than the ticks come.
CROWDED_BYTES = 256 << 10
FULL_BYTES = 1 << 20
# No request of ours comes near; a longer line is not ours.
LONGEST_LINE = 1 << 20


class Wire(object):
    """`on_request(dict)` for each line, `on_end()` once when the workbench is gone."""

    def __init__(self, reactor, on_request, on_end):
        self.reactor, self.on_request, self.on_end = reactor, on_request, on_end
        self.incoming, self.outgoing = bytearray(), bytearray()
        self.too_long = False
        self.ended = False
        os.set_blocking(0, False)
        os.set_blocking(1, False)
        reactor.watch(0, self._readable)

    @property
    def crowded(self):
        return len(self.outgoing) > CROWDED_BYTES

    @property
    def full(self):
        return len(self.outgoing) > FULL_BYTES

    def send(self, message):
        self.outgoing += json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        self._flush()

    def _flush(self):
        try:
            while self.outgoing and not self.ended:
                del self.outgoing[: os.write(1, self.outgoing)]
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self._end()
                return
        if self.outgoing and not self.ended:
            self.reactor.watch(1, self._flush, select.POLLOUT)
        else:
            self.reactor.forget(1)

    def _readable(self):
        try:
            data = os.read(0, 1 << 16)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
                return
            data = b""
        if not data:
            self._end()
            return
        self.incoming += data
        if b"\n" in data:
            lines = bytes(self.incoming).split(b"\n")
            self.incoming = bytearray(lines.pop())
            for line in lines:
                self._line(line)
        if len(self.incoming) > LONGEST_LINE:
            self.incoming.clear()
            self.too_long = True

    def _line(self, line):
        if self.too_long:  # the last piece of a line whose start is gone
            self.too_long = False
            self._refuse("a request longer than %d bytes" % LONGEST_LINE)
            return
        try:
            request = json.loads(line.decode("utf-8"))
            if not isinstance(request, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            self._refuse("not a JSON object: %s" % error)
            return
        self.on_request(request)

    def _refuse(self, text):
        self.send({"re": None, "error": {"code": "malformed", "text": text}})

    def _end(self):
        if not self.ended:
            self.ended = True
            self.reactor.forget(0)
            self.reactor.forget(1)
            self.on_end()
