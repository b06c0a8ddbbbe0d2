"""Writing to known_hosts, once the user has accepted a key. Used by dial.py; trust.py reads.

The format is that of sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; a hashed name is HMAC-SHA1 of the name with a random salt.
"""

import base64
import hashlib
import hmac
import os
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


def append(file: Path, name: str, public_key: str) -> None:
    """Adds one key under `name`, hashed if the file's other entries are. Makes the file, and its folder for the user
    alone. OSError if it cannot be written."""
    line = f"{hashed(name) if is_hashed(file) else name} {public_key.strip()}\n"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        broken_end = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (b"\n" if broken_end else b"") + line.encode())
    finally:
        os.close(descriptor)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
