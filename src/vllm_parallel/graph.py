"""A model as a list of named weights, each with how it is split and over what.

Names and shapes are those of vLLM's own parameters, so that a rank's list can be laid beside
`model.named_parameters()` of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from vllm_parallel.layers import (
    Storage,
    attention_weights,
    latent_copies,
    mlp_weights,
    norm_weights,
)
from vllm_parallel.model import Block, ModelConfig
from vllm_parallel.weight import Layer, Part, Split, Weight, whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelGraph:
    """A model's layers, one for each kind of block, and what the ends of the pipeline hold."""

    model: ModelConfig
    embedding: Layer
    kinds: tuple[Layer, ...]
    norm: Layer
    head: Layer

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
        first, last = first or self.model.traits.whole_ends, last or self.model.traits.whole_ends
        tied = self.model.tied
        layers = [self.embedding] if first or (last and tied) else []
        if last:
            layers += [self.norm] if tied else [self.norm, self.head]
        return tuple(layers)


@lru_cache(maxsize=256)
def _graph(model: ModelConfig) -> ModelGraph:
    hidden, dtype = model.hidden, model.dtype
    vocabulary = (Part(model.vocab, 1, Split.VOCABULARY, "rows of the padded vocabulary"),)
    return ModelGraph(
        model=model,
        embedding=Layer(
            "embedding", (Weight("embed_tokens.weight", (vocabulary, whole(hidden)), dtype),)
        ),
        kinds=tuple(
            _block(f"block {kind}", block, Storage(hidden=hidden, dtype=dtype))
            for kind, block in enumerate(model.kinds)
        ),
        norm=Layer("final norm", (Weight("norm.weight", (whole(hidden),), dtype),)),
        head=Layer("head", (Weight("lm_head.weight", (vocabulary, whole(hidden)), dtype),)),
    )


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
    weights += norm_weights(block.norms, storage)
    return Layer(name, tuple(weights), copies, buffers)
