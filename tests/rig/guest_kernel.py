"""What the emulated hosts boot: Debian's own kernel, unpacked, and an initial RAM disk that makes this machine's root
file system theirs; and other packages that they have and this machine need not. Used by rig.py.

Both are kept in a cache folder from one test run to the next; deleting the folder is always safe.
"""

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

KERNEL = "linux-image-amd64"
# What the guest needs before it sees the root file system; the rest it loads from there.
MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")
APPLETS = ("sh", "mount", "insmod", "switch_root", "mkdir")
# The root is shared read-only with a RAM overlay on top; folder and kernel come on the same share.
INIT = """\
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
while read module; do insmod $module; done < /modules.list
mkdir -p /lower /upper
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=524288 root /lower || exec sh
mount -t tmpfs tmpfs /upper
mkdir -p /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /newroot
for folder in proc sys dev; do mkdir -p /newroot/$folder; mount --move /$folder /newroot/$folder; done
exec switch_root /newroot /bin/bash {start}
"""


@dataclass(frozen=True)
class GuestKernel:
    """`modules` is the folder that holds lib/modules of this `version`."""

    version: str
    image: Path
    ramdisk: Path
    modules: Path


def prepare(cache: Path, start: Path) -> GuestKernel:
    """Downloads and unpacks the kernel unless it is there; `start` is the script that the guest runs as its first."""
    unpacked = package(cache, KERNEL)
    (image,) = unpacked.glob("boot/vmlinuz-*")
    version = image.name.removeprefix("vmlinuz-")
    if not (unpacked / "lib/modules" / version / "modules.dep").exists():
        subprocess.run(["depmod", "-b", unpacked, version], check=True)
    ramdisk = start.with_name("ramdisk.gz")
    _make_ramdisk(unpacked, version, start, ramdisk)
    return GuestKernel(version, image, ramdisk, unpacked)


def package(cache: Path, name: str) -> Path:
    """The folder of an unpacked Debian package, which is not installed: the kernel is not this machine's, and an
    irqbalance that was installed would start and move this machine's own interrupts."""
    unpacked = cache / name
    if not unpacked.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _unpack(cache, _newest(name), unpacked)
    return unpacked


def _newest(name: str) -> str:
    """The package that a mere pointer such as linux-image-amd64 depends on, or the package itself."""
    listing = _apt("apt-cache", "depends", name)
    if not listing:  # no list of packages was ever fetched here, or it was thrown away
        _apt("apt-get", "update", "-qq")
        listing = _apt("apt-cache", "depends", name)
    assert listing, f"apt knows no {name}"
    found = re.search(r"Depends: (linux-image-\S+)", listing)
    return found[1] if found else name


def _apt(*words: str, folder: Path | None = None) -> str:
    environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=folder)
    return done.stdout if done.returncode == 0 else ""


def _unpack(cache: Path, name: str, unpacked: Path) -> None:
    """Into a folder beside it first: a download that is cut off must not look whole."""
    with tempfile.TemporaryDirectory(dir=cache) as made:
        folder = Path(made)
        # As root apt would become its own user, who may not write here.
        _apt("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name, folder=folder)
        files = list(folder.glob("*.deb"))
        assert files, f"{name} cannot be downloaded: try apt-get update"
        subprocess.run(["dpkg-deb", "-x", files[0], folder / "unpacked"], check=True)
        (folder / "unpacked").rename(unpacked)


def _make_ramdisk(unpacked: Path, version: str, start: Path, ramdisk: Path) -> None:
    with tempfile.TemporaryDirectory(dir=ramdisk.parent) as name:
        root = Path(name)
        for folder in ("bin", "dev", "proc", "sys", "modules", "newroot"):
            (root / folder).mkdir()
        shutil.copy(shutil.which("busybox") or "busybox", root / "bin/busybox")
        for applet in APPLETS:
            (root / "bin" / applet).symlink_to("busybox")
        files = _module_files(unpacked, version)
        for file in files:
            shutil.copy(file, root / "modules")
        (root / "modules.list").write_text("".join(f"/modules/{file.name}\n" for file in files))
        (root / "init").write_text(INIT.format(start=start))
        (root / "init").chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        archive = subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), capture_output=True, check=True
        )
        ramdisk.write_bytes(gzip.compress(archive.stdout, 1))


def _module_files(unpacked: Path, version: str) -> list[Path]:
    """MODULES and what they depend on, in the order in which they must be loaded."""
    files: dict[Path, None] = {}
    for module in MODULES:
        words = ["modprobe", "-d", str(unpacked), "-S", version, "--show-depends", module]
        listing = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            if line.startswith("insmod "):
                files[Path(line.split()[1])] = None
    return list(files)
