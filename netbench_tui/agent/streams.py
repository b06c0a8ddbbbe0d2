"""The built-in TCP generator: runs in a child that processes.py forks. Read by traffic/builtin.py.

One process per stream, so that streams use several CPUs; each counts into a page shared with its parent, which alone
keeps the clock and prints. JSON lines on standard output:

    {"streams": n, "mss": bytes}               all streams are connected: time 0
    {"interval": [start, end, bytes, resent]}  seconds since time 0; all streams summed; resent is null at the receiver
    {"end": [seconds, bytes, resent]}          the first stream's end; nothing is counted after it
    {"error": text}                            the run is void
"""

import json
import mmap
import os
import select
import socket
import struct
import sys
import time

INTERVAL_SECONDS = 0.1
# How long the receiver waits for its streams, and how long an idle stream may be quiet.
PATIENCE_SECONDS = 10.0
# Whoever connects must say this first: a port scanner is no stream.
GREETING = b"netbench-stream\n"
# A reader that takes less than this per call would be the bottleneck itself, whatever the sender's message size.
READ_BYTES = 128 << 10
# struct tcp_info of linux/tcp.h: snd_mss, and total_retrans.
TCP_INFO_SIZE, MSS_OFFSET, RESENT_OFFSET = 104, 16, 100
# Slots of one stream in the shared page: bytes, retransmits, state (0 running, 1 ended, 2 broken).
SLOTS = 3


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
        self.page = None
        self.counters = None

    def receive(self, address, port, streams):
        family, kind, protocol, _, where = _resolve(address, port)
        with socket.socket(family, kind, protocol) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(where)
            server.listen(streams)
            server.settimeout(PATIENCE_SECONDS)
            handles = _accept(server, streams)
        self._run(handles, self._read, None)

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
        self._run(handles, lambda handle, slot: self._write(handle, slot, message, deadline), RESENT_OFFSET)

    def _run(self, handles, work, resent):
        started = time.monotonic()
        self.page = mmap.mmap(-1, 8 * SLOTS * len(handles))
        self.counters = memoryview(self.page).cast("Q")
        _say({"streams": len(handles), "mss": _tcp_info(handles[0], MSS_OFFSET)})
        for slot, handle in enumerate(handles):
            if os.fork() == 0:
                self._work(handle, slot, work)
        for handle in handles:
            handle.close()
        self._report(started, len(handles), resent is not None)

    def _work(self, handle, slot, work):
        self.die_with_parent()
        state = 2
        try:
            handle.settimeout(None)
            work(handle, slot)
            state = 1
        except OSError as error:
            os.write(2, ("stream %d: %s\n" % (slot + 1, error.strerror or error)).encode("utf-8", "replace"))
        finally:
            self.counters[SLOTS * slot + 2] = state
            os._exit(0 if state == 1 else 1)

    def _read(self, handle, slot):
        buffer, counters, position, total = bytearray(READ_BYTES), self.counters, SLOTS * slot, 0
        receive = handle.recv_into
        while True:
            count = receive(buffer)
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
        select.select([handle], [], [], PATIENCE_SECONDS)

    def _report(self, started, streams, resends):
        """Prints an interval every 0.1 s until the first stream has ended."""
        before, bytes_before, resent_before, number = 0.0, 0, 0, 0
        while True:
            number += 1
            time.sleep(max(0.0, started + number * INTERVAL_SECONDS - time.monotonic()))
            now = time.monotonic() - started
            slots = self.counters.tolist()
            total, resent, states = sum(slots[0::SLOTS]), sum(slots[1::SLOTS]), slots[2::SLOTS]
            if any(states):
                break
            moved = [before, now, total - bytes_before, resent - resent_before if resends else None]
            _say({"interval": [round(v, 6) if isinstance(v, float) else v for v in moved]})
            before, bytes_before, resent_before = now, total, resent
        while _wait_child():
            pass
        states = self.counters.tolist()[2::SLOTS]
        if any(state != 1 for state in states):
            broken = sum(state != 1 for state in states)
            _say({"error": "%d of %d streams broke" % (broken, streams)})
            os._exit(1)
        slots = self.counters.tolist()
        _say({"end": [round(now, 6), sum(slots[0::SLOTS]), sum(slots[1::SLOTS]) if resends else None]})


def _wait_child():
    try:
        os.wait()
        return True
    except ChildProcessError:
        return False


def _accept(server, streams):
    """`streams` connections that said the greeting; OSError (ETIMEDOUT) if they do not come."""
    handles, deadline = [], time.monotonic() + PATIENCE_SECONDS
    while len(handles) < streams:
        if time.monotonic() > deadline:
            raise OSError(110, "%d of %d streams connected within %d s" % (len(handles), streams, PATIENCE_SECONDS))
        try:
            handle, _ = server.accept()
        except socket.timeout:
            continue
        handle.settimeout(1.0)
        try:
            greeting = handle.recv(len(GREETING), socket.MSG_WAITALL)
        except OSError:
            greeting = b""
        if greeting == GREETING:
            handles.append(handle)
        else:
            handle.close()
    return handles
