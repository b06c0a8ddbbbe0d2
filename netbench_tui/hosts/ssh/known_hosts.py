"""Writing to known_hosts, and finding the line of a key in it. Used by dial.py once the user has accepted a key.

The format is that of sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; a hashed name is HMAC-SHA1 of the name with a random salt.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path

HASH_MARK = "|1|"
SALT_BYTES = 20
SSH_PORT = 22


def entry_name(host: str, port: int | None) -> str:
    """The name as known_hosts writes it: `host`, or `[host]:port` where the port is not 22."""
    return host if port in (None, SSH_PORT) else f"[{host}]:{port}"


def is_hashed(file: Path) -> bool:
    """True if the file's last entry hides its name: then ours should as well."""
    lines = [line for line in _lines(file) if line.strip() and not line.startswith(("#", "@"))]
    return bool(lines) and lines[-1].startswith(HASH_MARK)


def hashed(name: str, salt: bytes | None = None) -> str:
    """The name as `|1|salt|hash`."""
    salt = salt or os.urandom(SALT_BYTES)
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"{HASH_MARK}{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def append(file: Path, host: str, port: int | None, public_key: str) -> None:
    """Adds one key, hashed if the file's other entries are. Makes the file, and its folder for the user alone. OSError
    if it cannot be written."""
    name = entry_name(host, port)
    line = f"{hashed(name) if is_hashed(file) else name} {public_key.strip()}\n"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        broken_end = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (b"\n" if broken_end else b"") + line.encode())
    finally:
        os.close(descriptor)


def find(files: Iterable[Path], host: str, port: int | None) -> str:
    """Where the host's first key stands, as `file line 3`; empty if nowhere."""
    name = entry_name(host, port)
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            words = line.split()
            if words and not line.startswith(("#", "@")) and _names(words[0], name):
                return f"{file} line {number}"
    return ""


def _names(field: str, name: str) -> bool:
    if field.startswith(HASH_MARK):
        try:
            salt = base64.b64decode(field.split("|")[2])
        except (ValueError, IndexError):
            return False
        return hmac.compare_digest(hashed(name, salt), field)
    return name in field.split(",")


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
