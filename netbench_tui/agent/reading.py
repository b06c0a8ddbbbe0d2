"""Reading procfs and sysfs below a root folder, where every file may be absent, empty or refused. Used by all readers.

Each function answers None (or an empty value) for what cannot be read: a host that hides one file still shows the rest.
A captured tree is read as if its root were the host's: an absolute link inside it leads to a place inside it, never to
the machine that reads.
"""

import errno
import os

# As many links as the kernel follows before it says ELOOP.
LONGEST_CHAIN = 40
READ_SIZE = 1 << 16
# No kernel numbers more CPUs; a damaged file must not make a list of millions.
LONGEST_LIST = 1 << 16


class Root(object):
    """A file tree to read from: "/" on a live host, a captured tree elsewhere."""

    def __init__(self, path="/"):
        self.path = path
        self.live = path == "/"
        self._top = os.path.realpath(path)
        self._folders = {"": self._top}

    def join(self, *parts):
        """The path to open. In a captured tree all links are followed here."""
        if self.live:
            return os.path.join(self.path, *parts)
        return self._resolve("/".join(parts).strip("/"), LONGEST_CHAIN)

    def _resolve(self, inner, chain):
        """A real path for one that is relative to the top; folders are remembered, since trees have many files each."""
        folder, name = os.path.split(inner)
        if name in ("", "."):
            return self._folder(folder, chain) if folder else self._top
        if name == "..":
            above = os.path.dirname(self._folder(folder, chain))
            return above if self.inside(above) else self._top
        path = os.path.join(self._folder(folder, chain), name)
        try:
            target = os.readlink(path)
        except OSError:
            return path
        if not chain:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if os.path.isabs(target):
            return self._resolve(target.lstrip("/"), chain - 1)
        return self._resolve(os.path.join(os.path.relpath(os.path.dirname(path), self._top), target), chain - 1)

    def _folder(self, inner, chain):
        found = self._folders.get(inner)
        if found is None:
            found = self._folders[inner] = self._resolve(inner, chain)
        return found

    def inside(self, path):
        """Whether a real path lies below this root's top, or is it."""
        return self.live or path == self._top or path.startswith(self._top + "/")

    def raw(self, *parts):
        """The file's bytes as they are; None if it cannot be read. A look at a host is thousands of these."""
        try:
            handle = os.open(self.join(*parts), os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            pieces = [os.read(handle, READ_SIZE)]
            while pieces[-1]:
                pieces.append(os.read(handle, READ_SIZE))
            return b"".join(pieces)
        except OSError:
            return None
        finally:
            os.close(handle)

    def text(self, *parts):
        """The file's text, stripped of blanks and NULs; None if it cannot be read."""
        data = self.raw(*parts)
        return None if data is None else data.decode("utf-8", "replace").strip(" \t\r\n\0")

    def names_text(self, *parts):
        """As `text`, for files that hold names of devices: spelt as the file system spells them."""
        data = self.raw(*parts)
        return None if data is None else os.fsdecode(data.strip(b" \t\r\n\0"))

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
        try:
            return os.path.exists(self.join(*parts))
        except OSError:
            return False

    def is_folder(self, *parts):
        try:
            return os.path.isdir(self.join(*parts))
        except OSError:
            return False

    def target(self, *parts):
        """The real path behind a link, below the root and without the root's own path in front; it need not exist.
        None if the link is absent."""
        folder, name = os.path.split(os.path.join(*parts))
        try:
            if not os.path.lexists(os.path.join(self.join(folder), name)):
                return None
            path = os.path.realpath(self.join(*parts)) if self.live else self.join(*parts)
        except OSError:
            return None
        return os.path.relpath(path, self._top)


def parse_list(text):
    """A kernel list such as `0-3,8` as integers, in order; what is not a number is skipped."""
    numbers = []
    for part in (text or "").replace("\0", "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not last) and int(last or first) - int(first) < LONGEST_LIST:
            numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def parse_mask(text):
    """The set bits of a kernel mask such as `ff,00000001`, in order; empty for what is no mask."""
    try:
        mask = int((text or "").replace(",", "") or "0", 16)
    except ValueError:
        return []
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def format_list(numbers):
    """[0, 1, 2, 3, 8] as `0-3,8`; `none` where empty: the canonical form of a setting's CPU list."""
    runs = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in runs) or "none"


def canonical_list(text):
    """A kernel list in its shortest form; empty where it names nothing."""
    numbers = parse_list(text)
    return format_list(numbers) if numbers else ""


def format_mask(numbers):
    """The mask that the kernel's bitmap parser takes: groups of 32 bits, the highest first, commas between them."""
    mask, groups = sum(1 << number for number in set(numbers)), []
    while mask or not groups:
        groups.append("%08x" % (mask & 0xFFFFFFFF))
        mask >>= 32
    return ",".join(reversed(groups))


def numbered(names, prefix):
    """The numbers N of names `prefixN`, sorted by number."""
    rests = [name[len(prefix) :] for name in names if name.startswith(prefix)]
    return sorted(int(rest) for rest in rests if rest.isdecimal())
