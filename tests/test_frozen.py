"""The package's own `dataclass` against the standard one, class by class."""

# ruff: noqa: ANN401, PLC3002
# Either module stands for `maker`, and any class of it for `value`.

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Final

import pytest

from vllm_parallel import frozen

MAKERS: Final[dict[str, Any]] = {"standard": dataclasses, "own": frozen}


def point(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True, kw_only=True)
    class Point:
        """Two fields, one with a default, and one that is made anew."""

        unit: ClassVar[str] = "m"

        x: int
        y: int = 2
        tags: Any = maker.field(default_factory=list)

        @property
        def sum(self) -> int:
            return int(self.x + self.y)

    return Point


def pair(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True)
    class Pair:
        first: int
        second: int = 5

    return Pair


def checked(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
    class Checked:
        x: int

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("below zero")

    return Checked


def hashed(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True, kw_only=True)
    class Hashed:
        x: int

        def __hash__(self) -> int:
            return 7

    return Hashed


def empty(maker: Any) -> Any:
    @maker.dataclass(frozen=True, slots=True, kw_only=True)
    class Empty:
        """Nothing."""

    return Empty


def said(action: Callable[[], object]) -> object:
    """What an action gives, or the kind of error that it ends in."""
    try:
        return action()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error)


def with_x(value: Any) -> object:
    value.x = 9
    return None


def without_x(value: Any) -> object:
    del value.x
    return None


ASKED: Final[dict[str, Callable[[Any], object]]] = {
    "values": lambda m: (point(m)(x=1).x, point(m)(x=1).y, point(m)(x=1).sum, point(m).unit),
    "text": lambda m: repr(point(m)(x=1)).rpartition(".")[2],
    "positions": lambda m: (pair(m)(3).second, pair(m)(3, 4).second, pair(m)(second=4, first=1)),
    "no positions": lambda m: said(lambda: point(m)(1)),
    "missing": lambda m: said(point(m)),
    "unknown": lambda m: said(lambda: point(m)(x=1, z=2)),
    "set": lambda m: said(lambda: with_x(point(m)(x=1))),
    "deleted": lambda m: said(lambda: without_x(point(m)(x=1))),
    "defaults of their own": lambda m: point(m)(x=1).tags is point(m)(x=1).tags,
    "equal": lambda m: (lambda p: p(1) == p(1) and p(1) != p(2))(pair(m)),
    "other classes": lambda m: pair(m)(1) == pair(m)(1),
    "hashes": lambda m: (lambda p: hash(p(1)) == hash(p(1)))(pair(m)),
    "unhashable": lambda m: said(lambda: hash(point(m)(x=1))),
    "own hash": lambda m: hash(hashed(m)(x=1)),
    "identity": lambda m: (lambda c: c(x=1) == c(x=1))(checked(m)),
    "afterwards": lambda m: said(lambda: checked(m)(x=-1)),
    "replaced": lambda m: m.replace(point(m)(x=1), y=8).y,
    "replaced from outside": lambda m: dataclasses.replace(point(m)(x=1), y=8).y,
    "replaced twice": lambda m: (lambda p: dataclasses.replace(dataclasses.replace(p, y=8), x=3))(
        point(m)(x=1)
    ),
    "replaced unknown": lambda m: said(lambda: m.replace(pair(m)(1), third=8)),
    "names": lambda m: [one.name for one in m.fields(point(m))],
    "names from outside": lambda m: [one.name for one in dataclasses.fields(point(m)(x=1))],
    "is one": lambda m: dataclasses.is_dataclass(point(m)),
    "nothing": lambda m: (empty(m)() == empty(m)(), len({empty(m)()})),
    "matched": lambda m: matched(pair(m)(1)),
    "slots": lambda m: hasattr(pair(m)(1), "__dict__"),
    "copied": lambda m: (lambda p: copy.copy(p) == p == copy.deepcopy(p))(pair(m)(1)),
    "documented": lambda m: point(m).__doc__,
    "named": lambda m: point(m).__qualname__.rpartition(".")[2],
}


def matched(value: Any) -> object:
    match value:
        case value.__class__(1, second=second):
            return second
    return None


@pytest.mark.parametrize("what", ASKED)
def test_as_the_standard_one(what: str) -> None:
    standard, own = (ASKED[what](maker) for maker in MAKERS.values())
    if dataclasses.is_dataclass(standard) or isinstance(standard, tuple):
        assert repr(standard).replace("standard", "own") == repr(own).replace("standard", "own")
    else:
        assert standard == own


@frozen.dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A value at the top of a module, which pickle can find."""

    x: int


def test_values_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(x=3))) == Kept(x=3)  # our own bytes


def test_what_changes_is_refused() -> None:
    """Values that change are for the standard decorator."""
    if sys.version_info < (3, 13):
        with pytest.raises(TypeError, match="take the dataclass of dataclasses"):
            frozen.dataclass(frozen=False, slots=True)


def test_a_plan_does_not_pay_for_dataclasses() -> None:
    """The standard module is not imported on the way to an answer, nor what it imports."""
    script = (
        "import sys; sys.argv = 'vllm-parallel plan llama-3.1-70b -tp 8 --gpu h100-80gb'.split();"
        "from vllm_parallel.cli import main; code = main();"
        "print([name for name in ('dataclasses', 'inspect') if name in sys.modules]); exit(code)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    if sys.version_info < (3, 13):
        assert run.stdout.splitlines()[-1] == "[]"
