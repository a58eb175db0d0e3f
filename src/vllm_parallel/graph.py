"""A model as a list of named weights, each with how it is split and over what.

Names and shapes are those of vLLM's own parameters, so that a rank's list can be laid beside
`model.named_parameters()` of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from vllm_parallel.block import Block
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.layers import (
    Storage,
    attention_weights,
    latent_copies,
    mlp_weights,
    norm_weights,
)
from vllm_parallel.model import ModelConfig
from vllm_parallel.weight import Layer, Part, Split, Weight, whole

if TYPE_CHECKING:  # few models have any
    from vllm_parallel.extras import Extra
    from vllm_parallel.tower import Tower


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelGraph:
    """A model's layers, one for each kind of block, and what the ends of the pipeline hold."""

    model: ModelConfig
    embedding: Layer
    kinds: tuple[Layer, ...]
    norm: Layer
    head: Layer
    everywhere: Layer | None
    towers: Mapping[Tower, Mapping[Layer, int]]  # each kind of layer, and how often

    @classmethod
    def of(cls, model: ModelConfig) -> ModelGraph:
        """The graph of a model, made once for each.

        >>> from vllm_parallel.catalog import load_model
        >>> graph = ModelGraph.of(load_model("llama-3.1-8b"))
        >>> [w.name for w in graph.kinds[0].weights][:2]
        ['self_attn.qkv_proj.weight', 'self_attn.o_proj.weight']
        """
        return _graph(model)

    def ends(self, *, first: bool, last: bool) -> tuple[Layer, ...]:
        """What a stage holds beside its blocks.

        Source: vllm/model_executor/models/llama.py, LlamaModel.__init__ (v0.32.0)
        """
        traits, tied = self.model.traits, self.model.tied
        first, last = first or traits.whole_ends, last or traits.whole_ends
        layers = [] if self.everywhere is None else [self.everywhere]
        layers += [self.embedding] if first or traits.whole_embedding or (last and tied) else []
        quantisation = self.model.quantisation
        own = not tied or (quantisation is not None and quantisation.head is not None)
        layers += [self.norm] if last else []
        layers += [self.head] if own and (last or traits.whole_head) else []
        return tuple(layers)


@lru_cache(maxsize=256)
def _graph(model: ModelConfig) -> ModelGraph:
    storage, ends = Storage(hidden=model.hidden, dtype=model.dtype), model.ends
    vocabulary = (Part(model.vocab, 1, Split.VOCABULARY, "rows of the padded vocabulary"),)
    table = (vocabulary, whole(model.hidden))
    norms = ("norm",) if ends is None else ends.norms
    scheme = model.quantisation and model.quantisation.head
    heads = replace(storage, schemes=(("lm_head", scheme),)) if scheme else storage
    head = heads.linear("lm_head", *table, bias=ends is not None and ends.head_bias)
    if model.tied and scheme:  # it takes the embedding for its weight, and keeps the scales
        head = [weight for weight in head if weight.name != "lm_head.weight"]
    return ModelGraph(
        model=model,
        embedding=Layer(
            "embedding",
            (
                Weight("embed_tokens.weight", table, model.dtype),
                *_own(() if ends is None else ends.with_embedding, storage),
            ),
        ),
        kinds=tuple(
            _block(
                f"block {kind}",
                block,
                replace(storage, names=block.names, schemes=block.schemes),
            )
            for kind, block in enumerate(model.kinds)
        ),
        norm=Layer(
            "final norm",
            tuple(norm_weights(norms, storage, bias=ends is not None and ends.norm_bias)),
        ),
        head=Layer("head", tuple(head)),
        everywhere=None
        if ends is None
        else Layer("every stage", _own(ends.everywhere, storage), (), _own(ends.buffers, storage)),
        towers=_towers(model) if model.towers else {},
    )


def _towers(model: ModelConfig) -> Mapping[Tower, Mapping[Layer, int]]:
    from vllm_parallel.layers.towers import tower_weights  # noqa: PLC0415  # as above

    storage = Storage(hidden=model.hidden, dtype=model.dtype)
    return {
        tower: {
            Layer(stack.name, tower_weights(stack, storage)): stack.count for stack in tower.stacks
        }
        for tower in model.towers
    }


def _own(extras: tuple[Extra, ...], storage: Storage) -> tuple[Weight, ...]:
    """Tensors of the family's own."""
    if not extras:
        return ()
    from vllm_parallel.layers import own  # noqa: PLC0415  # only such models pay for it

    return tuple(weight for extra in extras for weight in own.own_weights(extra, storage))


def _block(name: str, block: Block, storage: Storage) -> Layer:
    weights: list[Weight] = []
    copies: tuple[Weight, ...] = ()
    buffers: tuple[Weight, ...] = ()
    if block.attention is not None:
        weights += attention_weights(block.attention, storage)
        copies = latent_copies(block.attention, storage)
    if block.mixer is not None:
        from vllm_parallel.layers import mixer  # noqa: PLC0415  # only such models pay for it

        weights += mixer.mixer_weights(block.mixer, storage)
        buffers = tuple(mixer.mixer_buffers(block.mixer, storage))
    if block.mlp is not None:
        weights += mlp_weights(block.mlp, storage)
    weights += norm_weights(block.norms, storage, bias=block.norm_bias)
    weights += _own(block.extras, storage)
    return Layer(name, tuple(weights), copies, buffers + _own(block.buffers, storage))


@lru_cache(maxsize=256)
def plain_twin(model: ModelConfig) -> ModelConfig:
    """The model without quantisation, whose shapes are those of the arithmetic."""
    kinds = tuple(replace(kind, schemes=()) for kind in model.kinds)
    return replace(model, kinds=kinds, quantisation=None, towers=())
