"""Archives that come out the same from the same files: sorted, of one date, of nobody's."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from pathlib import Path

# Path in the archive, content, whether it can be run.
Entry = tuple[str, bytes, bool]


def write(path: Path, entries: list[Entry], epoch: int) -> None:
    make = zipped if path.suffix == ".zip" else tarred
    path.write_bytes(make(sorted(entries), epoch))


def tarred(entries: list[Entry], epoch: int) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content, runs in entries:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), epoch, 0o755 if runs else 0o644
            tar.addfile(member, io.BytesIO(content))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=epoch) as file:
        file.write(plain.getvalue())
    return packed.getvalue()


def zipped(entries: list[Entry], epoch: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, runs in entries:
            member = zipfile.ZipInfo(name, time.gmtime(max(epoch, 315532800))[:6])
            member.create_system, member.compress_type = 3, zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if runs else 0o100644) << 16
            archive.writestr(member, content)
    return packed.getvalue()


def write_sums(folder: Path) -> Path:
    """SHA256SUMS of all archives in a folder, as `sha256sum -c` reads it."""
    archives = sorted(path for path in folder.iterdir() if path.name.endswith((".tar.gz", ".zip")))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in archives]
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(lines), newline="\n")
    return sums


def read_sums(folder: Path) -> dict[str, str]:
    pairs = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
    return {name: digest for digest, name in pairs}
