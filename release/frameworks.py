"""What the linker must know of Apple's frameworks where there is no SDK of Apple: their names, and the functions that we
call. The functions themselves are on every Mac."""

from __future__ import annotations

from pathlib import Path

# chrono asks for the name of the local time zone.
FUNCTIONS = {
    "CoreFoundation": ("CFRelease", "CFStringGetBytes", "CFStringGetCStringPtr", "CFStringGetLength",
                       "CFTimeZoneCopySystem", "CFTimeZoneGetName", "CFTimeZoneResetSystem"),
}
STUB = """--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/System/Library/Frameworks/{name}.framework/Versions/A/{name}'
current-version: 1
compatibility-version: 1
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ {symbols} ]
...
"""


def write_stubs(folder: Path) -> Path:
    """The folder to search for frameworks in."""
    for name, functions in FUNCTIONS.items():
        place = folder / f"{name}.framework"
        place.mkdir(parents=True, exist_ok=True)
        symbols = ", ".join(f"_{function}" for function in functions)
        (place / f"{name}.tbd").write_text(STUB.format(name=name, symbols=symbols))
    return folder
