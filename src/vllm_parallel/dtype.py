"""Element types."""

from __future__ import annotations

from enum import StrEnum
from math import prod
from typing import Final


class Dtype(StrEnum):
    """An element type, by the name that torch gives it.

    >>> Dtype.BFLOAT16.bytes
    2
    """

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT8_E4M3 = "float8_e4m3fn"
    INT64 = "int64"
    INT32 = "int32"
    INT8 = "int8"
    UINT8 = "uint8"

    def bytes_of(self, shape: tuple[int, ...]) -> int:
        """Bytes of a tensor of this type.

        >>> Dtype.INT32.bytes_of((2, 8))
        64
        """
        return prod(shape) * self.bytes

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        match self:
            case Dtype.INT64:
                return 8
            case Dtype.FLOAT32 | Dtype.INT32:
                return 4
            case Dtype.BFLOAT16 | Dtype.FLOAT16:
                return 2
            case Dtype.FLOAT8_E4M3 | Dtype.INT8 | Dtype.UINT8:
                return 1


HALVES: Final = (Dtype.FLOAT16, Dtype.BFLOAT16)
