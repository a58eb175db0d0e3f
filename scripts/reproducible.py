"""Builds the site once more, in another folder and other surroundings: every byte is the same.

    python -m scripts.reproducible SITE

Run by `make test-same`. `SITE` is the site as built here; the second build has another path, time
zone, language, order of hashes and day. What may differ is listed, with its reason.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scripts.copies import build_site, copy_project

# Name in the site: why it may differ.
MAY_DIFFER: Final[Mapping[str, str]] = {}
OTHER: Final = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "20261201"}
AROUND: Final = 60  # characters of a difference


def files(site: Path) -> dict[str, bytes]:
    """Every file of a site by its path in it."""
    paths = (path for path in sorted(site.rglob("*")) if path.is_file())
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in paths}


def differences(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> Iterator[str]:
    """Every file that is not the same in both, and where it begins to differ.

    >>> list(differences({"a": b"same", "b": b"one 1"}, {"a": b"same", "b": b"one 2", "c": b""}))
    ["b: b'one 1' is b'one 2'", 'c is in one of them only']
    """
    for name in sorted(one.keys() | other.keys()):
        if name in MAY_DIFFER:
            continue
        if name not in one or name not in other:
            yield f"{name} is in one of them only"
        elif one[name] != other[name]:
            pairs = enumerate(zip(one[name], other[name], strict=False))
            at = next((at for at, (a, b) in pairs if a != b), min(len(one[name]), len(other[name])))
            start = max(at - AROUND, 0)
            here, there = (text[start : at + AROUND] for text in (one[name], other[name]))
            yield f"{name}: {here!r} is {there!r}"


def main(arguments: list[str]) -> int:
    """Exit code: 0 if both are the same."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "build-complete").is_file():
        print("usage: python -m scripts.reproducible SITE, a whole one", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="another place ") as folder:
        copy, site = Path(folder, "a copy", "of the project"), Path(folder, "site")
        copy_project(copy)
        if not build_site(copy, site, OTHER):
            return 1
        here, there = files(Path(arguments[0])), files(site)
        found = list(differences(here, there))
    print(
        "\n".join(found) or f"{len(here):,} files, {sum(map(len, here.values())):,} bytes: the same"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
