"""What vLLM calls the modules of a family, and which of them never are quantised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.frozen import dataclass, replace

Fused = tuple[tuple[str, tuple[str, ...]], ...]  # a fused layer, and a checkpoint's layers

QKV: Final[Fused] = (("qkv_proj", ("q_proj", "k_proj", "v_proj")),)
GATE_UP: Final[Fused] = (("gate_up_proj", ("gate_proj", "up_proj")),)
QUERY_KEY: Final[Fused] = (("fused_qkv_a_proj", ("q_a_proj", "kv_a_proj_with_mqa")),)
NUMBERED: Final = ("w1", "w3", "w2")  # projections of an expert
PLAIN: Final = ("mlp.gate", "mlp.shared_expert_gate", "self_attn.indexer.wk_weights_proj")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A family's modules: where its layers are, what is called otherwise, what is fused.

    Source: vllm/model_executor/models/*.py, packed_modules_mapping and hf_to_vllm_mapper (v0.32.0)
    """

    layers: str = "model.layers"
    renamed: tuple[tuple[str, str], ...] = ()  # beginnings of names here, and vLLM's
    beside: tuple[str, str] = ("", "")  # the same, of mixers that count on from the layers
    packed: Fused = (*QKV, *GATE_UP)
    plain: tuple[str, ...] = PLAIN  # built without the config's method
    projections: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj")
    head: str | None = "lm_head"  # built with the method under this name, None if without
    cache: bool = True  # and so is attention
    transformers: bool = False  # served by the Transformers backend
    maps: bool = True  # the family maps the names of checkpoints to its own
    mapped: tuple[str, str] = ("", "")  # part of a checkpoint's names, and what it becomes
    mapped_first: bool = False  # only where a name begins with it

    def of(self, layer: int, layers: int, name: str) -> str:
        """vLLM's name of a module."""
        ours, theirs = self.beside
        if ours and name.startswith(ours):
            return f"model.{layer + layers}.{theirs}{name.removeprefix(ours)}"
        for ours, theirs in self.renamed:
            if name.startswith(ours):
                name = theirs + name.removeprefix(ours)
                break
        return f"{self.layers}.{layer}.{name}"

    def read(self, keys: Keys) -> Keys:
        """The config with the names in its lists as the family maps them; patterns stay.

        Source: vllm/model_executor/models/interfaces.py, SupportsQuant (v0.32.0)
        """
        return Keys(keys.name, self._lists(keys.values)) if self.maps else keys

    def _lists(self, values: JsonObject) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in values.items():
            if isinstance(value, list):
                found[key] = [self._entry(entry) for entry in value]
            elif key == "quantization" and isinstance(value, Mapping):
                found[key] = self._lists(value)
            else:
                found[key] = value
        return found

    def _entry(self, entry: object) -> object:
        theirs, ours = self.mapped
        if not theirs or not isinstance(entry, str) or entry.startswith("re:"):
            return entry
        if self.mapped_first:
            return ours + entry.removeprefix(theirs) if entry.startswith(theirs) else entry
        return entry.replace(theirs, ours)


DELTA: Final[Fused] = (
    *QKV,
    *GATE_UP,
    ("in_proj_qkvz", ("in_proj_qkv", "in_proj_z")),
    ("in_proj_ba", ("in_proj_b", "in_proj_a")),
)
BOTH: Final = Names()
UNMAPPED: Final = Names(maps=False)
QKV_ALONE: Final = Names(packed=QKV)
BACKEND: Final = Names(transformers=True)
SHARED: Final = (
    ("mlp.shared_experts.gate_up_proj", "shared_mlp.input_linear"),
    ("mlp.shared_experts.down_proj", "shared_mlp.output_linear"),
    ("mlp.gate_up_proj", "shared_mlp.input_linear"),
    ("mlp.down_proj", "shared_mlp.output_linear"),
    ("mlp.", "block_sparse_moe."),
    ("mamba.", "mixer."),
)
MIXER: Final = tuple(f".{name}_proj" for name in ("in", "x", "dt", "out"))  # of the first Mamba
FIRST_MAMBA: Final = Names(
    layers="backbone.layers", plain=tuple(f"mixer{name}" for name in MIXER), head=None
)
SHORT: Final = Names(
    renamed=(("mlp.", "feed_forward."),),
    packed=(*QKV, ("w13", ("w1", "w3"))),
    plain=(),
    projections=NUMBERED,
    cache=False,
    mapped=(".conv.", ".short_conv."),
)
GATED: Final = Names(plain=("mlp.shared_expert_gate",))
HEADLESS: Final = Names(head=None)  # the head is built without the method, or there is none
LATENT: Final = Names(packed=(*GATE_UP, *QUERY_KEY), maps=False)
FEED_FORWARD: Final = Names(
    renamed=(
        ("mlp.gate.", "feed_forward.router."),
        ("mlp.shared_experts.", "feed_forward.shared_expert."),
        ("mlp.", "feed_forward."),
    )
)
# Families whose quantised layers were laid beside vLLM's; others are refused by name.
NAMES: Final[Mapping[str, Names]] = {
    **dict.fromkeys(
        (
            "LlamaForCausalLM", "LLaMAForCausalLM", "InternLM3ForCausalLM", "MistralForCausalLM",
            "Ministral3ForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM",
            "Ernie4_5ForCausalLM", "Exaone4ForCausalLM", "GemmaForCausalLM", "Gemma3ForCausalLM",
            "GraniteForCausalLM", "GraniteSWAForCausalLM", "SolarForCausalLM",
        ),
        BOTH,
    ),
    **dict.fromkeys(("CohereForCausalLM", "Cohere2ForCausalLM", "Gemma2ForCausalLM"), HEADLESS),
    **dict.fromkeys(("Glm4ForCausalLM", "Glm4MoeForCausalLM"), UNMAPPED),
    **dict.fromkeys(
        (
            "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
            "GlmMoeDsaForCausalLM", "Glm4MoeLiteForCausalLM",
        ),
        LATENT,
    ),
    **dict.fromkeys(
        (
            "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM", "GraniteMoeHybridForCausalLM",
        ),
        Names(renamed=SHARED, packed=QKV, maps=False),
    ),
    **dict.fromkeys(("MambaForCausalLM", "FalconMambaForCausalLM"), FIRST_MAMBA),
    "Mamba2ForCausalLM": Names(layers="backbone.layers", head=None),
    **dict.fromkeys(("Lfm2ForCausalLM", "Lfm2MoeForCausalLM"), SHORT),
    "FalconH1ForCausalLM": Names(
        renamed=(("mlp.", "feed_forward."), ("self_attn.", "")),
        beside=("mamba.mamba.", "mixer."),
        head=None,
        mapped=("mamba", "mamba.mamba"),
    ),
    "JambaForCausalLM": Names(
        renamed=(("mlp.", "feed_forward."), ("self_attn.", "")),
        plain=(*PLAIN, *(f"mamba{name}" for name in MIXER)),
        head=None,
        cache=False,
        mapped=(".self_attn.", "."),
    ),
    "NemotronHForCausalLM": Names(
        renamed=(("mlp.", "mixer."), ("self_attn.", "mixer.")),
        packed=QKV,
        mapped=("backbone", "model"),
        mapped_first=True,
    ),
    "NemotronForCausalLM": QKV_ALONE,
    "Qwen2MoeForCausalLM": QKV_ALONE,
    "MiniMaxM2ForCausalLM": QKV_ALONE,
    "OlmoeForCausalLM": QKV_ALONE,
    "PhiMoEForCausalLM": replace(QKV_ALONE, head=None),
    "OrionForCausalLM": Names(packed=()),
    "Qwen3NextForCausalLM": HEADLESS,
    **dict.fromkeys(("Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"), Names(packed=DELTA)),
    "OlmoHybridForCausalLM": replace(
        UNMAPPED,
        packed=(*QKV, *GATE_UP, ("in_proj_qkvg", ("q_proj", "k_proj", "v_proj", "g_proj"))),
    ),
    "StableLmForCausalLM": Names(packed=()),
    "Ernie4_5_MoeForCausalLM": UNMAPPED,
    **dict.fromkeys(
        (
            "ArceeForCausalLM", "CwmForCausalLM", "FlexOlmoForCausalLM", "OlmoForCausalLM",
            "Olmo2ForCausalLM", "Olmo3ForCausalLM", "PhiForCausalLM", "SeedOssForCausalLM",
            "SmolLM3ForCausalLM", "Starcoder2ForCausalLM",
        ),
        BACKEND,
    ),
    **dict.fromkeys(
        ("FalconForCausalLM", "GPT2LMHeadModel"),
        Names(layers="transformer.h", packed=(), maps=False),
    ),
    "OPTForCausalLM": Names(
        layers="model.decoder.layers",
        packed=QKV,
        head=None,
        mapped=("decoder.", "model.decoder."),
        mapped_first=True,
    ),
    "ExaoneForCausalLM": Names(
        layers="model.h", packed=(*QKV, ("gate_up_proj", ("c_fc_0", "c_fc_1")))
    ),
    "InternLM2ForCausalLM": Names(packed=(("gate_up_proj", ("w1", "w3")),), head="output"),
    **dict.fromkeys(("AfmoeForCausalLM", "ExaoneMoEForCausalLM"), Names(head="")),
    "Phi3ForCausalLM": Names(
        packed=(("qkv_proj", ("qkv_proj",)), ("gate_up_proj", ("gate_up_proj",)))
    ),
    "MixtralForCausalLM": Names(
        renamed=(("mlp.", "block_sparse_moe."),),
        packed=QKV,
        projections=NUMBERED,
    ),
    "Qwen3MoeForCausalLM": GATED,
    "GptOssForCausalLM": Names(
        renamed=(("self_attn.", "attn."), ("mlp.gate", "mlp.router")),
        packed=QKV,
        head=None,
        mapped=(".self_attn.", ".attn."),
    ),
    "Llama4ForCausalLM": FEED_FORWARD,
    "Llama4ForConditionalGeneration": replace(FEED_FORWARD, layers="language_model.model.layers"),
}  # fmt: skip
