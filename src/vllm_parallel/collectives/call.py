"""The rank that calls: its deployment, its stage and its batch, and the calls it can make."""

from __future__ import annotations

from vllm_parallel.collectives.batch import Batch
from vllm_parallel.collectives.collective import Collective, Kind
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.layout import Axis
from vllm_parallel.units import ceil_div


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Caller:
    """One rank of a pipeline stage in one step."""

    deployment: Deployment
    batch: Batch
    stage: int

    @property
    def is_first(self) -> bool:
        """Whether this stage embeds the tokens."""
        return self.stage == 0

    @property
    def is_last(self) -> bool:
        """Whether this stage makes the logits."""
        return self.stage == self.deployment.layout.pp - 1

    @property
    def hidden_shape(self) -> tuple[int, int]:
        """The rank's tokens by the hidden size."""
        return self.batch.tokens, self.deployment.model.hidden

    @property
    def split_tokens(self) -> int:
        """Tokens that a rank keeps where they are split over tp around the experts, padded."""
        return ceil_div(self.batch.tokens, self.deployment.layout.tp)

    def call(self, group: Axis, kind: Kind, shape: tuple[int, ...], where: str) -> Collective:
        """A call in the model's dtype."""
        dtype = self.deployment.model.dtype
        return Collective(group=group, kind=kind, shape=shape, dtype=dtype, where=where)

    def tp_reduce(self, where: str) -> Collective:
        """The all-reduce that closes a pair of column- and row-parallel layers."""
        return self.call(Axis.TP, Kind.ALL_REDUCE, self.hidden_shape, where)
