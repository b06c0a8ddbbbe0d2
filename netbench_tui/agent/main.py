"""The agent's life: hello, then requests until standard input ends; then everything that it started is ended.

One JSON object a line. Request {"id": n, "op": name, ...}; answer {"re": n, "ok": {...}} or {"re": n, "error": {"code":
errno name or "malformed", "text": ...}}. Events: {"ev": "hello"}, {"ev": "tick"}, {"ev": "out"}, {"ev": "exit"}.

    inspect   root?                         all facts of the host
    sample    hz                            ticks from now on, 1 to 10 Hz; 0 ends them
    ping                                    the host's monotonic clock
    port      address                       a free TCP port there
    listening port, patience, key           answers once somebody listens, or the process `key` is gone
    spawn     key, argv | stream, cpus?     starts a generator; `stream` is the built-in one (streams.py)
    stop      key                           ends it and its group
    patience  silence                       the agent ends itself after so long without any request

    settings  nics, machine?, one?, root?, without?    everything that can be changed there: settings/
    queues    nic, root?, without?          queues, NAPI, IRQs, RSS of a NIC: queues/queue_map.py
    interrupts root?                        all IRQs of the host: queues/irqs.py; CPU sets are text such as `0-3,8`
    watch     nic | null, statistics?       ticks carry that NIC's IRQs and queues from now on: queues/watching.py
    protect   machine                       why machine-wide settings must not be written; empty: they may
    apply, keep, restore, held, reports     changes as transactions: changes/transactions.py

What belongs to settings, queues and changes is imported when it is first asked for: a connection that only measures
does not pay for it.
"""

import errno
import os
import pwd
import signal
import sys
import time

from . import inspection, sockets, streams
from .processes import Processes, die_with_parent
from .reactor import Reactor
from .sampling import Sampler
from .wire import Wire

PROTOCOL = 1
FASTEST_HZ = 10
LISTEN_POLL_SECONDS = 0.005


class Refusal(Exception):
    """A request that asks for what does not exist, in words."""


class Agent(object):
    def __init__(self):
        self.reactor = Reactor()
        self.wire = Wire(self.reactor, self.request, self.end)
        self.processes = Processes(self.reactor, self.wire, lambda: self.tick("exit"))
        self.sampler = None
        self.timer = None
        self.period = 0.0
        self.sequence = 0
        self.skipped = 0
        self.heard = time.monotonic()
        self.silence_allowed = 0.0
        self.protect_machine = ""
        self._transactions = None
        self._watch_signals()

    def _watch_signals(self):
        self.wakeup, writer = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self.reactor.watch(self.wakeup, self._signalled)

    def _signalled(self):
        numbers = os.read(self.wakeup, 512)
        self.processes.reap()
        if any(number != signal.SIGCHLD for number in numbers):
            self.end()

    def hello(self):
        kernel = os.uname()
        message = {
            "ev": "hello",
            "protocol": PROTOCOL,
            "uid": os.geteuid(),
            "user": _user(),
            "python": "%d.%d.%d" % sys.version_info[:3],
            "kernel": kernel.release,
            "name": kernel.nodename,
            "boot_id": _boot_id(),
            "pid": os.getpid(),
            "t": time.monotonic(),
            "ssh": os.environ.get("SSH_CONNECTION", ""),
        }
        # A login shell may have printed half a line, such as a terminal's title, before us.
        self.wire.outgoing += b"\n"
        self.wire.send(message)

    def end(self):
        self.reactor.running = False

    def request(self, request):
        self.heard = time.monotonic()
        if self._transactions is not None:
            self._transactions.renew()
        number = request.get("id")
        try:
            operation = OPERATIONS.get(request.get("op"))
            if operation is None:
                raise Refusal("no such operation: %r" % (request.get("op"),))
            answer = operation(self, request)
        except OSError as error:
            code = errno.errorcode.get(error.errno, "EIO")
            about = " (%s)" % error.filename if error.filename else ""
            self.fail(number, code, (error.strerror or str(error)) + about)
        except Refusal as error:
            self.fail(number, "malformed", str(error))
        except Exception as error:  # whatever a request asks for, the agent lives on
            self.fail(number, "malformed", "%s: %s" % (type(error).__name__, error))
        else:
            if answer is not None:
                self.wire.send({"re": number, "ok": answer})
        # A driver may take longer over a change than the silence that is allowed: we did not listen meanwhile.
        self.heard = time.monotonic()

    def fail(self, number, code, text):
        self.wire.send({"re": number, "error": {"code": code, "text": text}})

    def tick(self, kind):
        """Sends what moved. While the link is slower than we are nothing is sent: the next tick carries it all."""
        if self.sampler is None:
            return
        if self.wire.crowded and kind == "period":
            self.skipped += 1
            return
        message = self.sampler.tick()
        self.sequence += 1
        message.update({"ev": "tick", "seq": self.sequence, "kind": kind})
        if self.skipped:
            message["skipped"], self.skipped = self.skipped, 0
        self.wire.send(message)

    def _beat(self, due):
        self.tick("period")
        # A beat that was missed is not made up for: the grid stays, in the host's own time.
        beats = max(1, int((time.monotonic() - due) / self.period) + 1)
        due += beats * self.period
        self.timer = self.reactor.at(due, lambda: self._beat(due))

    def inspect(self, request):
        return inspection.inspect(request.get("root", "/"))

    def sample(self, request):
        rate = float(request["hz"])
        if not (rate == 0 or 1 <= rate <= FASTEST_HZ):
            raise Refusal("hz is 1 to %d, or 0" % FASTEST_HZ)
        if self.timer:
            self.timer[2] = None
        if rate == 0:
            if self.sampler:
                self.sampler.close()
            self.sampler = self.timer = None
            return {}
        self.period = 1.0 / rate
        if self.sampler is None:
            self.sampler = Sampler()
            self.sampler.tick()
        due = time.monotonic() + self.period
        self.timer = self.reactor.at(due, lambda: self._beat(due))
        return {"t": self.sampler.time}

    def ping(self, _request):
        return {"t": time.monotonic()}

    def port(self, request):
        return {"port": sockets.free_port(request["address"])}

    def listening(self, request):
        port, key, number = int(request["port"]), request["key"], request.get("id")
        deadline = time.monotonic() + float(request["patience"])

        def look():
            if sockets.listening(port):
                self.wire.send({"re": number, "ok": {}})
            elif key not in self.processes.running:
                self.fail(number, "ESRCH", "the process that was to listen has ended")
            elif time.monotonic() > deadline:
                self.fail(number, "ETIMEDOUT", "nobody listens on port %d" % port)
            else:
                self.reactor.after(LISTEN_POLL_SECONDS, look)

        look()

    def spawn(self, request):
        key, cpus = request["key"], [int(cpu) for cpu in request.get("cpus", ())]
        argv, function = request.get("argv"), None
        if not isinstance(key, str):
            raise Refusal("key is a string")
        if "stream" in request:
            function = streams.prepare(dict(request["stream"]), die_with_parent)
        elif not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
            raise Refusal("argv is a list of words")
        self.tick("spawn")
        return self.processes.spawn(key, argv, cpus, function)

    def patience(self, request):
        """A link that is cut without a word leaves standard input open for a quarter of an hour."""
        seconds = float(request["silence"])
        if not 0 < seconds <= 3600:
            raise Refusal("silence is more than 0 and at most 3600 s")
        begun, self.silence_allowed = not self.silence_allowed, seconds
        if begun:
            self._listen_for_life()
        return {}

    def _listen_for_life(self):
        left = self.heard + self.silence_allowed - time.monotonic()
        if left <= 0:
            self.end()
        else:
            self.reactor.after(left, self._listen_for_life)

    def stop(self, request):
        return {"found": self.processes.stop(request["key"])}

    def context(self, request):
        from .settings.context import Context

        return Context(request.get("root", "/"), request.get("without", ()), self.protect_machine)

    def settings(self, request):
        """`one` is a list of [scope, key]: only those then."""
        from .settings import registry

        context = self.context(request)
        try:
            if "one" in request:
                found = [registry.read_one(context, scope, key) for scope, key in request["one"]]
                rows = [row for row in found if row is not None]
            else:
                scopes = list(request["nics"]) + ([registry.MACHINE] if request.get("machine", True) else [])
                rows = [row for scope in scopes for row in registry.read_scope(context, scope)]
        finally:
            context.close()
        return {"settings": rows, "paths": context.paths, "notes": context.notes}

    def queues(self, request):
        from .queues import queue_map

        context = self.context(request)
        try:
            found = queue_map.read(context, request["nic"])
        finally:
            context.close()
        found.update({"nic": request["nic"], "paths": context.paths, "notes": context.notes})
        return found

    def interrupts(self, request):
        from .queues import irqs

        return {"irqs": irqs.all_irqs(self.context(request).root)}

    def watch(self, request):
        """Nothing is watched before ticks were asked for."""
        if self.sampler is None:
            raise Refusal("ask for samples first")
        self.sampler.watch(request["nic"], bool(request.get("statistics")))
        return {}

    def protect(self, request):
        self.protect_machine = str(request["machine"])
        return {}

    def change(self, request):
        """`apply`, `keep`, `restore`, `held` and `reports`, by a method of that name each."""
        if self._transactions is None:
            from .changes.transactions import Transactions

            self._transactions = Transactions(self.reactor, self.wire, self.context)
        return getattr(self._transactions, request["op"])(request)


OPERATIONS = {
    "inspect": Agent.inspect,
    "sample": Agent.sample,
    "ping": Agent.ping,
    "port": Agent.port,
    "listening": Agent.listening,
    "spawn": Agent.spawn,
    "stop": Agent.stop,
    "patience": Agent.patience,
    "settings": Agent.settings,
    "queues": Agent.queues,
    "interrupts": Agent.interrupts,
    "watch": Agent.watch,
    "protect": Agent.protect,
    "apply": Agent.change,
    "keep": Agent.change,
    "restore": Agent.change,
    "held": Agent.change,
    "reports": Agent.change,
}


def _user():
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id") as handle:
            return handle.read().strip()
    except OSError:
        return ""


def main():
    agent = Agent()
    agent.hello()
    try:
        agent.reactor.run()
    finally:
        agent.processes.end_all()
    os._exit(0)
