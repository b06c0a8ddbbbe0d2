"""Whether irqbalance runs: `service.irqbalance` is `running` or `stopped`; no such setting where it is not installed.

Under systemd its unit is stopped and started. Otherwise the process is asked to end, and started again with the words
that it was started with; those are kept in a file of root's until then, since the one who puts it back may be another
process than the one who stopped it.
"""

import errno
import json
import os
import shutil
import signal
import subprocess
import time

from . import irqbalance_daemon
from .context import MACHINE, Refused

SCOPE, PREFIXES, RANK, RESETS = "machine", ("service.",), 55, False
KEY = "service.irqbalance"
UNIT = "irqbalance.service"
UNIT_FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
PROGRAM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
KEPT_WORDS = "/run/netbench-tui.irqbalance.json"
# It may be in the middle of a round of balancing when it is asked to end, and systemctl waits for it: seconds.
PATIENCE, POLL = 12.0, 0.02
SOCKET_PATIENCE = 1.0
RUNNING, STOPPED = "running", "stopped"


def read(context, scope):
    row = read_one(context, scope, KEY)
    return [] if row is None else [row]


def read_one(context, _scope, key):
    if key != KEY:
        raise Refused("%s: no such service" % key, "ENOENT")
    pid = irqbalance_daemon.running(context.root)
    if pid is None and not _installed(context):
        return None
    return context.row(
        MACHINE,
        KEY,
        STOPPED if pid is None else RUNNING,
        "procfs",
        lives="machine",
        choices=[RUNNING, STOPPED],
        refusal=context.refusal(machine=True),
    )


def write(context, _scope, key, value):
    if key != KEY or value not in (RUNNING, STOPPED):
        raise Refused("%s: running or stopped" % value)
    if context.protect:
        raise Refused(context.protect, "EPERM")
    pid = irqbalance_daemon.running(context.root)
    if value == STOPPED and pid is not None:
        _stop(context, pid)
    elif value == RUNNING and pid is None:
        _start(context)


def _installed(context):
    return _has_unit(context.root) or (context.live and shutil.which("irqbalance", path=PROGRAM_PATH) is not None)


def _has_unit(root):
    return any(root.exists(folder, UNIT) for folder in UNIT_FOLDERS)


def _stop(context, pid):
    if UNIT in (context.root.text("proc", str(pid), "cgroup") or ""):
        _systemctl("stop")
    else:
        _keep(_started_with(context, pid))
        os.kill(pid, signal.SIGTERM)
    _wait(context, lambda found: found != pid, "irqbalance does not end")


def _started_with(context, pid):
    """[program, its words]: the program may have been called by another name."""
    words = (context.root.raw("proc", str(pid), "cmdline") or b"").split(b"\0")[:-1]
    return [os.readlink("/proc/%d/exe" % pid)] + [os.fsdecode(word) for word in words]


def _start(context):
    kept = _kept()
    if kept is None and os.path.isdir("/run/systemd/system") and _has_unit(context.root):
        _systemctl("start")
    else:
        program = kept[0] if kept else shutil.which("irqbalance", path=PROGRAM_PATH)
        if program is None:
            raise OSError(errno.ENOENT, "irqbalance is not installed")
        _launch(program, kept[1:] if kept else [program])
    _wait(context, lambda found: found is not None, "irqbalance does not start, or found nothing to do and ended")
    _wait_for_socket(context)
    if kept is not None:
        os.unlink(KEPT_WORDS)


def _wait(context, reached, complaint):
    deadline = time.monotonic() + PATIENCE
    while not reached(irqbalance_daemon.running(context.root)):
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, complaint)
        time.sleep(POLL)


def _wait_for_socket(context):
    """It opens its socket after a moment, if it is new enough to have one: a ban list may be put back next."""
    deadline = time.monotonic() + SOCKET_PATIENCE
    while time.monotonic() < deadline:
        try:
            return irqbalance_daemon.banned(irqbalance_daemon.running(context.root) or 0)
        except OSError:
            time.sleep(POLL)
    return None


def _systemctl(verb):
    """Raises OSError with what systemctl said."""
    argv = ["systemctl", "--no-ask-password", verb, UNIT]
    try:
        said = subprocess.run(
            argv,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise OSError(errno.ETIMEDOUT, "systemctl %s %s takes too long" % (verb, UNIT))
    if said.returncode:
        raise OSError(errno.EIO, said.stdout.decode("utf-8", "replace").strip() or "systemctl %s failed" % verb)


def _keep(words):
    """In a folder that only root writes to, anew, so that nobody can have put a link there."""
    if os.path.lexists(KEPT_WORDS):
        os.unlink(KEPT_WORDS)
    handle = os.open(KEPT_WORDS, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(words, file)


def _kept():
    """What `_started_with` said of the one that we stopped; None where there is none."""
    try:
        with open(KEPT_WORDS) as file:
            words = json.load(file)
    except (OSError, ValueError):
        return None
    return (
        words if isinstance(words, list) and len(words) > 1 and all(isinstance(word, str) for word in words) else None
    )


def _launch(program, words):
    """Starts a daemon that is nobody's child: neither our end nor the reaping of our children shall touch it."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        _leave_files()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execv(program, words)
    finally:
        os._exit(127)


def _leave_files():
    """Nothing of ours stays open in the daemon: the workbench waits for the end of our output."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError as error:
                if error.errno != errno.EBADF:
                    raise
