"""How many ways a deployment splits a model."""

from __future__ import annotations

from enum import StrEnum
from itertools import accumulate

from vllm_parallel.frozen import dataclass


class Axis(StrEnum):
    """One way of splitting; the value names its group as vLLM's process groups do.

    Source: vllm/distributed/parallel_state.py, initialize_model_parallel (v0.32.0)
    """

    TP = "tp"
    PP = "pp"
    DP = "dp"
    PCP = "pcp"
    DCP = "dcp"
    EP = "ep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Widths of a deployment, one for each axis.

    Source: vllm/config/parallel.py, ParallelConfig (v0.32.0)

    >>> Layout(tp=4, pp=2).world_size
    8
    >>> str(Layout(tp=4, dp=2, expert_parallel=True))
    'tp4 dp2 ep'
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    pcp: int = 1
    dcp: int = 1  # takes its ranks from tp and pcp, adds none
    expert_parallel: bool = False

    @property
    def world_size(self) -> int:
        """Ranks of one replica."""
        return self.tp * self.pp * self.pcp

    @property
    def ranks(self) -> int:
        """Ranks of the service: all replicas."""
        return self.world_size * self.dp

    @property
    def expert_width(self) -> int:
        """Ranks that share the experts of one stage, whole or in slices."""
        return self.tp * self.pcp * self.dp

    @property
    def dcp_choices(self) -> list[int]:
        """The dcp that vLLM allows beside this tp and pcp, before it looks at the model.

        >>> Layout(tp=4, pcp=2).dcp_choices
        [1, 2, 8]
        """
        if self.pcp == 1:
            return [dcp for dcp in range(1, self.tp + 1) if self.tp % dcp == 0]
        return sorted({1, self.pcp, self.tp * self.pcp})

    def __str__(self) -> str:
        widths = {"tp": self.tp, "pp": self.pp, "dp": self.dp, "pcp": self.pcp, "dcp": self.dcp}
        named = [f"{name}{width}" for name, width in widths.items() if width > 1 or name == "tp"]
        return " ".join([*named, "ep"] if self.expert_parallel else named)


def pipeline_split(layers: int, stages: int) -> list[int]:
    """Layers of each pipeline stage: the spare ones go from the second-last stage backwards.

    Source: vllm/distributed/utils.py, get_pp_indices (v0.32.0)

    >>> pipeline_split(61, 4)
    [15, 15, 16, 15]
    """
    split = [layers // stages] * stages
    for place in range(2, layers % stages + 2):
        split[-place] += 1
    return split


def pipeline_bounds(layers: int, stages: int) -> list[int]:
    """First layer of each stage, and the end of the last.

    >>> pipeline_bounds(61, 4)
    [0, 15, 30, 46, 61]
    """
    return [0, *accumulate(pipeline_split(layers, stages))]


def experts_on(count: int, width: int, rank: int) -> int:
    """Experts of one rank of an expert-parallel group: the first `count % width` have one more.

    Source: vllm/model_executor/layers/fused_moe/expert_map_manager.py (v0.32.0)

    >>> [experts_on(10, 4, rank) for rank in range(4)]
    [3, 3, 2, 2]
    """
    return count // width + (rank < count % width)


def expert_ids(count: int, width: int, rank: int, *, round_robin: bool = False) -> range:
    """Which experts a rank of an expert-parallel group holds: a run of them, or every `width`-th.

    Source: vllm/model_executor/layers/fused_moe/expert_map_manager.py, determine_expert_map
    (v0.32.0)

    >>> [list(expert_ids(10, 4, rank)) for rank in (0, 3)]
    [[0, 1, 2], [8, 9]]
    >>> list(expert_ids(10, 4, 1, round_robin=True))
    [1, 5, 9]
    """
    if round_robin:
        return range(rank, count, width)
    start = rank * (count // width) + min(rank, count % width)
    return range(start, start + experts_on(count, width, rank))


def head_ids(count: int, tp: int, rank: int) -> range:
    """Which of `count` heads a tensor-parallel rank has; more ranks than heads hold copies.

    Source: vllm/model_executor/layers/linear.py, QKVParallelLinear (v0.32.0)

    >>> [list(head_ids(8, 4, 1)), list(head_ids(4, 8, 5))]
    [[2, 3], [2]]
    """
    if tp > count:
        head = rank // (tp // count)
        return range(head, head + 1)
    own = count // tp
    return range(rank * own, (rank + 1) * own)
