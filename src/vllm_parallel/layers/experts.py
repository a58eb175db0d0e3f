"""The weights of quantised experts: two matrices, and what each is stored with."""

from __future__ import annotations

from math import gcd
from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.layers.storage import Storage
from vllm_parallel.scheme import Along, Axis, Biases, Scheme, Tensor, Unit
from vllm_parallel.units import round_up
from vllm_parallel.weight import Cut, Dimension, Extent, Part, Split, Weight, extent, whole

LEAST_BLOCK: Final = 32  # oracle/fp8.py, refine_fp8_moe_block_shape


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Routed:
    """The experts of a layer as vLLM's create_weights is told of them.

    Source: vllm/model_executor/layers/fused_moe/routed_experts.py, RoutedExperts (v0.32.0)
    """

    name: str
    count: Part
    width: Part
    hidden: int
    bias: bool
    dtype: Dtype
    scheme: Scheme
    gated: bool = True

    def weights(self) -> list[Weight]:
        """The parameters, in one layout or in two of which a rank has one."""
        other = self.scheme.otherwise
        if other is None:
            return self.stored((self.count,))
        fits, cut = (Alternative(self, whole_groups) for whole_groups in (True, False))
        return self.stored((fits,)) + replace(self, scheme=other).stored((cut,))

    def stored(self, count: Dimension) -> list[Weight]:
        """The parameters in the layout of the scheme, of so many experts."""
        width: Extent = self.width
        hidden: Extent = Part(self.hidden)
        if self.scheme.tiled:
            width, hidden = Tiled(self.width, 0), Tiled(Part(self.hidden), 1)
        gate_up = (width, width) if self.gated else (width,)
        across, down = (hidden,), (width,)
        weights = [self._tensor(t, count, (gate_up, across)) for t in self.scheme.tensors]
        weights += [self._tensor(t, count, (across, down)) for t in self.scheme.down]
        biases = self.scheme.biases
        if biases is Biases.ALWAYS or (biases is Biases.MODEL and self.bias):
            weights += [
                Weight(f"{self.name}.w13_bias", (count, gate_up), self.dtype),
                Weight(f"{self.name}.w2_bias", (count, across), self.dtype),
            ]
        return weights

    def _tensor(
        self, tensor: Tensor, count: Dimension, matrix: tuple[Dimension, Dimension]
    ) -> Weight:
        axes = (self._axis(axis, *matrix) for axis in tensor.axes)
        name, dtype = f"{self.name}.{tensor.name}", tensor.dtype or self.dtype
        return Weight(name, (count, *axes), dtype)

    def _axis(self, axis: Axis, rows: Dimension, columns: Dimension) -> Dimension:
        if axis.along is Along.PARTS:
            return (Fitted(self, axis, whole(len(rows))),)
        if axis.along is Along.FIXED:
            return (Fitted(self, axis, whole(1)),)
        along = rows if axis.along is Along.ROWS else columns
        # Blocks of the gate and of the up matrix are counted apart.
        pieces = [(piece,) for piece in along] if axis.unit is Unit.BLOCK else [along]
        return tuple(Fitted(self, axis, piece) for piece in pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A piece of a quantised tensor, whose unit may follow from a rank's share of an expert."""

    layer: Routed
    axis: Axis
    along: Dimension

    def length(self, cut: Cut) -> int:
        """Elements on one rank."""
        axis = self.axis
        if axis.unit is Unit.GROUP:
            share = self.layer.width.length(cut)
            axis = replace(
                axis, per=halved_group(self.layer.scheme.group, share, self.layer.hidden)
            )
        if axis.unit is Unit.BLOCK:
            side = 0 if axis.along is Along.ROWS else 1
            axis = replace(axis, per=refined_block(self.layer, cut)[side])
        return axis.length(extent(self.along, cut))


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """The experts of a rank, none where its share of one does not decide for this layout."""

    layer: Routed
    whole_groups: bool

    def length(self, cut: Cut) -> int:
        """Experts on one rank."""
        fits = self.layer.width.length(cut) % self.layer.scheme.group == 0
        return self.layer.count.length(cut) if fits is self.whole_groups else 0


@dataclass(frozen=True, slots=True, eq=False)
class Tiled:
    """The width or the hidden size of experts, padded to the tile of the GPU's kernel.

    Source: vllm/model_executor/layers/fused_moe/oracle/mxfp4.py,
    mxfp4_round_up_hidden_size_and_intermediate_size (v0.32.0)
    """

    part: Part
    side: int  # 0 the width, 1 the hidden size

    def length(self, cut: Cut) -> int:
        """Elements on one rank, padding included."""
        return round_up(self.part.length(cut), cut.expert_tile[self.side])


def expert_weights(e: Experts, scheme: Scheme, storage: Storage) -> list[Weight]:
    """The parameters of all experts of a layer."""
    routed = Routed(
        name="mlp.experts",
        count=Part(e.count, 1, Split.EXPERTS, "experts"),
        width=Part(e.intermediate, 1, Split.EXPERT_WIDTH, "columns of an expert"),
        hidden=e.latent or storage.hidden,
        bias=e.bias,
        dtype=storage.dtype,
        scheme=scheme,
        gated=e.gated,
    )
    return routed.weights()


def halved_group(group: int, share: int, hidden: int) -> int:
    """The group that divides a rank's share and the hidden size.

    Source: vllm/model_executor/layers/quantization/moe_wna16.py, create_weights (v0.32.0)

    >>> halved_group(128, 96, 256)
    32
    """
    while group > 1 and (share % group or hidden % group):
        group //= 2
    return group


def refined_block(experts: Routed, cut: Cut) -> tuple[int, int]:
    """Rows and columns that share a scale, fine enough for a rank's share of an expert.

    Source: vllm/model_executor/layers/fused_moe/oracle/fp8.py, refine_fp8_moe_block_shape
    (v0.32.0)
    """
    rows, columns = experts.scheme.block
    share = experts.width.length(cut)
    uneven = share % rows != 0 or (cut.tp > 1 and share % columns != 0)
    refined = gcd(rows, columns, share, experts.hidden)
    refines = experts.scheme.lenient and uneven and refined >= LEAST_BLOCK
    return (refined, refined) if refines else (rows, columns)
