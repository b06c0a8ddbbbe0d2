"""What every kind of setting needs to read and write: the file tree, the kernel's sockets, and what is out of bounds.

Used by all modules of this folder, by queues/ and by changes/.
"""

import errno
import os

from ..reading import Root

MACHINE = "machine"
# Names for `without`, so that each fall-back can be tried on a kernel that would not need it.
NETLINK, NETDEV, IOCTL = "netlink", "netdev", "ioctl"


class Refused(Exception):
    """What we ourselves refuse to write, with an errno name and in words that a person understands."""

    def __init__(self, text, code="EINVAL"):
        super(Refused, self).__init__(text)
        self.text, self.code = text, code


class Context(object):
    """One pass over the host. `path` is "/" or a captured tree (then no kernel interface but files is tried).

    `without` names kernel interfaces to leave aside; `protect` says why machine-wide settings must not be written
    (empty: they may). `paths` collects which interface gave what, `notes` what could not be read."""

    def __init__(self, path="/", without=(), protect=""):
        self.root = Root(path)
        self.live = path == "/"
        self.without = frozenset(without)
        self.protect = protect
        self.paths, self.notes = {}, []
        self.memory = {}

    def may(self, interface):
        """Whether this kernel interface may be tried."""
        return self.live and interface not in self.without

    def once(self, key, make):
        """What `make()` gave the first time in this pass, e.g. a socket or a reading that several settings share. An
        OSError is remembered and raised again: what a kernel lacks is asked for once."""
        if key not in self.memory:
            try:
                self.memory[key] = make()
            except OSError as error:
                self.memory[key] = error
        found = self.memory[key]
        if isinstance(found, OSError):
            raise found
        return found

    def forget(self):
        """Drops what readings were kept, since something was written. Whatever has `keep` set stays: sockets."""
        self.memory = {key: value for key, value in self.memory.items() if getattr(value, "keep", False)}

    def close(self):
        for value in self.memory.values():
            if getattr(value, "keep", False):
                value.close()
        self.memory = {}

    def row(self, scope, key, value, via, **more):
        """One setting, as model/setting.py has it; `more` are its further fields, those that are None left out."""
        found = {"scope": scope, "key": key, "value": value, "via": via}
        found.update((name, item) for name, item in more.items() if item is not None)
        return found

    def refusal(self, path=None, machine=False):
        """Why a file cannot be written here, or for what no file stands for; None if it can."""
        if not self.live:
            return "a captured tree"
        if machine and self.protect:
            return self.protect
        if path is None:
            return None if os.geteuid() == 0 else "needs root"
        if os.access(self.root.join(path), os.W_OK):
            return None
        return "needs root" if os.geteuid() else "read-only"

    def write_file(self, path, text):
        """Writes to a file of /proc or /sys; raises OSError with the kernel's own errno. An unbuffered write: a
        buffered one may swallow the error until it is too late."""
        if not self.live:
            raise Refused("a captured tree cannot be changed", "EROFS")
        handle = os.open(self.root.join(path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            data = (text + "\n").encode()
            if os.write(handle, data) != len(data):
                raise OSError(errno.EIO, "written in part", path)
        finally:
            os.close(handle)
