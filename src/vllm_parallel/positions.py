"""What a model knows of positions: its rotary tables, and the longest sequence it allows."""

from __future__ import annotations

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotary:
    """A table of rotary embeddings, kept whole on every rank with a layer that reads it.

    Source: vllm/model_executor/layers/rotary_embedding/base.py (v0.32.0)

    >>> Rotary(positions=131072, dim=128, dtype=Dtype.BFLOAT16).bytes
    33554432
    """

    positions: int
    dim: int
    dtype: Dtype

    @property
    def bytes(self) -> int:
        """Bytes of the cosines and sines."""
        return self.positions * self.dim * self.dtype.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimit:
    """The longest sequence that the config allows, and the key that says so.

    `assumed` is what `--max-model-len` becomes when it is not given and `tokens` are too many
    for the short factors of a rotary table.

    Source: vllm/config/model.py, _get_and_verify_max_len (v0.32.0)
    """

    key: str
    tokens: float  # vLLM multiplies by a float factor, and its message prints it so
    model_max_length: int | None = None
    assumed: int | None = None

    @property
    def max_model_len(self) -> int:
        """What `--max-model-len` becomes when it is not given."""
        return int(self.tokens) if self.assumed is None else self.assumed

    def allows(self, asked: int | None) -> bool:
        """Whether vLLM takes this `--max-model-len`; None and -1 are "derive it".

        >>> ContextLimit(key="max_position_embeddings", tokens=8192).allows(8193)
        False
        """
        if asked is None or asked <= self.tokens:
            return True
        return self.model_max_length is not None and asked <= self.model_max_length
