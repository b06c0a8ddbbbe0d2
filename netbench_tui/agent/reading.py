"""Reading procfs and sysfs below a root folder, where every file may be absent, empty or refused. Used by all readers.

Each function answers None (or an empty value) for what cannot be read: a host that hides one file still shows the rest.
"""

import os


class Root(object):
    """A file tree to read from: "/" on a live host, a captured tree elsewhere."""

    def __init__(self, path="/"):
        self.path = path

    def join(self, *parts):
        return os.path.join(self.path, *parts)

    def text(self, *parts):
        """The file's text, stripped of blanks and NULs; None if it cannot be read."""
        try:
            with open(self.join(*parts), "rb") as handle:
                return handle.read().decode("utf-8", "replace").strip(" \t\r\n\0")
        except OSError:
            return None

    def number(self, *parts):
        """The file's content as an integer; None if there is none."""
        try:
            return int(self.text(*parts) or "")
        except ValueError:
            return None

    def names(self, *parts):
        """The folder's entries, sorted; empty if it cannot be listed."""
        try:
            return sorted(os.listdir(self.join(*parts)))
        except OSError:
            return []

    def exists(self, *parts):
        return os.path.exists(self.join(*parts))

    def target(self, *parts):
        """The real path behind a link, below the root; None if the link is absent."""
        path = self.join(*parts)
        return os.path.realpath(path) if os.path.lexists(path) else None


def parse_list(text):
    """A kernel list such as `0-3,8` as integers, in order; what is not a number is skipped."""
    numbers = []
    for part in (text or "").replace("\0", "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def parse_mask(text):
    """The set bits of a kernel mask such as `ff,00000001`, in order; empty for what is no mask."""
    try:
        mask = int((text or "").replace(",", "") or "0", 16)
    except ValueError:
        return []
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def numbered(names, prefix):
    """The numbers N of names `prefixN`, sorted by number."""
    rests = [name[len(prefix) :] for name in names if name.startswith(prefix)]
    return sorted(int(rest) for rest in rests if rest.isdecimal())
