"""Rules met while layers are built; where vLLM dies of a bare assert the words are ours."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case, latent, llama
from vllm_parallel.catalog import load_model
from vllm_parallel.model import ModelConfig

QWEN2: Final = {
    "architectures": ["Qwen2ForCausalLM"],
    "torch_dtype": "bfloat16",
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 32768,
    "use_sliding_window": True,
    "sliding_window": 4096,
}
MOE: Final = {
    "torch_dtype": "bfloat16",
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 4096,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "num_experts_per_tok": 2,
    "max_position_embeddings": 8192,
}


def few_experts(**keys: object) -> ModelConfig:
    """Fewer experts than a node has GPUs."""
    return load_model(
        MOE
        | keys
        | {
            "architectures": ["Qwen3MoeForCausalLM"],
            "num_hidden_layers": 8,
            "num_experts": 4,
            "moe_intermediate_size": 512,
        }
    )


NARROW: Final = latent("narrow", qk_rope_head_dim=32)

BUILD_CASES: Final = (
    Case(
        rule="dp-fits-node",
        model="mixtral-8x7b",
        fails={"tp": 4, "dp": 4, "gpus_per_node": 8},
        passes=(
            {"tp": 4, "dp": 2, "gpus_per_node": 8},
            {"tp": 4, "dp": 4},
            {"tp": 4, "dp": 4, "gpus_per_node": 8, "nodes": 2},
            {"tp": 4, "dp": 4, "gpus_per_node": 8, "nnodes": 2},
            {"tp": 4, "dp": 4, "gpus_per_node": 8, "data_parallel_size_local": 2},
            {"tp": 4, "dp": 4, "gpus_per_node": 8, "data_parallel_rank": 3},
            {"tp": 4, "dp": 4, "gpus_per_node": 8, "data_parallel_backend": "ray"},
            {"tp": 4, "dp": 4, "gpus_per_node": 8, "distributed_executor_backend": "ray"},
            {
                "tp": 4,
                "dp": 4,
                "gpus_per_node": 8,
                "distributed_executor_backend": "external_launcher",
            },
        ),
        says="DP adjusted local rank 8 is out of bounds for 8 devices.",
        fix="use at most 8 for tp x pp x pcp x dp on one node",
    ),
    Case(
        rule="nodes-divide-by-engines",
        model="mixtral-8x7b",
        fails={"pp": 3, "dp": 2, "nnodes": 3, "data_parallel_size_local": 1},
        passes=(
            {"pp": 3, "dp": 2, "nnodes": 2, "data_parallel_size_local": 1},
            {"pp": 3, "dp": 2, "nnodes": 6, "data_parallel_size_local": 1},
            {"pp": 3, "dp": 2, "nnodes": 3, "data_parallel_rank": 0},
            {"pp": 3, "dp": 2, "data_parallel_size_local": 1},
        ),
        says="Invalid data parallel configuration: nnodes (3) must be divisible by the number of "
        "data parallel node groups (2 = data_parallel_size 2 / data_parallel_size_local 1)",
        fix="use a --data-parallel-size-local that fills whole nodes",
    ),
    Case(
        rule="nodes-have-engines",
        model="mixtral-8x7b",
        fails={"dp": 2, "nnodes": 2, "data_parallel_size_local": 0},
        passes=(
            {"dp": 2, "nnodes": 2, "data_parallel_size_local": 1},
            {"dp": 2, "nnodes": 2},
            {"dp": 2, "data_parallel_size_local": 0},
        ),
        says="integer division or modulo by zero",
        fix="give --data-parallel-size-local the engines of this node",
    ),
    Case(
        rule="dense-replica-spans-nodes",
        model="llama-3.1-70b",
        fails={"tp": 16, "dp": 2, "nnodes": 4},
        passes=(
            {"tp": 16, "nnodes": 4},
            {"tp": 16, "dp": 2, "nnodes": 2},
            {"tp": 4, "dp": 4, "nnodes": 2},
            {"tp": 16, "dp": 2, "nnodes": 4, "distributed_executor_backend": "external_launcher"},
        ),
        says="With --data-parallel-size 2 a replica of a dense model cannot span 2 nodes by "
        "--nnodes: each first node opens a world of 16 ranks at the one master address, the "
        "others wait there for one of 32, and the start times out.",
        fix="start 2 servers without --data-parallel-size behind a load balancer, each with "
        "--nnodes 2 over nodes of its own",
    ),
    Case(
        rule="spread-replicas-share-nodes",
        model="mixtral-8x7b",
        fails={"tp": 4, "dp": 2, "nnodes": 2, "data_parallel_size_local": 2},
        passes=(
            {"tp": 4, "dp": 2, "nnodes": 4},
            {"tp": 4, "dp": 2, "nnodes": 2},
            {"tp": 4, "dp": 2, "data_parallel_size_local": 2},
            {"tp": 4, "dp": 4, "nnodes": 2, "data_parallel_size_local": 2},
        ),
        says="2 replicas cannot share the same 2 nodes: a node after the first starts the ranks "
        "of one replica only, and the others wait until the start times out.",
        fix="drop --data-parallel-size-local",
    ),
    Case(
        rule="windows-on-all-layers",
        model=load_model(QWEN2 | {"max_window_layers": 28}),
        fails={},
        passes=({}, {"tp": 2}),
        passing_model=load_model(QWEN2 | {"max_window_layers": 32}),
        says="Sliding window for some but all layers is not supported. This model uses sliding "
        "window but `max_window_layers` = 28 is less than `num_hidden_layers` = 32. Please open "
        "an issue to discuss this feature.",
        fix="set use_sliding_window to false in the config, with --max-model-len inside the window",
    ),
    Case(
        rule="vocabulary-divides-by-tp",
        model=llama("odd-words", vocab_size=31999),
        fails={"tp": 24},
        passes=({"tp": 16}, {"tp": 8}, {"tp": 1}),
        says="32000 is not divisible by 24",
        fix="use a --tensor-parallel-size that divides the padded vocabulary of 32000",
    ),
    Case(
        rule="kv-heads-divide-by-tp",
        model=llama("eight-kv-heads"),
        fails={"tp": 6},
        passes=({"tp": 4}, {"tp": 8}, {"tp": 16}, {"tp": 24}),
        says="tp=6 neither divides 8 KV heads nor is a multiple of them.",
        fix="use a --tensor-parallel-size of 1, 2, 4, 8, 16, 24, 48",
    ),
    Case(
        rule="kv-heads-without-copies",
        model="gpt-oss-120b",
        fails={"tp": 16},
        passes=({"tp": 8}, {"tp": 2, "dp": 2}),
        says="integer modulo by zero",
        fix="use a --tensor-parallel-size of 1, 2, 4, 8: gpt-oss-120b keeps no copies of KV heads",
    ),
    Case(
        rule="query-heads-divide-by-kv-heads",
        model=llama("uneven", num_attention_heads=48, num_key_value_heads=9),
        fails={"tp": 3},
        passes=({"tp": 3},),
        passing_model=llama("even", num_attention_heads=48, num_key_value_heads=12),
        says="num_heads (16) is not divisible by num_kv_heads (3)",
        fix="48 query heads cannot share 9 KV heads evenly: check the config",
    ),
    Case(
        rule="pcp-attention-backend",
        model="llama-3.1-8b",
        fails={"pcp": 2},
        passes=({"pcp": 1},),
        says="No valid attention backend found for cuda: PCP not supported",
        fix="use --prefill-context-parallel-size 1: llama-3.1-8b has no latent attention",
    ),
    Case(
        rule="mla-prefill-dimensions",
        model=NARROW,
        fails={"gpu": "h100-80gb"},
        passes=({"gpu": "b200"}, {"gpu": "mi300x"}, {}),
        says="No valid MLA prefill backend found with MLAPrefillSelectorConfig("
        "dtype=torch.bfloat16, mla_dimensions=(qk_nope_head_dim=128, qk_rope_head_dim=32, "
        "v_head_dim=128))",
        fix="run narrow on a Blackwell GPU: H100 80GB SXM has no kernel for its heads",
    ),
    *(
        Case(
            rule="mla-prefill-dimensions",
            model=NARROW,
            fails={"gpu": "a100-80gb"},
            passes=({"gpu": gpu}, {"gpu": "a100-80gb"}),
            passing_model=latent(
                "wide", qk_nope_head_dim=nope, qk_rope_head_dim=64, v_head_dim=value
            ),
            says="No valid MLA prefill backend found with MLAPrefillSelectorConfig("
            "dtype=torch.bfloat16, mla_dimensions=(qk_nope_head_dim=128, qk_rope_head_dim=32, "
            "v_head_dim=128))",
            fix="run narrow on a Blackwell GPU: A100 80GB has no kernel for its heads",
        )
        for gpu, nope, value in (("h100-80gb", 128, 128), ("h200", 192, 256), ("l40s", 64, 128))
    ),
    Case(
        rule="mla-pcp-with-dcp",
        model="deepseek-v3",
        fails={"tp": 8, "pcp": 2, "dcp": 2},
        passes=({"tp": 8, "pcp": 2}, {"tp": 8, "dcp": 2}),
        says="MLAAttention does not support PCP+DCP.",
        fix="use either -pcp or -dcp: both together need sparse attention",
    ),
    Case(
        rule="mlp-divides-by-tp",
        model=llama("odd-mlp", intermediate_size=1000),
        fails={"tp": 16},
        passes=({"tp": 8},),
        says="tp=16 does not divide the MLP width of 1000.",
        fix="use a --tensor-parallel-size that divides 1000",
    ),
    Case(
        rule="mlp-divides-by-tp",  # the shared expert, cut unless whole copies are kept
        model=latent("odd-shared", moe_intermediate_size=72),
        fails={"tp": 16, "ep": True},
        passes=({"tp": 8, "ep": True}, {"tp": 16, "dp": 2, "ep": True}),
        says="tp=16 does not divide the MLP width of 72.",
        fix="use a --tensor-parallel-size that divides 72",
    ),
    Case(
        rule="world-divides-experts",
        model="gpt-oss-120b",
        fails={"pp": 7},
        passes=({"pp": 6}, {"tp": 8, "pp": 8}),
        says="7 ranks do not divide the expert width of 2880.",
        fix="use a number of ranks that divides 2880",
    ),
    Case(
        rule="experts-at-least-tp",
        model=few_experts(),
        fails={"tp": 8},
        passes=({"tp": 4}, {"tp": 4, "dp": 2}),
        says="Tensor parallel size 8 is greater than the number of experts 4.",
        fix="use a --tensor-parallel-size of at most 4",
    ),
    Case(
        rule="redundant-experts-refused",
        model=load_model({"architectures": ["ExaoneMoEForCausalLM"], "dtype": "bfloat16"}),
        fails={
            "dp": 2,
            "ep": True,
            "enable_eplb": True,
            "eplb_config": {"num_redundant_experts": 2},
        },
        passes=(
            {"dp": 2, "ep": True, "enable_eplb": True},
            {"dp": 3, "ep": True, "enable_eplb": True},
        ),
        says="Redundant experts are only supported with EPLB.",
        fix="drop num_redundant_experts: the experts of the given config are built without EPLB",
    ),
    Case(
        rule="eplb-even-experts",
        model="mixtral-8x7b",
        fails={"dp": 3, "ep": True, "enable_eplb": True},
        passes=(
            {"dp": 4, "ep": True, "enable_eplb": True},
            {
                "dp": 3,
                "ep": True,
                "enable_eplb": True,
                "eplb_config": {"num_redundant_experts": 1},
            },
            {"dp": 3, "ep": True},
        ),
        says="EPLB currently only supports even distribution of experts across ranks. Got 8 "
        "experts and 3 EP ranks.",
        fix="add redundant experts until 3 divides their number",
    ),
    Case(
        rule="expert-width-divides",
        model="mixtral-8x7b",
        fails={"tp": 2, "dp": 3},
        passes=({"tp": 2, "dp": 3, "ep": True}, {"tp": 2, "dp": 7}),
        says="dp x pcp x tp = 6 does not divide the expert width of 14336.",
        fix="add --enable-expert-parallel, or use a product of 1, 2, 4, 7, 8, 14, 16, 28, 32, 56, "
        "64, 112, 128, 224, 256, 448, 512, 896, 1024, 1792, 2048, 3584, 7168, 14336",
    ),
    Case(
        rule="stage-without-experts",
        model="glm-4.5",
        fails={"pp": 46},
        passes=({"pp": 23}, {"pp": 1}),
        says="No Glm4MoE layer found in model.layers.",
        fix="use fewer pipeline stages, so that each holds a MoE layer",
    ),
    Case(
        rule="stage-without-experts",
        model=few_experts(mlp_only_layers=[0, 1]),  # its first stage is met first
        fails={"tp": 8, "pp": 4},
        passes=({"tp": 4, "pp": 2},),
        says="No Qwen3MoE layer found in the model.layers.",
        fix="use fewer pipeline stages, so that each holds a MoE layer",
    ),
    Case(
        rule="stage-without-experts",
        model=load_model(
            MOE
            | {
                "architectures": ["Qwen3MoeForCausalLM"],
                "num_hidden_layers": 8,
                "num_experts": 16,
                "moe_intermediate_size": 512,
                "mlp_only_layers": [6, 7],
            }
        ),
        fails={"pp": 4},
        passes=({"pp": 2},),
        says="No Qwen3MoE layer found in the model.layers.",
        fix="use fewer pipeline stages, so that each holds a MoE layer",
    ),
)
