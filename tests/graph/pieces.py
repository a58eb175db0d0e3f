"""Models spelled out tensor by tensor, as plainly as can be: the oracle of `graph`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Config = Mapping[str, Any]

LLAMA: Final = {
    "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "hidden_size": 96,
    "intermediate_size": 192, "num_hidden_layers": 7, "num_attention_heads": 24,
    "num_key_value_heads": 6, "head_dim": 16, "vocab_size": 1000, "max_position_embeddings": 512,
}  # fmt: skip
QWEN3_MOE: Final = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 10, "num_experts_per_tok": 2,
    "moe_intermediate_size": 96, "decoder_sparse_step": 2, "mlp_only_layers": [3],
    "attention_bias": True,
}  # fmt: skip
DEEPSEEK: Final = LLAMA | {
    "architectures": ["DeepseekV3ForCausalLM"], "q_lora_rank": None, "kv_lora_rank": 32,
    "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "n_routed_experts": 10,
    "n_shared_experts": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
    "first_k_dense_replace": 2, "moe_layer_freq": 2, "topk_method": "noaux_tc",
}  # fmt: skip
INDEXED: Final = DEEPSEEK | {
    "architectures": ["DeepseekV32ForCausalLM"], "q_lora_rank": 40, "index_n_heads": 5,
    "index_head_dim": 24, "index_topk": 64,
}  # fmt: skip
INVENTED: Final[dict[str, Config]] = {
    "llama, biased and tied": LLAMA
    | {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    "qwen2": LLAMA | {"architectures": ["Qwen2ForCausalLM"], "head_dim": 4},
    "qwen3, biased": LLAMA | {"architectures": ["Qwen3ForCausalLM"], "attention_bias": True},
    "qwen3 experts on some layers": QWEN3_MOE,
    "qwen3 experts, tied": QWEN3_MOE | {"tie_word_embeddings": True},
    "deepseek without query ranks": DEEPSEEK,
    "deepseek with query ranks": DEEPSEEK | {"q_lora_rank": 40, "topk_method": "greedy"},
    "deepseek with an indexer": INDEXED,
    "glm with an indexer on some layers": INDEXED
    | {"architectures": ["GlmMoeDsaForCausalLM"], "index_topk_pattern": "FSFFSSF"},
    "glm, light": DEEPSEEK | {"architectures": ["Glm4MoeLiteForCausalLM"], "q_lora_rank": 24},
    "glm without query norms": LLAMA
    | {
        "architectures": ["Glm4MoeForCausalLM"], "n_routed_experts": 6, "n_shared_experts": 2,
        "num_experts_per_tok": 2, "moe_intermediate_size": 48, "first_k_dense_replace": 1,
        "attention_bias": False, "use_qk_norm": False,
    },
}  # fmt: skip
ODD: Final = Path(__file__).parents[1] / "oracle" / "configs"

WHOLE_ENDS: Final = ("Qwen3MoeForCausalLM", "MixtralForCausalLM", "GptOssForCausalLM")
COPIES_SHARED: Final = ("Deepseek", "GlmMoeDsa", "Llama4")
COPIES_DENSE: Final = ("DeepseekV32", "GlmMoeDsa")
FLOAT32_ROUTER: Final = ("Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM")
WITHOUT_EPLB: Final = ("GptOssForCausalLM",)
FLOAT32: Final = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor, or a part of one, of the whole model, and who holds it."""

    name: str
    share: str
    elements: int
    bytes_each: int = 2


def grouped(c: Config) -> Iterator[Piece]:
    arch, hidden, heads = c["architectures"][0], c["hidden_size"], c["num_attention_heads"]
    size, kv = c.get("head_dim") or hidden // heads, c["num_key_value_heads"]
    bias = bool(c.get("attention_bias"))
    rows = [("tp", heads * size), ("kv", kv * size), ("kv", kv * size)]
    for share, count in rows:
        yield Piece("self_attn.qkv_proj.weight", share, count * hidden)
        if bias or arch in ("Qwen2ForCausalLM", "GptOssForCausalLM"):
            yield Piece("self_attn.qkv_proj.bias", share, count)
    yield Piece("self_attn.o_proj.weight", "tp", hidden * heads * size)
    if (bias and arch.startswith("Llama")) or arch == "GptOssForCausalLM":
        yield Piece("self_attn.o_proj.bias", "all", hidden)
    if arch.startswith("Qwen3") or (arch == "Glm4MoeForCausalLM" and c["use_qk_norm"]):
        yield Piece("self_attn.q_norm.weight", "all", size)
        yield Piece("self_attn.k_norm.weight", "all", size)
    if arch == "GptOssForCausalLM":
        yield Piece("self_attn.sinks", "tp", heads)


def latent(c: Config) -> Iterator[Piece]:
    hidden, heads, rank = c["hidden_size"], c["num_attention_heads"], c["q_lora_rank"]
    kv, nope, rope = c["kv_lora_rank"], c["qk_nope_head_dim"], c["qk_rope_head_dim"]
    if rank:
        yield Piece("self_attn.fused_qkv_a_proj.weight", "all", (rank + kv + rope) * hidden)
        yield Piece("self_attn.q_a_layernorm.weight", "all", rank)
        yield Piece("self_attn.q_b_proj.weight", "tp", heads * (nope + rope) * rank)
    else:
        yield Piece("self_attn.kv_a_proj_with_mqa.weight", "all", (kv + rope) * hidden)
        yield Piece("self_attn.q_proj.weight", "tp", heads * (nope + rope) * hidden)
    yield Piece("self_attn.kv_a_layernorm.weight", "all", kv)
    yield Piece("self_attn.kv_b_proj.weight", "tp", heads * (nope + c["v_head_dim"]) * kv)
    yield Piece("self_attn.o_proj.weight", "tp", hidden * heads * c["v_head_dim"])


def indexer(c: Config, layer: int) -> Iterator[Piece]:
    pattern = c.get("index_topk_pattern", "F" * c["num_hidden_layers"])
    if "index_topk" in c and pattern[layer] == "F":
        heads, size = c["index_n_heads"], c["index_head_dim"]
        yield Piece("self_attn.indexer.wq_b.weight", "all", heads * size * c["q_lora_rank"])
        columns = c["hidden_size"]
        yield Piece("self_attn.indexer.wk_weights_proj.weight", "all", (size + heads) * columns)
        yield Piece("self_attn.indexer.k_norm.weight", "all", size, FLOAT32)
        yield Piece("self_attn.indexer.k_norm.bias", "all", size, FLOAT32)


def experts_of(c: Config) -> int:
    return c.get("num_experts") or c.get("n_routed_experts") or c.get("num_local_experts") or 0


def has_experts(c: Config, layer: int) -> bool:
    match c["architectures"][0]:
        case "MixtralForCausalLM" | "GptOssForCausalLM":
            return True
        case "Qwen3MoeForCausalLM":
            step = c["decoder_sparse_step"]
            return layer not in c["mlp_only_layers"] and layer % step == step - 1
        case "Glm4MoeForCausalLM":
            return bool(layer >= c["first_k_dense_replace"])
        case arch if "n_routed_experts" in c and "kv_lora_rank" in c:
            assert arch.startswith(("Deepseek", "Glm"))
            return bool(layer >= c["first_k_dense_replace"] and layer % c["moe_layer_freq"] == 0)
        case "Llama4ForConditionalGeneration":
            return layer % 2 == 1
        case _:
            return False


def gated(name: str, share: str, width: int, hidden: int) -> Iterator[Piece]:
    yield Piece(f"{name}.gate_up_proj.weight", share, 2 * width * hidden)
    yield Piece(f"{name}.down_proj.weight", share, hidden * width)


def dense(c: Config) -> Iterator[Piece]:
    width = c.get("intermediate_size_mlp") or c["intermediate_size"]
    share = "dense" if c["architectures"][0].startswith(COPIES_DENSE) else "tp"
    yield from gated("mlp", share, width, c["hidden_size"])
    if c.get("mlp_bias"):
        yield Piece("mlp.gate_up_proj.bias", "tp", 2 * width)
        yield Piece("mlp.down_proj.bias", "all", c["hidden_size"])


def sparse(c: Config) -> Iterator[Piece]:
    arch, hidden, count = c["architectures"][0], c["hidden_size"], experts_of(c)
    width = c.get("moe_intermediate_size") or c["intermediate_size"]
    router = FLOAT32 if arch in FLOAT32_ROUTER else 2
    yield Piece("mlp.gate.weight", "all", count * hidden, router)
    yield Piece("mlp.experts.w13_weight", "experts", count * 2 * width * hidden)
    yield Piece("mlp.experts.w2_weight", "experts", count * hidden * width)
    if arch == "GptOssForCausalLM":
        yield Piece("mlp.gate.bias", "all", count)
        yield Piece("mlp.experts.w13_bias", "experts", count * 2 * width)
        yield Piece("mlp.experts.w2_bias", "experts' rows", count * hidden)
    if arch in FLOAT32_ROUTER or c.get("topk_method") == "noaux_tc":
        yield Piece("mlp.gate.e_score_correction_bias", "all", count, FLOAT32)
    shared = 1 if arch.startswith("Llama4") else c.get("n_shared_experts") or 0
    if shared:
        yield from gated("mlp.shared_experts", "shared", shared * width, hidden)


def block(c: Config, layer: int) -> Iterator[Piece]:
    yield from latent(c) if "kv_lora_rank" in c else grouped(c)
    yield from indexer(c, layer)
    yield from sparse(c) if has_experts(c, layer) else dense(c)
    yield Piece("input_layernorm.weight", "all", c["hidden_size"])
    yield Piece("post_attention_layernorm.weight", "all", c["hidden_size"])


def padded(rows: int) -> int:
    while rows % 64:
        rows += 1
    return rows


def ends(c: Config, *, first: bool, last: bool) -> Iterator[Piece]:
    table = padded(c["vocab_size"]) * c["hidden_size"]
    tied = c.get("tie_word_embeddings", False)
    everywhere = c["architectures"][0] in WHOLE_ENDS
    if first or everywhere or (last and tied):
        yield Piece("embed_tokens.weight", "tp", table)
    if last or everywhere:
        yield Piece("norm.weight", "all", c["hidden_size"])
        if not tied:
            yield Piece("lm_head.weight", "tp", table)
