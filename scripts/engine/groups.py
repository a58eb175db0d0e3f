"""Which ranks form which group, by vLLM's own code with stand-ins for its connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from torch.testing._internal.distributed.fake_pg import FakeStore
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.distributed import parallel_state

from children import Refusal, in_child
from questions import Question, Row
from verdicts import engine_config

LIMIT_SECONDS = 120.0
AXES = ("tp", "pp", "dp", "pcp", "dcp", "ep", "eplb")


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeProcessGroup:
    """The two questions vLLM's layers ask of torch's process group."""

    members: list[int]
    own: int

    def size(self) -> int:
        """How many ranks the group has."""
        return len(self.members)

    def rank(self) -> int:
        """The own rank's place in it."""
        return self.members.index(self.own)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FakeGroup:
    """What layers read of a `GroupCoordinator` as they are built; compared by identity, like it."""

    unique_name: str
    ranks: list[int]
    rank: int
    local_rank: int
    device: torch.device = field(default_factory=lambda: torch.device("meta"))
    device_communicator: None = None
    mq_broadcaster: None = None

    @property
    def world_size(self) -> int:
        """How many ranks the group has."""
        return len(self.ranks)

    @property
    def rank_in_group(self) -> int:
        """The own rank's place in it."""
        return self.ranks.index(self.rank)

    @property
    def first_rank(self) -> int:
        """The rank in the first place."""
        return self.ranks[0]

    @property
    def last_rank(self) -> int:
        """The rank in the last place."""
        return self.ranks[-1]

    @property
    def is_first_rank(self) -> bool:
        """Whether the own rank is in the first place."""
        return self.rank == self.first_rank

    @property
    def is_last_rank(self) -> bool:
        """Whether the own rank is in the last place."""
        return self.rank == self.last_rank

    @property
    def device_group(self) -> FakeProcessGroup:
        """The group as torch would hold it."""
        return FakeProcessGroup(members=self.ranks, own=self.rank)

    @property
    def cpu_group(self) -> FakeProcessGroup:
        """The same over the CPU."""
        return self.device_group


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Stands in for `init_model_parallel_group`: keeps the rank lists, opens nothing."""

    rank: int
    local_rank: int
    groups: dict[str, list[list[int]]] = field(default_factory=dict)

    def __call__(
        self, group_ranks: list[list[int]], *_: object, group_name: str, **__: object
    ) -> FakeGroup:
        """The stand-in for the group the own rank is in."""
        self.groups[group_name] = group_ranks
        own = next(ranks for ranks in group_ranks if self.rank in ranks)
        return self.group(group_name, own)

    def group(self, name: str, ranks: list[int]) -> FakeGroup:
        """A stand-in with these ranks."""
        return FakeGroup(
            unique_name=f"{name}:0", ranks=ranks, rank=self.rank, local_rank=self.local_rank
        )


def world_size(config: VllmConfig) -> int:
    """The ranks of all replicas; those of a dense model are worlds apart, here numbered on."""
    return int(config.parallel_config.world_size_across_dp)


def enter_world(config: VllmConfig, rank: int) -> dict[str, list[list[int]]]:
    """Makes this process rank `rank` of the deployment and returns every axis's groups.

    Sets globals of torch and vLLM, so it is for a forked child only.
    """
    parallel = config.parallel_config
    replica, local_rank = divmod(rank, parallel.world_size)
    parallel.data_parallel_rank, parallel.rank = replica, local_rank
    total = world_size(config)
    torch.distributed.init_process_group(
        backend="fake", store=FakeStore(), rank=rank, world_size=total
    )
    recorder = Recorder(rank=rank, local_rank=local_rank)
    parallel_state._WORLD = recorder.group("world", list(range(total)))  # noqa: SLF001
    parallel_state._NODE_COUNT = 1  # noqa: SLF001
    parallel_state.init_model_parallel_group = recorder
    with set_current_vllm_config(config):
        parallel_state.initialize_model_parallel(
            parallel.tensor_parallel_size,
            parallel.pipeline_parallel_size,
            parallel.prefill_context_parallel_size,
            parallel.decode_context_parallel_size,
            backend="fake",
        )
    return {axis: recorder.groups[axis] for axis in sorted(AXES) if axis in recorder.groups}


def groups(question: Question, root: Path) -> list[Row]:
    """The row of `groups.jsonl`; a layout refused before its groups exist says why instead."""
    config = engine_config(question, root)
    if isinstance(config, Refusal):
        return [refused(config) | {"groups": None}]
    found = in_child(partial(enter_world, config, 0), LIMIT_SECONDS)
    if isinstance(found, Refusal):
        return [refused(found) | {"groups": None}]
    return [{"groups": found}]


def refused(refusal: Refusal) -> Row:
    """The part of a row that says why there is no more."""
    return {"accepted": False, "stage": refusal.stage, "message": refusal.message}
