"""What vLLM calls the modules of a family, and which of them never are quantised."""

from __future__ import annotations

from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.frozen import dataclass

QKV: Final = {"qkv_proj": ("q_proj", "k_proj", "v_proj")}
GATE_UP: Final = {"gate_up_proj": ("gate_proj", "up_proj")}
QUERY_KEY: Final = {"fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa")}
WHOLE: Final = {"qkv_proj": ("qkv_proj",), "gate_up_proj": ("gate_up_proj",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A family's modules: where its layers are, what is called otherwise, what is fused.

    Source: vllm/model_executor/models/*.py, packed_modules_mapping (v0.32.0)
    """

    layers: str = "model.layers"
    renamed: tuple[tuple[str, str], ...] = ()  # beginnings of names here, and vLLM's
    packed: tuple[tuple[str, tuple[str, ...]], ...] = (*QKV.items(), *GATE_UP.items())
    plain: tuple[str, ...] = (
        "mlp.gate",
        "mlp.shared_expert_gate",
        "self_attn.indexer.wk_weights_proj",
    )  # built without the config's method
    projections: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj")
    head: bool = True  # the head is built with the method
    mapped: tuple[str, str] = ("", "")  # part of a checkpoint's names, and what it becomes

    def of(self, layer: int, name: str) -> str:
        """vLLM's name of a module."""
        for ours, theirs in self.renamed:
            if name.startswith(ours):
                name = theirs + name.removeprefix(ours)
                break
        return f"{self.layers}.{layer}.{name}"

    def read(self, keys: Keys) -> Keys:
        """The config with the names in its lists as vLLM has them; patterns stay.

        Source: vllm/model_executor/models/interfaces.py, SupportsQuant (v0.32.0)
        """
        theirs, ours = self.mapped
        if not theirs:
            return keys

        def mapped(entry: object) -> object:
            plain = isinstance(entry, str) and not entry.startswith("re:")
            return str(entry).replace(theirs, ours) if plain else entry

        values = {
            key: [mapped(entry) for entry in value] if isinstance(value, list) else value
            for key, value in keys.values.items()
        }
        return Keys(keys.name, values)


LATENT: Final = Names(packed=(*GATE_UP.items(), *QUERY_KEY.items()))
FEED_FORWARD: Final = (
    ("mlp.gate.", "feed_forward.router."),
    ("mlp.shared_experts.", "feed_forward.shared_expert."),
    ("mlp.", "feed_forward."),
)
PLAIN_HEAD: Final = Names(head=False)  # or none but the embedding
NAMES: Final = {
    **dict.fromkeys(
        (
            "CohereForCausalLM",
            "Cohere2ForCausalLM",
            "FalconH1ForCausalLM",
            "FalconMambaForCausalLM",
            "Gemma2ForCausalLM",
            "JambaForCausalLM",
            "Mamba2ForCausalLM",
            "MambaForCausalLM",
            "OPTForCausalLM",
            "Qwen3NextForCausalLM",
        ),
        PLAIN_HEAD,
    ),
    "MixtralForCausalLM": Names(
        renamed=(("mlp.", "block_sparse_moe."),),
        packed=tuple(QKV.items()),
        projections=("w1", "w3", "w2"),
    ),
    "Qwen3MoeForCausalLM": Names(plain=("mlp.shared_expert_gate",)),
    "DeepseekV2ForCausalLM": LATENT,
    "DeepseekV3ForCausalLM": LATENT,
    "GptOssForCausalLM": Names(
        renamed=(("self_attn.", "attn."), ("mlp.gate", "mlp.router")),
        packed=tuple(QKV.items()),
        head=False,
        mapped=(".self_attn.", ".attn."),
    ),
    "Llama4ForCausalLM": Names(renamed=FEED_FORWARD),
    "Llama4ForConditionalGeneration": Names(
        layers="language_model.model.layers", renamed=FEED_FORWARD
    ),
    "Phi3ForCausalLM": Names(packed=tuple(WHOLE.items())),
}


def names_of(architecture: str) -> Names:
    """A family's names; most have those of Llama."""
    return NAMES.get(architecture, Names())
