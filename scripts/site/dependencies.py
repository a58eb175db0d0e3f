"""What this project is built with: each distribution, its licence, and why it is here.

Licences are read from the metadata of what is installed; a direct dependency gives its reason in
`dependencies.toml`. An unknown licence, a dependency without a reason and a pin that nothing needs
are refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from vllm_parallel.render.markdown import table

ROOT: Final = Path(__file__).resolve().parents[2]
REASONS: Final = Path(__file__).with_name("dependencies.toml")
OWN: Final = "vllm-parallel"
ROOMS: Final = {"": "the package", "docs": "the site", "test": "the tests"}
EXTRA: Final = re.compile(r"extra == [\"']([\w.-]+)")
LICENCE: Final = "License :: "
OPEN: Final = re.compile(
    r"\b(?:0BSD|Apache|BSD|ISC|LGPL|MIT|MIT-CMU|MPL|PSF|Python Software Foundation|Unlicense|zlib"
    r"|Zope)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One line of `constraints.txt`, and who asks for it."""

    name: str
    version: str
    rooms: tuple[str, ...]  # that name it themselves
    needed_by: tuple[str, ...]  # distributions that require it


@cache
def given() -> Mapping[str, Mapping[str, str]]:
    """The committed reasons, licences that metadata leaves out, and what is no Python."""
    found: dict[str, dict[str, str]] = tomllib.loads(REASONS.read_text("utf-8"))
    return found


def direct() -> dict[str, tuple[str, ...]]:
    """What the project names itself, and for which of its rooms."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    asked = {"": project["project"]["dependencies"], **project["project"]["optional-dependencies"]}
    asked["build"] = [*project["build-system"]["requires"], "editables"]
    rooms: dict[str, list[str]] = {}
    for room, lines in asked.items():
        for line in lines:
            name = canonicalize_name(Requirement(line).name)
            if name != OWN:
                rooms.setdefault(name, []).append(room)
    return {name: tuple(found) for name, found in rooms.items()}


def pins() -> list[Pin]:
    """Every pin, in the order of the file."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    found = [line.split("==") for line in lines if line and not line.startswith("#")]
    named, needs = direct(), requirements(name for name, _ in found)
    return [
        Pin(
            name=name,
            version=version,
            rooms=named.get(canonicalize_name(name), ()),
            needed_by=tuple(sorted(needs.get(canonicalize_name(name), ()))),
        )
        for name, version in found
    ]


def requirements(names: Iterable[str]) -> dict[str, set[str]]:
    """Who requires what, on any platform and Python; extras only where somebody asks for them."""
    wanted = [(name, Requirement(line)) for name in names for line in _lines(name)]
    asked = {(canonicalize_name(one.name), extra) for _, one in wanted for extra in one.extras}
    asked |= {(canonicalize_name(one.name), extra) for one in _own() for extra in one.extras}
    needs: dict[str, set[str]] = {}
    for name, one in wanted:
        extra = EXTRA.search(str(one.marker))
        if extra is None or (canonicalize_name(name), extra[1]) in asked:
            needs.setdefault(canonicalize_name(one.name), set()).add(name)
    return needs


def _lines(name: str) -> list[str]:
    """What a distribution's metadata requires."""
    found = _installed(name)
    return (None if found is None else found.requires) or []


def _own() -> list[Requirement]:
    """What the project requires, with the extras it asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(line) for some in lines for line in some]


def licence(name: str) -> str:
    """A distribution's licence in a few words; empty if neither it nor the list says."""
    typed = given()["licence"].get(canonicalize_name(name))
    found = _installed(name)
    if typed is not None or found is None:
        return typed or ""
    said = found.metadata.get_all("License-Expression") or []
    if said:
        return str(said[0])
    classes: list[str] = found.metadata.get_all("Classifier") or []
    kinds = [line.rpartition(" :: ")[2] for line in classes if line.startswith(LICENCE)]
    kinds = [kind for kind in kinds if kind != "OSI Approved"]
    lines = "".join(found.metadata.get_all("License") or []).strip().splitlines()
    return ", ".join(kinds) or (lines[0].strip() if len(lines) == 1 else "")


def faults() -> Iterator[str]:
    """What is wrong with what is pinned, in a line each."""
    reasons, named = given()["reason"], direct()
    pinned = {canonicalize_name(pin.name) for pin in pins()}
    for pin in pins():
        if not OPEN.search(licence(pin.name)):
            yield f"{pin.name}: its licence is {licence(pin.name) or 'not said'!r}"
        if not pin.rooms and not pin.needed_by:
            yield f"{pin.name} is pinned, and nothing needs it"
    yield from (f"{name} has no reason" for name in named if not reasons.get(name, "").strip())
    yield from (f"{name} has a reason, and is no dependency" for name in reasons.keys() - named)
    yield from (f"{name} is not pinned" for name in named if name not in pinned)


def audit() -> str:
    """The table of what the project names itself, then what that brings along.

    Raises:
        ValueError: A licence or a reason is missing, or a pin is not needed.
    """
    wrong = "; ".join(faults())
    if wrong:
        raise ValueError(wrong)
    rows = [
        (f"`{pin.name}`", pin.version, licence(pin.name), _rooms(pin), _reason(pin.name))
        for pin in pins()
        if pin.rooms
    ]
    head = ("distribution", "version", "licence", "for", "why it is here")
    return table(head, rows)


def brought() -> str:
    """The table of what others require."""
    rows = [
        (f"`{pin.name}`", pin.version, licence(pin.name), ", ".join(pin.needed_by))
        for pin in pins()
        if not pin.rooms
    ]
    return table(("distribution", "version", "licence", "required by"), rows)


def tools() -> str:
    """The table of what is no distribution of Python."""
    rows = [(f"`{name}`", *text.split("; ", 1)) for name, text in given()["tool"].items()]
    return table(("tool", "licence", "why it is here"), rows)


def _reason(name: str) -> str:
    return given()["reason"][canonicalize_name(name)]


def _rooms(pin: Pin) -> str:
    return ", ".join(ROOMS.get(room, "building") for room in pin.rooms)


@cache
def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
