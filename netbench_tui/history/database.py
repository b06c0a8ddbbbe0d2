"""One SQLite connection to the history file: opening, migrating, short transactions, errors in words.

Used by history/repository.py alone. Nothing is written to a file before it is known to be ours and of a version we
know: a damaged file, another program's or a newer one's is refused and stays as it is.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from netbench_tui.errors import HistoryError
from netbench_tui.history.schema import APPLICATION_ID, MIGRATIONS

# Another workbench's transaction takes milliseconds; what holds the file for longer is not going to end soon.
BUSY_SECONDS = 5.0
# STRICT tables came with SQLite 3.37; an older library (RHEL 9's) gets the same tables without the type check.
STRICT_SINCE = (3, 37, 0)
_RETRY_SECONDS = 0.02
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_making = threading.Lock()


def connect(path: Path, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Opens `path`, making folder (0700) and file (0600) if need be, and brings it to the newest version.

    A file that may only be read is opened for reading, if it is of the newest version. HistoryError for everything
    else that stands in the way.
    """
    writable = _prepare(path)
    connection = None
    try:
        connection = _open(path, writable)
        connection.execute("BEGIN")  # one snapshot: another opener may be migrating just now
        version = _checked_version(connection, path, len(migrations))
        connection.execute("COMMIT")
        if version < len(migrations):
            migrate(connection, path, migrations)
        if writable:
            _retried(connection, "PRAGMA journal_mode=WAL")
        return connection
    except (sqlite3.Error, HistoryError) as error:
        if connection:
            connection.close()
        raise in_words(error, path) from error


def _prepare(path: Path) -> bool:
    """Makes folder and file; True if the file may be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        hint = "name another file with --history, or set XDG_DATA_HOME"
        raise HistoryError(f"the history {path} cannot be opened: {error.strerror}", hint) from None
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _make(path: Path) -> None:
    """An existing file is not opened: POSIX takes all of a process's locks on a file away when any descriptor of it is
    closed, SQLite's too, and then another process would remove the write-ahead log under our writer."""
    with _making:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not path.exists():
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _open(path: Path, writable: bool) -> sqlite3.Connection:
    mode = "mode=rw"
    if not writable:
        # Without a writable folder SQLite cannot make the shared memory of WAL; with no WAL there is none to share.
        mode = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA foreign_keys=ON")
    # In WAL mode NORMAL keeps every commit through kill -9, and the file whole through a power cut.
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _checked_version(connection: sqlite3.Connection, path: Path, known: int) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and (tables or version or application):
        raise HistoryError(f"{path} is another program's database", "name another file with --history")
    if version > known:
        message = f"the history {path} is of version {version}; this netbench-tui knows versions up to {known}"
        raise HistoryError(message, "use the newer netbench-tui, or name another file with --history")
    return version


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Runs the missing migrations, each with its version in one transaction; a failed one leaves no trace."""
    while True:
        with transaction(connection):
            # Read inside the transaction: another workbench may have migrated while we waited for the lock.
            version = _checked_version(connection, path, len(migrations))
            if version == len(migrations):
                return
            for statement in _statements(migrations[version]):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={version + 1}")


def _statements(script: str) -> Iterator[str]:
    """`executescript` would commit behind our back, so statements go one by one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            old = sqlite3.sqlite_version_info < STRICT_SINCE
            yield statement.replace(") STRICT;", ");") if old else statement
            statement = ""


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: takes the write lock at once, and is undone as a whole by any exception."""
    _retried(connection, "BEGIN IMMEDIATE")
    try:
        yield
        _retried(connection, "COMMIT")
    except BaseException:
        # After some errors, such as a full disk, SQLite has rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _retried(connection: sqlite3.Connection, statement: str) -> None:
    """SQLite does not wait in every case of `busy` (a change of journal mode, a recovery): try until the deadline."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() >= deadline:
                raise
        threading.Event().wait(_RETRY_SECONDS)


def in_words(error: Exception, path: Path) -> HistoryError:
    """What an exception of SQLite means to the person at the keyboard."""
    if isinstance(error, HistoryError):
        return error
    code = getattr(error, "sqlite_errorcode", None)
    primary = -1 if code is None else code & 0xFF
    if primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_disk_full(path):
        primary = sqlite3.SQLITE_FULL
    message, hint = _WORDS.get(primary, ("cannot be used: {error}", ""))
    return HistoryError(f"the history {path} {message.format(error=error)}", hint)


def _is_disk_full(path: Path) -> bool:
    """SQLite calls a full disk an I/O error where it happens to the shared memory of WAL."""
    try:
        return shutil.disk_usage(path.parent).free == 0
    except OSError:
        return False


_COPY = "it was left as it is; name another file with --history, or move this one away"
_WORDS = {
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "make room; what comes after that is kept"),
    sqlite3.SQLITE_READONLY: ("may not be written", "check the rights of the file and its folder"),
    sqlite3.SQLITE_PERM: ("may not be written", "check the rights of the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check that its folder exists and may be written"),
    sqlite3.SQLITE_BUSY: (
        f"has been locked by another program for {BUSY_SECONDS:.0f} s",
        "see which with: fuser FILE; the workbench goes on trying",
    ),
    sqlite3.SQLITE_LOCKED: (f"has been locked for {BUSY_SECONDS:.0f} s", "the workbench goes on trying"),
    sqlite3.SQLITE_NOTADB: ("is not a database", _COPY),
    sqlite3.SQLITE_CORRUPT: ("is damaged", _COPY),
    sqlite3.SQLITE_IOERR: ("could not be read or written: {error}", "check the disk and the kernel log"),
}
