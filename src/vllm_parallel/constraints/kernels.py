"""Which kernels take a linear layer of packed integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.dtype import HALVES, Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.layers.quantised import Linear
from vllm_parallel.weight import Cut, extent

HOPPER: Final = 90
MARLIN_GROUPS: Final = (-1, 32, 64, 128)
MACHETE_GROUPS: Final = (-1, 64, 128)
MACHETE_GROUPS_FP32: Final = (-1, 128)
TRITON_GROUPS: Final = (-1, 32, 64, 128, 256)
MACHETE_TILE: Final = (64, 128)  # columns, rows
WORD: Final = 32
TRITON_ROWS: Final = 8
INT4: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What decides about kernels beside the shape."""

    capability: int
    dtype: Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A linear layer on a rank."""

    outputs: tuple[int, ...]
    columns: int
    all_columns: int

    @classmethod
    def of(cls, linear: Linear, cut: Cut) -> Shape:
        """The shape of a linear layer on a rank cut so."""
        return cls(
            outputs=tuple(part.length(cut) for part in linear.rows),
            columns=extent(linear.columns, cut),
            all_columns=linear.all_columns,
        )

    @property
    def rows(self) -> int:
        """Outputs of all fused layers."""
        return sum(self.outputs)

    @property
    def is_row_parallel(self) -> bool:
        """Whether ranks share the inputs."""
        return self.columns != self.all_columns

    def cuts_group(self, group: int) -> bool:
        """Whether a group lies on two ranks."""
        return 0 < group < self.all_columns and self.columns % group != 0


def kernels(linear: Linear, shape: Shape, machine: Machine) -> Iterator[bool]:
    """Which kernel takes the layer: Machete, Marlin, Exllama, Triton.

    Source: vllm/model_executor/kernels/linear/mixed_precision/*.py, can_implement (v0.32.0)
    """
    scheme = linear.scheme
    group, bits, zeros = scheme.group, scheme.bits, scheme.zero_points
    columns, rows = MACHETE_TILE
    machete = MACHETE_GROUPS if machine.dtype in HALVES else MACHETE_GROUPS_FP32
    yield (
        machine.capability == HOPPER
        and bits in (4, 8)
        and group in machete
        and shape.columns % columns == 0
        and shape.rows % rows == 0
    )
    marlin_bits = (INT4,) if zeros else (4, 8)
    yield bits in marlin_bits and group in MARLIN_GROUPS and not shape.cuts_group(group)
    yield (
        machine.dtype is Dtype.FLOAT16
        and bits in (4, 8)
        and not zeros
        and group > 0
        and shape.rows % (WORD // bits) == 0
        and shape.all_columns % group == 0
    )
    yield (
        machine.dtype in HALVES
        and bits == INT4
        and shape.rows % TRITON_ROWS == 0
        and (group in TRITON_GROUPS or group == shape.all_columns)
        and (group < 0 or shape.columns % group == 0)
    )
