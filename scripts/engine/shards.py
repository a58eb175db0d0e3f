"""A rank's layers, built by vLLM on the meta device in a forked child, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch
from torch import nn
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.model_executor.model_loader.utils import get_model_architecture, initialize_model
from vllm.platforms import current_platform
from vllm.utils.torch_utils import set_default_torch_dtype
from vllm.v1.kv_cache_interface import KVCacheSpec
from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
from vllm.v1.worker.gpu.pcp_manager import PCPManager
from vllm.v1.worker.ubatch_utils import get_num_ubatches
from vllm.v1.worker.workspace import init_workspace_manager

from children import Refusal, attempt, in_child
from cuda_device import OnMeta
from groups import enter_world, world_size
from questions import QuestionError, Row

T = TypeVar("T")
LIMIT_SECONDS = 900.0
NOWHERE = torch.device("meta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One rank as vLLM built it; it does not leave the child that built it."""

    rank: int
    config: VllmConfig
    model: nn.Module
    kv_specs: dict[str, KVCacheSpec]
    groups: dict[str, list[list[int]]]

    @classmethod
    def of(cls, config: VllmConfig, rank: int) -> Shard:
        """Builds the rank. For a forked child only: it sets globals."""
        found = enter_world(config, rank)
        with building(config):
            init_workspace_manager(NOWHERE, get_num_ubatches(config.parallel_config))
            model = initialize_model(vllm_config=config)
            # Workers do this after loading; it moves the block size of hybrid models.
            current_platform.update_block_size_for_backend(config)
            specs = get_kv_cache_spec(config)
        PCPManager.validate_config(config, supports_mm_inputs=False)
        return cls(rank=rank, config=config, model=model, kv_specs=specs, groups=found)

    @property
    def weight_bytes(self) -> int:
        """The bytes of its parameters."""
        return total_bytes(self.model.parameters())

    def row(self, *, parameters: bool) -> Row:
        """The entry of `ranks`; with every parameter and buffer if asked, a tied one once."""
        row: Row = {
            "rank": self.rank,
            "weight_bytes": self.weight_bytes,
            "buffer_bytes": total_bytes(self.model.buffers()),
            "kv_layers": len(self.kv_specs),
            "kv_page_bytes": sorted({spec.page_size_bytes for spec in self.kv_specs.values()}),
        }
        if parameters:
            row["parameters"] = dict(map(described, self.model.named_parameters()))
            row["buffers"] = dict(map(described, self.model.named_buffers()))
        return row


@contextmanager
def building(config: VllmConfig) -> Iterator[None]:
    """In which vLLM builds layers of a config that take no memory."""
    dtype = set_default_torch_dtype(config.model_config.dtype)
    with set_current_vllm_config(config), OnMeta(), NOWHERE, dtype:
        yield


def total_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """The bytes of the tensors' elements."""
    return sum(int(tensor.numel()) * int(tensor.element_size()) for tensor in tensors)


def described(named: tuple[str, torch.Tensor]) -> tuple[str, Row]:
    """A tensor's name, and its shape and dtype."""
    name, tensor = named
    dtype = str(tensor.dtype).removeprefix("torch.")
    return name, {"shape": list(tensor.shape), "dtype": dtype}


def stage_ranks(config: VllmConfig) -> list[int]:
    """The first rank of each stage of the first replica."""
    parallel = config.parallel_config
    width = parallel.prefill_context_parallel_size * parallel.tensor_parallel_size
    return [stage * width for stage in range(parallel.pipeline_parallel_size)]


def seen_in_shards(
    config: VllmConfig, more_ranks: Sequence[int], look: Callable[[Shard], T]
) -> dict[int, T] | Refusal:
    """What `look` sees in the first rank of each stage, the last of all and those asked for.

    Raises:
        QuestionError: A rank is asked for that the deployment has not.
    """
    total = world_size(config)
    if not set(more_ranks) <= set(range(total)):
        raise QuestionError(f"more_ranks {more_ranks} outside 0 to {total - 1}")
    # Imported once here, the model's module need not be imported by every child.
    architecture = attempt(partial(get_model_architecture, config.model_config), "load")
    if isinstance(architecture, Refusal):
        return architecture
    found = {}
    for rank in sorted({*stage_ranks(config), total - 1, *more_ranks}):
        seen = in_child(partial(build_and_look, config, rank, look), LIMIT_SECONDS)
        if isinstance(seen, Refusal):
            return seen
        found[rank] = seen
    return found


def build_and_look(config: VllmConfig, rank: int, look: Callable[[Shard], T]) -> T:
    """What a child does."""
    return look(Shard.of(config, rank))
