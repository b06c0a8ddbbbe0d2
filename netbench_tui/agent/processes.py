"""Starts, pins, streams and ends traffic generators. Used by main.py.

Each runs in a session of its own, so that its whole group can be signalled, and dies with the agent (PR_SET_PDEATHSIG)
even if the agent is killed. A program that cannot be started is an OSError with the kernel's own errno.
"""

import codecs
import errno
import os
import signal
import struct
import time

try:
    import ctypes

    LIBC = ctypes.CDLL(None)
except (ImportError, OSError):  # a minimal Python: then only the agent's orderly end stops its children
    LIBC = None  # type: ignore[assignment]
PR_SET_PDEATHSIG = 1
# What a child writes that could not become its program: errno, and whether it was the pinning.
FAILURE = struct.Struct("ii")
# Between asking a generator to end and making it end: iperf3 needs a moment to say goodbye to its peer.
GRACE_SECONDS = 0.3
# A full wire takes up output again after this long.
FULL_SECONDS = 0.05
PIPE_SIZE = 1 << 16


def die_with_parent():
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Process(object):
    """One started generator. `key` is the workbench's name for it."""

    def __init__(self, key, pid, pipes):
        self.key, self.pid = key, pid
        self.open = {descriptor: number for number, descriptor in pipes}
        self.decoders = {d: codecs.getincrementaldecoder("utf-8")("replace") for d in self.open}
        self.ended = None

    def signal(self, number):
        """Signals the whole group; the group outlives its leader while other members live."""
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass


class Processes(object):
    """All generators of this agent. `send(message)` reports output and ends; `on_exit()` is called at each end."""

    def __init__(self, reactor, wire, on_exit):
        self.reactor, self.wire, self.on_exit = reactor, wire, on_exit
        self.running = {}

    def spawn(self, key, argv=None, cpus=(), function=None):
        """Starts argv, or `function()` in a forked child. Answers {pid, t, cpus}; raises OSError or ValueError."""
        if key in self.running:
            raise ValueError("key %r is in use" % key)
        read, write = _pipes(3)
        started = time.monotonic()
        try:
            pid = os.fork()
        except OSError:
            _close_all(read + write)
            raise
        if pid == 0:
            _become(argv, cpus, function, *write)
        _close_all(write)
        failure = os.read(read[2], FAILURE.size)
        os.close(read.pop())
        if failure:
            _close_all(read)
            os.waitpid(pid, 0)
            code, at_pinning = FAILURE.unpack(failure)
            about = ",".join(map(str, cpus)) if at_pinning else argv[0] if argv else ""
            raise OSError(code, os.strerror(code), about)
        process = self.running[key] = Process(key, pid, ((1, read[0]), (2, read[1])))
        for descriptor in read:
            os.set_blocking(descriptor, False)
            self._watch(process, descriptor)
        return {"pid": pid, "t": started, "cpus": _affinity(pid)}

    def _watch(self, process, descriptor):
        if descriptor in process.open:
            self.reactor.watch(descriptor, lambda: self._readable(process, descriptor))

    def _readable(self, process, descriptor):
        if self.wire.full:
            self.reactor.forget(descriptor)
            self.reactor.after(FULL_SECONDS, lambda: self._watch(process, descriptor))
            return
        try:
            data = os.read(descriptor, PIPE_SIZE)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return
            data = b""
        text = process.decoders[descriptor].decode(data, final=not data)
        if text:
            number = process.open[descriptor]
            self.wire.send({"ev": "out", "key": process.key, "fd": number, "t": time.monotonic(), "text": text})
        if not data:
            self._close(process, descriptor)
            self._finish(process)

    def _close(self, process, descriptor):
        self.reactor.forget(descriptor)
        del process.open[descriptor]
        os.close(descriptor)

    def reap(self):
        """Collects ended children; their `exit` is reported once their output is at its end as well."""
        for process in list(self.running.values()):
            if process.ended is None:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    process.ended = (time.monotonic(), status, usage)
                    # A grandchild may hold the pipe open: its leader's end is the end of the group.
                    process.signal(signal.SIGKILL)
                    self._finish(process)
                    self.reactor.after(GRACE_SECONDS, lambda process=process: self._cut(process))

    def _cut(self, process):
        """Closes the pipes of an ended process that somebody outside its group still holds."""
        if process.open and self.wire.full:
            self.reactor.after(GRACE_SECONDS, lambda: self._cut(process))
            return
        for descriptor in list(process.open):
            self._readable(process, descriptor)
        for descriptor in list(process.open):
            self._close(process, descriptor)
        self._finish(process)

    def _finish(self, process):
        if process.ended is None or process.open or self.running.get(process.key) is not process:
            return
        del self.running[process.key]
        self.on_exit()
        when, status, usage = process.ended
        exited = os.WIFEXITED(status)
        self.wire.send(
            {
                "ev": "exit",
                "key": process.key,
                "t": when,
                "code": os.WEXITSTATUS(status) if exited else None,
                "signal": None if exited else os.WTERMSIG(status),
                "user": usage.ru_utime,
                "system": usage.ru_stime,
            }
        )

    def stop(self, key):
        """Ends one generator and its group; its exit is reported as always. False if there is none."""
        process = self.running.get(key)
        if process is None:
            return False
        process.signal(signal.SIGCONT)
        process.signal(signal.SIGTERM)
        self.reactor.after(GRACE_SECONDS, lambda: self._kill(process))
        return True

    def _kill(self, process):
        if process.ended is None:
            process.signal(signal.SIGKILL)

    def end_all(self):
        """Ends everything within about half a second; for the agent's own end."""
        for process in self.running.values():
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while self._alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        for process in self.running.values():
            process.signal(signal.SIGKILL)

    def _alive(self):
        alive = False
        for process in self.running.values():
            if process.ended is None and not os.waitpid(process.pid, os.WNOHANG)[0]:
                alive = True
            else:
                process.ended = process.ended or (0.0, 0, None)
        return alive


def _pipes(count):
    """`count` new pipes as (reading ends, writing ends); all or, with an OSError, none."""
    read, write = [], []
    try:
        for _ in range(count):
            reader, writer = os.pipe()
            read.append(reader)
            write.append(writer)
    except OSError:
        _close_all(read + write)
        raise
    return read, write


def _close_all(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


def _affinity(pid):
    try:
        return sorted(os.sched_getaffinity(pid))
    except OSError:  # it has ended already
        return []


def _become(argv, cpus, function, out, err, fail):
    """In the forked child: never returns. What goes wrong before the program runs is written to `fail`."""
    at_pinning = False
    try:
        os.setsid()
        die_with_parent()
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        at_pinning = True
        if cpus:
            os.sched_setaffinity(0, cpus)
        at_pinning = False
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        if function is None:
            os.execvp(argv[0], argv)
    except BaseException as error:  # a word with a NUL, a CPU below zero: no OSError, yet nothing was started
        os.write(fail, FAILURE.pack(getattr(error, "errno", None) or errno.EINVAL, at_pinning))
        os._exit(127)
    _run(function)


def _run(function):
    """In the forked child: runs `function` with the three standard descriptors alone. Never returns."""
    try:
        os.closerange(3, 4096)
        function()
        os._exit(0)
    except BaseException as error:
        os.write(2, ("%s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
    finally:
        os._exit(127)
