"""Choices that come out alike in every run and with every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Picks by a seed. Only `random()` is used: of Python's methods it alone is promised to stay.

    >>> Dice("llama 1").pick("abcdef") == Dice("llama 1").pick("abcdef")
    True
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely as its count in them."""
        return options[int(self._random.random() * len(options))]

    def some(self, options: Sequence[T], share: float) -> list[T]:
        """The options that come up, each with this chance."""
        return [option for option in options if self.chance(share)]

    def chance(self, share: float) -> bool:
        """True in this share of throws."""
        return self._random.random() < share
