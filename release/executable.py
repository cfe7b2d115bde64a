"""What an executable says of itself: for which machine it is, whether it is static, whose paths are in it."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from targets import Target

ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACH_MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
PE_MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64"}
PT_INTERP = 3


def faults(path: Path, target: Target, private: list[str]) -> list[str]:
    """What is wrong with it for this target. `private` are paths of this machine, which must not be in it."""
    content = path.read_bytes()
    found = []
    kind = describe(content)
    wanted = (target.system, target.machine)
    if kind[:2] != wanted:
        found.append(f"is for {' '.join(kind[:2])}, not for {' '.join(wanted)}")
    if target.system == "linux" and not kind[2]:
        found.append("wants a dynamic loader")
    for place in private:
        if at := re.search(rb"[\x20-\x7e]*" + re.escape(place.encode()) + rb"[\x20-\x7e]*", content):
            found.append(f"has a path of this machine in it: {at[0].decode()[:200]}")
    return found


def is_ordered(path: Path) -> bool:
    """The functions of hooks stand in a section of their own (link-order.ld): its name is in the table of names."""
    return b"\0.text.hooks\0" in path.read_bytes()


def describe(content: bytes) -> tuple[str, str, bool]:
    """System, machine, and whether it needs no loader."""
    if content[:4] == b"\x7fELF":
        return "linux", ELF_MACHINES.get(struct.unpack_from("<H", content, 18)[0], "?"), not has_interpreter(content)
    if content[:4] == b"\xcf\xfa\xed\xfe":
        return "macos", MACH_MACHINES.get(struct.unpack_from("<I", content, 4)[0], "?"), False
    if content[:2] == b"MZ":
        header = struct.unpack_from("<I", content, 0x3C)[0]
        return "windows", PE_MACHINES.get(struct.unpack_from("<H", content, header + 4)[0], "?"), False
    return "unknown", "?", False


def has_interpreter(elf: bytes) -> bool:
    offset = struct.unpack_from("<Q", elf, 32)[0]
    size, count = struct.unpack_from("<HH", elf, 54)
    return any(struct.unpack_from("<I", elf, offset + n * size)[0] == PT_INTERP for n in range(count))
