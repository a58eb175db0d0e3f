"""Which scheme each layer of a model has, from its `quantization_config`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from vllm_parallel.block import Block, Experts, LatentAttention
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.quantisation.compressed import read_compressed
from vllm_parallel.catalog.quantisation.fp8 import Mxfp4, read_fp8
from vllm_parallel.catalog.quantisation.keys import ASK_FOR_TWIN
from vllm_parallel.catalog.quantisation.method import HALVES, Method, Module, Refused
from vllm_parallel.catalog.quantisation.modelopt import read_modelopt, split_patterns
from vllm_parallel.catalog.quantisation.names import NAMES, Names
from vllm_parallel.catalog.quantisation.online import Online
from vllm_parallel.catalog.quantisation.packed import read_awq, read_gptq
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.graph import ModelGraph
from vllm_parallel.methods import DEPRECATED, DEPRECATION, METHODS
from vllm_parallel.model import ModelConfig
from vllm_parallel.scheme import Quantisation, Scheme
from vllm_parallel.weight import Layer

Schemes = tuple[tuple[str, Scheme], ...]
COPIES_GATES: Final = ("awq", "gptq")
READERS: Final[Mapping[str, Callable[[Keys], Method]]] = {
    "fp8": read_fp8,
    "awq": read_awq,
    "gptq": read_gptq,
    "compressed-tensors": read_compressed,
    **{
        name: partial(read_modelopt, checkpoint=name)
        for name in ("modelopt", "modelopt_fp4", "modelopt_mxfp8")
    },
}
NO_MXFP4: Final = "Transformers modeling backend does not support MXFP4 quantization yet."
MATRIX: Final = 2  # dimensions
EXPERTS: Final = "mlp.experts"
CACHE: Final = "self_attn.attn"


def quantised(model: ModelConfig, keys: Keys) -> ModelConfig:
    """The model with the schemes that its `quantization_config` gives its layers.

    Layers whose schemes differ become different kinds.

    Raises:
        CatalogError: a method, or a layout of one, that is not modelled.
    """
    _refuse_towers(model)
    keys.refuse_null("quant_method")
    name = keys.text("quant_method", default="").lower().replace("_tensors", "-tensors")
    if not name:
        return model  # as vLLM takes it
    try:
        method = _method(model, name, keys)
    except Refused as refusal:
        facts = Quantisation(
            method=name,
            checkpoint=name,
            dtypes=HALVES,
            refused_at_config=str(refusal),
        )
        return replace(model, quantisation=facts)
    return _stored(model, method)


def quantised_online(model: ModelConfig, name: str) -> ModelConfig:
    """An unquantised model that `--quantization` quantises while it loads."""
    _refuse_towers(model)
    stored = _stored(model, Online(name=name))
    return replace(model, quantisation=stored.quantisation, loaded=stored)


def _stored(model: ModelConfig, method: Method) -> ModelConfig:
    if method.facts.checkpoint in COPIES_GATES:
        model = replace(model, kinds=tuple(_with_copied_gates(kind) for kind in model.kinds))
    modules = Modules(model=model, method=method, names=_names(model))
    try:
        return modules.quantised()
    except Refused as refusal:
        facts = replace(method.facts, refused_at_load=str(refusal))
        return replace(model, quantisation=facts)


def _with_copied_gates(block: Block) -> Block:
    """The block, the gates of its delta net whole on every rank: Marlin takes no narrow ones.

    Source: vllm/model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py, maybe_disable_tp (v0.32.0)
    """
    mixer = block.mixer
    if mixer is None or mixer.kind != "GDN_ATTN":
        return block
    from vllm_parallel.mixer import GatedDeltaNet  # noqa: PLC0415  # only such models pay for it

    if not isinstance(mixer, GatedDeltaNet) or mixer.interleaved or mixer.separate_gates:
        return block
    return replace(block, mixer=replace(mixer, copied_gates=True))


def _method(model: ModelConfig, name: str, keys: Keys) -> Method:
    if name == "mxfp4":
        gpt_oss = model.architecture == "GptOssForCausalLM"
        return Mxfp4(name="gpt_oss_mxfp4" if gpt_oss else "mxfp4")
    if name in DEPRECATED:
        raise Refused(str((DEPRECATION, name)))
    if name not in METHODS:
        raise Refused(f"Unknown quantization method: {name}. Must be one of {list(METHODS)}.")
    names = _names(model)
    reader = READERS.get(name)
    if reader is None:
        raise CatalogError(
            subject=model.name,
            problem=f"is quantised with {shortened(name)}, which is not modelled",
            fix=ASK_FOR_TWIN,
        )
    if names.maps and name.startswith("modelopt"):
        keys = Keys(keys.name, split_patterns(keys.values))
    return reader(names.read(keys))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Modules:
    """The modules of a model, asked one by one for their schemes."""

    model: ModelConfig
    method: Method
    names: Names

    def quantised(self) -> ModelConfig:
        """The model, its layers told apart where their schemes differ.

        Raises:
            Refused: vLLM would not build some layer.
        """
        if self.names.transformers and self.method.facts.method == "mxfp4":
            raise Refused(NO_MXFP4)
        kinds: dict[Block, int] = {}
        linears = [self._linears(layer) for layer in ModelGraph.of(self.model).kinds]
        pattern = []
        for number, kind in enumerate(self.model.pattern):
            block = self.model.kinds[kind]
            schemes = self._schemes(number, linears[kind], block)
            pattern.append(kinds.setdefault(replace(block, schemes=schemes), len(kinds)))
        facts = self.method.facts
        if self.names.head is not None:
            facts = replace(facts, head=self.method.head(self._module(self.names.head)))
        if self.model.is_latent and facts.method == "compressed-tensors":
            facts = replace(facts, kv_cache_dtype=None)  # MLA does not look at its scheme
        model = replace(
            self.model,
            kinds=tuple(kinds),
            pattern=tuple(pattern),
            quantisation=facts,
            mtp=self._mtp(),
        )
        _refuse_unused(model)
        return model

    def _mtp(self) -> Block | None:
        """The block of the MTP module, which is named as the layer after the last."""
        block = self.model.mtp
        if block is None:
            return None
        (layer,) = ModelGraph.of(replace(self.model, kinds=(block,), pattern=(0,))).kinds
        schemes = self._schemes(self.model.layers, self._linears(layer), block)
        return replace(block, schemes=schemes)

    def _schemes(self, number: int, linears: list[str], block: Block) -> Schemes:
        of = partial(self.names.of, number, len(self.model.pattern))
        found: list[tuple[str, Scheme | None]] = [
            (name, self.method.linear(self._module(of(name)))) for name in linears
        ]
        if isinstance(block.mlp, Experts):
            module = self._module(of(EXPERTS))
            module = replace(module, hidden=block.mlp.latent or module.hidden)
            found.append((EXPERTS, self.method.experts(module)))
        if block.attention is not None and self.names.cache:
            latent = isinstance(block.attention, LatentAttention)
            found.append((CACHE, self.method.cache(latent=latent)))
        return tuple((name, scheme) for name, scheme in found if scheme is not None)

    def _linears(self, layer: Layer) -> list[str]:
        """The linear layers of a block that are built with the method."""
        matrices = (w.name for w in layer.weights if len(w.dimensions) == MATRIX)
        names = (name.removesuffix(".weight") for name in matrices if name.endswith(".weight"))
        return [n for n in names if n not in self.names.plain and not n.endswith("norm")]

    def _module(self, prefix: str) -> Module:
        return Module(
            prefix=prefix,
            packed=dict(self.names.packed),
            hidden=self.model.hidden,
            projections=self.names.projections,
        )


def _refuse_unused(model: ModelConfig) -> None:
    """A scheme of a layer that is built without one would be left out silently."""
    for block, layer in zip(model.kinds, ModelGraph.of(model).kinds, strict=True):
        names = {weight.name for weight in layer.weights}
        for name, scheme in block.schemes:
            if f"{name}.{scheme.tensors[0].name}" not in names:
                raise CatalogError(
                    subject=model.name,
                    problem=f"has a quantised {name}, which is not modelled",
                    fix=ASK_FOR_TWIN,
                )


def _names(model: ModelConfig) -> Names:
    names = NAMES.get(model.architecture)
    if names is None:
        raise CatalogError(
            subject=model.name,
            problem=f"is a quantised {shortened(model.architecture)}, which is not modelled",
            fix=ASK_FOR_TWIN,
        )
    return names


def _refuse_towers(model: ModelConfig) -> None:
    if model.towers:
        raise CatalogError(
            subject=model.name,
            problem="is quantised and has towers, whose quantisation is not modelled",
            fix=ASK_FOR_TWIN,
        )
