"""Byte units and integer division that says when it is not exact."""

from __future__ import annotations

from typing import Final

from vllm_parallel.errors import UnevenSplitError

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30
GB: Final = 10**9


def exact_div(amount: int, width: int, what: str) -> int:
    """The whole number `amount / width`, where vLLM asserts that it is one.

    Source: vllm/distributed/utils.py, divide (v0.32.0)

    Raises:
        UnevenSplitError: `width` does not divide `amount`.

    >>> exact_div(64, 8, "query heads")
    8
    """
    quotient, remainder = divmod(amount, width)
    if remainder:
        raise UnevenSplitError(what=what, amount=amount, width=width)
    return quotient


def ceil_div(amount: int, width: int) -> int:
    """`amount / width`, rounded up.

    Source: vllm/utils/math_utils.py, cdiv (v0.32.0)

    >>> ceil_div(8193, 16)
    513
    """
    return -(-amount // width)


def round_up(amount: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is at least `amount`.

    Source: vllm/utils/math_utils.py, round_up (v0.32.0)

    >>> round_up(49157, 64)
    49216
    """
    return ceil_div(amount, multiple) * multiple
