"""Every pin has a licence and somebody who needs it; every dependency says why it is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

import dependencies
from dependencies import Pin, audit, brought, direct, faults, licence, pins


def test_nothing_is_wrong() -> None:
    assert list(faults()) == []
    assert audit().count("\n") == len(direct()) + 1
    assert "`Jinja2`" in brought()


def test_the_package_itself_needs_two() -> None:
    assert [name for name, rooms in direct().items() if "" in rooms] == [
        "prometheus-client",
        "scipy",
    ]


def test_extras_count_only_where_they_are_asked_for() -> None:
    needed = {pin.name: pin.needed_by for pin in pins()}
    assert "mkdocstrings" in needed["mkdocstrings-python"]
    assert "bleach" in needed["tinycss2"]


def without_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    given = dict(dependencies.given())
    changed = {**given, "reason": {**given["reason"], "mkdocs": " ", "left-over": "once needed"}}
    monkeypatch.setattr(dependencies, "given", lambda: changed)


def without_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "licence", lambda name: "" if name == "scipy" else "MIT")


def under_another_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "licence", lambda name: "Proprietary: permit on request")


def not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Pin(name="left-over", version="1", rooms=(), needed_by=())
    monkeypatch.setattr(dependencies, "pins", lambda: [left])
    monkeypatch.setattr(dependencies, "licence", lambda name: "MIT")


FAULTS: Final = (
    (without_reason, "mkdocs has no reason"),
    (without_reason, "left-over has a reason, and is no dependency"),
    (without_licence, "scipy: its licence is 'not said'"),
    (under_another_licence, "scipy: its licence is 'Proprietary: permit on request'"),
    (not_needed, "left-over is pinned, and nothing needs it"),
    (not_needed, "mkdocs is not pinned"),
)


@pytest.mark.parametrize("change, says", FAULTS, ids=[says for _, says in FAULTS])
def test_it_is_refused(
    change: Callable[[pytest.MonkeyPatch], None], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch)
    assert says in list(faults())
    with pytest.raises(ValueError, match=says.partition(":")[0]):
        audit()


def test_a_licence_comes_from_metadata() -> None:
    assert licence("mkdocs") == "BSD-2-Clause"
    assert licence("axe-playwright-python").startswith("MIT")
    assert licence("no-such-distribution") == ""
