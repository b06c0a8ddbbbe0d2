"""The built-in TCP generator: runs in a child that processes.py forks. Read by traffic/builtin.py.

One process per stream, so that streams use several CPUs; each counts into a page shared with its parent, which alone
keeps the clock and prints. JSON lines on standard output:

    {"streams": n, "mss": bytes}               all streams are connected: time 0
    {"interval": [start, end, bytes, resent]}  seconds since time 0; all streams summed; resent is null at the receiver
    {"end": [seconds, bytes, resent]}          when the first stream had ended; the bytes of all streams to their ends
    {"error": text}                            the run is void
"""

import errno
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

INTERVAL_SECONDS = 0.1
# How long the receiver waits for its streams, and how long a stream may be quiet.
PATIENCE_SECONDS = 10.0
# Whoever connects must say this first: a port scanner is no stream.
GREETING = b"netbench-stream\n"
# It comes with the connection; a stranger who says nothing must not hold the others up.
GREETING_SECONDS = 1.0
STRANGERS = 16
# A reader that takes less than this per call would be the bottleneck itself, whatever the sender's message size.
READ_BYTES = 128 << 10
# struct tcp_info of linux/tcp.h: snd_mss, and total_retrans.
TCP_INFO_SIZE, MSS_OFFSET, RESENT_OFFSET = 104, 16, 100
# Slots of one stream in the shared page: bytes, retransmits, state.
SLOTS = 3
RUNNING, ENDED, BROKEN = 0, 1, 2


def prepare(arguments, die_with_parent):
    """Checks the arguments of the request; answers the function to run in the child. ValueError if they are off."""
    role = arguments["role"]
    if role not in ("receive", "send"):
        raise ValueError("role is receive or send")
    streams, port = int(arguments["streams"]), int(arguments["port"])
    if not 1 <= streams <= 512:
        raise ValueError("streams is 1 to 512")
    address = arguments["address"]
    if role == "receive":
        return lambda: _guarded(lambda: _Parent(die_with_parent).receive(address, port, streams))
    message, seconds = int(arguments["message"]), float(arguments["seconds"])
    source = arguments.get("source", "")
    if not 1 <= message <= 1 << 20 or not 0 < seconds <= 86400:
        raise ValueError("message or seconds out of range")
    return lambda: _guarded(lambda: _Parent(die_with_parent).send(address, port, source, streams, message, seconds))


def _say(message):
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _guarded(run):
    sys.stdout = os.fdopen(1, "w", closefd=False)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a peer that is gone is an error with words
    try:
        run()
    except OSError as error:
        _say({"error": error.strerror or str(error)})
        os._exit(1)


def _resolve(address, port):
    return socket.getaddrinfo(address, port, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)[0]


def _tcp_info(handle, offset):
    try:
        info = handle.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_SIZE)
        return struct.unpack_from("=I", info, offset)[0]
    except (OSError, struct.error):
        return 0


class _Parent(object):
    """Connects, forks one worker a stream, and reports what the shared page says, every 0.1 s."""

    def __init__(self, die_with_parent):
        self.die_with_parent = die_with_parent
        self.counters = None
        self.workers = {}

    def receive(self, address, port, streams):
        family, kind, protocol, _, where = _resolve(address, port)
        with socket.socket(family, kind, protocol) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(where)
            server.listen(streams + STRANGERS)
            handles = _accept(server, streams)
        self._run(handles, self._read, False)

    def send(self, address, port, source, streams, message, seconds):
        family, kind, protocol, _, where = _resolve(address, port)
        handles = []
        for _ in range(streams):
            handle = socket.socket(family, kind, protocol)
            handle.settimeout(PATIENCE_SECONDS)
            if source:
                handle.bind(_resolve(source, 0)[4])
            handle.connect(where)
            handle.sendall(GREETING)
            handles.append(handle)
        deadline = time.monotonic() + seconds
        self._run(handles, lambda handle, slot: self._write(handle, slot, message, deadline), True)

    def _run(self, handles, work, resends):
        started = time.monotonic()
        self.counters = memoryview(mmap.mmap(-1, 8 * SLOTS * len(handles))).cast("Q")
        _say({"streams": len(handles), "mss": _tcp_info(handles[0], MSS_OFFSET)})
        for slot, handle in enumerate(handles):
            pid = os.fork()
            if pid == 0:
                self._work(handle, slot, work)
            self.workers[pid] = slot
        for handle in handles:
            handle.close()
        self._report(started, resends)

    def _work(self, handle, slot, work):
        self.die_with_parent()
        state = BROKEN
        try:
            handle.settimeout(None)
            work(handle, slot)
            state = ENDED
        except OSError as error:
            os.write(2, ("stream %d: %s\n" % (slot + 1, error.strerror or error)).encode("utf-8", "replace"))
        finally:
            self.counters[SLOTS * slot + 2] = state
            os._exit(0 if state == ENDED else 1)

    def _read(self, handle, slot):
        buffer, counters, position, total = bytearray(READ_BYTES), self.counters, SLOTS * slot, 0
        receive = handle.recv_into
        # A sender whose host vanished says nothing more, not even goodbye.
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(PATIENCE_SECONDS), 0))
        while True:
            try:
                count = receive(buffer)
            except BlockingIOError:
                raise OSError(errno.ETIMEDOUT, "nothing came for %d s" % PATIENCE_SECONDS)
            if not count:
                return
            total += count
            counters[position] = total

    def _write(self, handle, slot, message, deadline):
        data, counters, position, total = memoryview(bytes(message)), self.counters, SLOTS * slot, 0
        send, now, update = handle.send, time.monotonic, 0.0
        # A peer that stops reading must not hold the stream for ever.
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 0))
        while True:
            moment = now()
            if moment >= deadline:
                break
            if moment >= update:
                counters[position + 1] = _tcp_info(handle, RESENT_OFFSET)
                update = moment + INTERVAL_SECONDS / 2
            try:
                total += send(data)
            except BlockingIOError:
                continue
            counters[position] = total
        counters[position + 1] = _tcp_info(handle, RESENT_OFFSET)
        handle.shutdown(socket.SHUT_WR)
        # The peer closes when it has read everything; that close is the end of the stream.
        if not select.select([handle], [], [], PATIENCE_SECONDS)[0]:
            raise OSError(errno.ETIMEDOUT, "the receiver did not read to the end")
        handle.recv(1)

    def _report(self, started, resends):
        """Prints an interval every 0.1 s until the first stream has ended."""
        before, bytes_before, resent_before, number = 0.0, 0, 0, 0
        while True:
            number += 1
            time.sleep(max(0.0, started + number * INTERVAL_SECONDS - time.monotonic()))
            now = time.monotonic() - started
            self._collect(os.WNOHANG)
            if any(self._slots(2)):
                break
            total, resent = sum(self._slots(0)), sum(self._slots(1))
            moved = [round(before, 6), round(now, 6), total - bytes_before, resent - resent_before if resends else None]
            _say({"interval": moved})
            before, bytes_before, resent_before = now, total, resent
        self._finish(now, resends)

    def _finish(self, now, resends):
        """Waits for all streams, or ends them if one broke: its run is void."""
        while self.workers and BROKEN not in self._slots(2):
            self._collect(0)
        broken = self._slots(2).count(BROKEN)
        if broken:
            for pid in self.workers:
                os.kill(pid, signal.SIGKILL)
            _say({"error": "%d of %d streams broke" % (broken, len(self._slots(2)))})
            os._exit(1)
        _say({"end": [round(now, 6), sum(self._slots(0)), sum(self._slots(1)) if resends else None]})

    def _slots(self, which):
        """That slot of every stream."""
        return self.counters.tolist()[which::SLOTS]

    def _collect(self, options):
        """Reaps workers that ended, at least one unless `options` says WNOHANG; one that was killed is broken."""
        while self.workers:
            pid, status = os.waitpid(-1, options)
            if not pid:
                return
            slot = self.workers.pop(pid)
            if status and self.counters[SLOTS * slot + 2] == RUNNING:
                self.counters[SLOTS * slot + 2] = BROKEN
            options = os.WNOHANG


def _accept(server, streams):
    """`streams` connections that said the greeting; OSError (ETIMEDOUT) if they do not come."""
    handles, deadline = [], time.monotonic() + PATIENCE_SECONDS
    while len(handles) < streams:
        left = deadline - time.monotonic()
        if left <= 0:
            raise OSError(
                errno.ETIMEDOUT, "%d of %d streams connected within %d s" % (len(handles), streams, PATIENCE_SECONDS)
            )
        server.settimeout(left)
        try:
            handle, _ = server.accept()
        except socket.timeout:
            continue
        handle.settimeout(GREETING_SECONDS)
        try:
            greeting = handle.recv(len(GREETING), socket.MSG_WAITALL)
        except OSError:
            greeting = b""
        if greeting == GREETING:
            handles.append(handle)
        else:
            handle.close()
    return handles
