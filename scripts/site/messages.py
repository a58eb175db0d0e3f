"""One message of a step in numbers, for sentences: its shape, its bytes, how often it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from vllm_parallel import Deployment
from vllm_parallel.collectives import Batch, Collective, collectives
from vllm_parallel.render.numbers import size, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One kind of call of a rank, as the package computes it."""

    call: Collective

    @classmethod
    def of(cls, deployment: Deployment, batch: Batch, where: str) -> Message:
        """The call of the first stage that this place in the model makes.

        Raises:
            ValueError: no call is made there, or unlike ones.
        """
        found = [call for call in collectives(deployment, batch)[0].calls if call.where == where]
        if len(found) != 1:
            raise ValueError(f"{len(found)} calls are made at {where}, not one")
        return cls(call=found[0])

    @property
    def shape(self) -> str:
        """Elements of its input, dimension by dimension."""
        return " × ".join(map(whole, self.call.shape))

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return self.call.dtype.bytes

    @property
    def bytes(self) -> str:
        """Bytes of its input."""
        return size(self.call.bytes)

    @property
    def count(self) -> int:
        """How often it is sent in a step."""
        return self.call.count
