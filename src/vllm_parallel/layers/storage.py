"""How the weights of a block are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.weight import Part, Weight, whole

if TYPE_CHECKING:
    from vllm_parallel.scheme import Scheme


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Storage:
    """Makes the weights of a block: in the model's dtype, over the model's hidden size.

    `names` are pairs of a part's usual name and the family's; `schemes` are those of its quantised
    layers, by the family's names.
    """

    hidden: int
    dtype: Dtype
    names: tuple[tuple[str, str], ...] = ()
    schemes: tuple[tuple[str, Scheme], ...] = ()

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
        scheme = self.scheme(name)
        if scheme is None:
            weights = [Weight(f"{name}.weight", (rows, columns), self.dtype)]
        else:
            weights = self._quantised(name, rows, columns, scheme)
        if bias:
            weights.append(Weight(f"{name}.bias", (rows,), self.dtype))
        return weights

    def scales(self, name: str, heads: Part) -> list[Weight]:
        """The scales of a KV cache that a checkpoint brings, none where it brings none."""
        scheme = self.scheme(name)
        return [] if scheme is None else self._quantised(name, (heads,), (), scheme)

    def scheme(self, name: str) -> Scheme | None:
        """How a layer of the block is quantised, None if it is not."""
        return next((scheme for quantised, scheme in self.schemes if quantised == name), None)

    def vector(self, name: str, *parts: Part) -> Weight:
        """One dimension in the model's dtype: a norm, a bias, one number a head."""
        return Weight(name, (parts,), self.dtype)

    @property
    def across(self) -> tuple[Part, ...]:
        """The hidden size, which no axis cuts."""
        return whole(self.hidden)

    def _quantised(
        self, name: str, rows: tuple[Part, ...], columns: tuple[Part, ...], scheme: Scheme
    ) -> list[Weight]:
        from vllm_parallel.layers.quantised import Linear  # noqa: PLC0415  # few models need it

        return Linear(name=name, rows=rows, columns=columns, scheme=scheme).weights(self.dtype)
