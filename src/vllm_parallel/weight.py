"""A named weight: its dimensions, how each is split and over what."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final, Protocol

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.units import exact_div, round_up

VOCABULARY_MULTIPLE: Final = 64  # vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE


class Split(StrEnum):
    """What a part of a weight is split over."""

    COPY = "copied to every rank"
    TENSOR = "over tp"
    QUERIES = "over tp, over tp / dcp where DCP ranks keep each other's queries"
    REPLICA = "a further copy over tp / dcp, only where DCP ranks keep each other's queries"
    KV_HEADS = "over tp, copied once tp exceeds the KV heads"
    GROUPS = "over tp, copied where tp does not divide the groups"
    EVEN = "over tp, copied whole where tp does not divide it"
    VOCABULARY = "padded to 64, over tp"
    SHARED = "over tp, copied under sequence-parallel experts"
    TOWER = "over tp, copied where the inputs of a tower are dealt to ranks"
    TOKENS = "over tp, copied under sequence-parallel experts of one stage"
    EXPERTS = "whole experts over ep"
    EXPERT_WIDTH = "each expert over dp x pcp x tp, unless expert parallel"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Cut:
    """The widths that cut one rank's weights.

    `local_experts` is None without expert parallelism: every rank then holds all experts,
    each cut `expert_slices` ways.
    """

    tp: int = 1
    query_slices: int | None = None  # None: tp, unless dcp_q_replicate
    expert_slices: int = 1
    local_experts: int | None = None
    redundant_experts: int = 0
    copies_shared: bool = False
    expert_tile: tuple[int, int] = (1, 1)  # width and hidden size that a kernel pads experts to
    copies_dense: bool = False
    copies_towers: bool = False

    def width(self, split: Split) -> int:
        """How many ways this split cuts."""
        match split:
            case Split.TENSOR | Split.KV_HEADS | Split.GROUPS | Split.EVEN | Split.VOCABULARY:
                return self.tp
            case Split.QUERIES | Split.REPLICA:
                return self.query_slices or self.tp
            case Split.SHARED | Split.TOKENS | Split.TOWER:
                return 1 if self._copies(split) else self.tp
            case Split.EXPERT_WIDTH:
                return self.expert_slices
            case Split.COPY | Split.EXPERTS:
                return 1

    def _copies(self, split: Split) -> bool:
        match split:
            case Split.TOWER:
                return self.copies_towers
            case Split.TOKENS:
                return self.copies_dense
            case _:
                return self.copies_shared

    def experts(self, count: int) -> int:
        """Whole experts on the rank, of a layer with so many."""
        if self.local_experts is None:
            return count + self.redundant_experts
        return self.local_experts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Part:
    """`count` units of `size` elements along one dimension, and what the count is split over.

    >>> Part(8, 128, Split.KV_HEADS, "KV heads").length(Cut(tp=16))
    128
    """

    count: int
    size: int = 1
    split: Split = Split.COPY
    what: str = ""

    def length(self, cut: Cut) -> int:
        """Elements of this part on one rank.

        Raises:
            UnevenSplitError: the width does not divide the count.
        """
        return self._units(cut) * self.size

    def _units(self, cut: Cut) -> int:
        if self.split is Split.EXPERTS:
            return cut.experts(self.count)
        if self.split is Split.REPLICA and cut.query_slices is None:
            return 0
        if self.split is Split.KV_HEADS and cut.tp > self.count:
            exact_div(cut.tp, self.count, "tensor-parallel ranks")
            return 1
        if self.split is Split.GROUPS and self.count % cut.tp:
            return 1
        if self.split is Split.EVEN and self.count % cut.tp:
            return self.count
        padded = self.split is Split.VOCABULARY
        units = round_up(self.count, VOCABULARY_MULTIPLE) if padded else self.count
        return exact_div(units, cut.width(self.split), self.what)


def whole(count: int) -> tuple[Part, ...]:
    """A dimension that every rank holds whole."""
    return (Part(count),)


class Extent(Protocol):
    """A piece of a dimension."""

    def length(self, cut: Cut) -> int:
        """Elements of the piece on one rank."""


Dimension = tuple[Extent, ...]  # pieces, one after the other


def extent(dimension: Dimension, cut: Cut) -> int:
    """Elements of a dimension on one rank.

    >>> extent((Part(8), Part(4)), Cut())
    12
    """
    return sum(piece.length(cut) for piece in dimension)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weight:
    """One parameter of a layer; a dimension may hold several parts, one after the other."""

    name: str
    dimensions: tuple[Dimension, ...]
    dtype: Dtype

    def shape(self, cut: Cut) -> tuple[int, ...]:
        """Shape on a rank cut so."""
        return tuple(extent(dimension, cut) for dimension in self.dimensions)

    def bytes(self, cut: Cut) -> int:
        """Bytes on a rank cut so."""
        return self.dtype.bytes_of(self.shape(cut))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Layer:
    """The weights that are built together: one kind of block, the embedding, a norm, the head.

    Layers compare by identity: a graph makes each kind once, and a stage counts them.
    """

    name: str
    weights: tuple[Weight, ...]
    copies: tuple[Weight, ...] = ()  # made after loading, beside the weights
    buffers: tuple[Weight, ...] = ()  # registered beside the weights


@lru_cache(maxsize=1024)
def weight_bytes(layer: Layer, cut: Cut) -> int:
    """Bytes of a layer's weights on a rank cut so."""
    return sum(weight.bytes(cut) for weight in layer.weights)


@lru_cache(maxsize=1024)
def copy_bytes(layer: Layer, cut: Cut) -> int:
    """Bytes of the copies that loading makes of a layer's weights."""
    return sum(weight.bytes(cut) for weight in layer.copies)


@lru_cache(maxsize=1024)
def buffer_bytes(layer: Layer, cut: Cut) -> int:
    """Bytes of what a layer registers beside its weights."""
    return sum(buffer.bytes(cut) for buffer in layer.buffers)
