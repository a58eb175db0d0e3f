"""The weights of quantised linear layers."""

from __future__ import annotations

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.scheme import Along, Axis, Scheme
from vllm_parallel.weight import Cut, Dimension, Part, Split, Weight, extent, whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """A linear layer as vLLM's create_weights is told of it, `rows` out and `columns` in."""

    name: str
    rows: tuple[Part, ...]
    columns: tuple[Part, ...]
    scheme: Scheme

    def weights(self, dtype: Dtype) -> list[Weight]:
        """Its parameters in a model of this dtype."""
        return [
            Weight(
                f"{self.name}.{tensor.name}",
                tuple((Packed(self, axis, self.along(axis)),) for axis in tensor.axes),
                tensor.dtype or dtype,
            )
            for tensor in self.scheme.tensors
        ]

    def along(self, axis: Axis) -> Dimension:
        """What an axis of a tensor runs along."""
        match axis.along:
            case Along.ROWS:
                return self.rows
            case Along.COLUMNS | Along.ALL_COLUMNS:
                return self.columns
            case Along.PARTS:
                return (Merged(self.rows),)
            case Along.FIXED:
                return whole(1)

    @property
    def all_columns(self) -> int:
        """Inputs of the whole layer."""
        return sum(part.count * part.size for part in self.columns)


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """One element for each layer that a checkpoint has apart and vLLM merges.

    Source: vllm/model_executor/layers/mamba/mamba_mixer2.py, MambaMixer2.__init__ (v0.32.0)
    """

    rows: tuple[Part, ...]

    def length(self, cut: Cut) -> int:
        """How many there are; where groups are copied to ranks, the layer counts as one."""
        copied = any(part.split is Split.GROUPS and part.count % cut.tp for part in self.rows)
        return 1 if copied else len(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A dimension of a quantised tensor."""

    layer: Linear
    axis: Axis
    along: Dimension

    def length(self, cut: Cut) -> int:
        """Elements on one rank."""
        units = extent(self.along, cut)
        if self.axis.along is Along.ALL_COLUMNS:
            return units // self.layer.all_columns
        return self.axis.length(units)
