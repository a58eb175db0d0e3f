"""How the weights of a block are stored."""

from __future__ import annotations

from dataclasses import dataclass

from vllm_parallel.dtype import Dtype
from vllm_parallel.weight import Part, Weight, whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Storage:
    """Makes the weights of a block: in the model's dtype, over the model's hidden size.

    `names` are pairs of a part's usual name and the family's.
    """

    hidden: int
    dtype: Dtype
    names: tuple[tuple[str, str], ...] = ()

    def linear(
        self,
        name: str,
        rows: tuple[Part, ...],
        columns: tuple[Part, ...],
        *,
        bias: bool = False,
    ) -> list[Weight]:
        """The parameters of a linear layer, `rows` out and `columns` in.

        >>> storage = Storage(hidden=8, dtype=Dtype.BFLOAT16)
        >>> [w.name for w in storage.linear("o_proj", whole(8), whole(4), bias=True)]
        ['o_proj.weight', 'o_proj.bias']
        """
        name = dict(self.names).get(name, name)
        weights = [Weight(f"{name}.weight", (rows, columns), self.dtype)]
        if bias:
            weights.append(Weight(f"{name}.bias", (rows,), self.dtype))
        return weights

    def vector(self, name: str, *parts: Part) -> Weight:
        """One dimension in the model's dtype: a norm, a bias, one number a head."""
        return Weight(name, (parts,), self.dtype)

    @property
    def across(self) -> tuple[Part, ...]:
        """The hidden size, which no axis cuts."""
        return whole(self.hidden)
