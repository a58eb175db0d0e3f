"""Rules of caches: what the config refuses, what workers meet, and the order of both."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import (
    Case,
    windows_alone,
    with_chunks_inside,
    with_idle_layers,
    with_states,
    with_windows,
)

STATES: Final = with_states()
NO_PAGE_SIZE: Final = (
    "KV cache layout LBNHC cannot express this model's mixed page sizes ([]); a backend should "
    "declare block-outermost supported layouts (e.g. BLHNC), or set VLLM_KV_CACHE_LAYOUT=BLHNC."
)

CACHE_CONFIG_CASES: Final = (
    Case(
        rule="turboquant-finds-attention",
        model=STATES,
        fails={"kv_cache_dtype": "turboquant_k8v4"},
        passes=({"kv_cache_dtype": "fp8"}, {}),
        says="TurboQuant KV cache requires identifiable full-attention layers, but none were found "
        "in the hybrid model config.",
        fix="use another --kv-cache-dtype: each layer of with-states has attention beside a mixer",
    ),
    Case(
        rule="mamba-block-needs-prefix-caching",
        model=STATES,
        fails={"mamba_block_size": 64, "enable_prefix_caching": False},
        passes=(
            {"mamba_block_size": 64},
            {"mamba_block_size": 4096, "max_model_len": 4096, "enable_prefix_caching": False},
            {"enable_prefix_caching": False},
        ),
        says="--mamba-block-size can only be set with --enable-prefix-caching",
        fix="drop --mamba-block-size",
    ),
)

CACHE_LOAD_CASES: Final = (
    Case(
        rule="attention-backend",
        model="llama-3.1-8b",
        fails={"gpu": "h100-80gb", "block_size": 40},
        passes=(
            {"gpu": "h100-80gb", "block_size": 48},
            {"gpu": "h100-80gb"},
            {"gpu": "mi300x", "block_size": 40},
            {"block_size": 40},  # no GPU is named
            {"gpu": "h100-80gb", "dtype": "float32"},
        ),
        says="No valid attention backend found for cuda: head_size=128, kv_cache_dtype=auto, "
        "block_size=40",
        fix="use another --kv-cache-dtype, or no --block-size: llama-3.1-8b asks for what no "
        "kernel reads",
    ),
    *(
        Case(
            rule="attention-backend",
            model=model,
            fails={"kv_cache_dtype": word, "tp": 8},
            passes=({"kv_cache_dtype": "fp8", "tp": 8},),
            says=f"No valid attention backend found for cuda: head_size={head}, "
            f"kv_cache_dtype={word}, block_size=None",
            fix=f"use another --kv-cache-dtype, or no --block-size: {model} asks for what no "
            "kernel reads",
        )
        for model, head, word in (
            ("llama-3.1-8b", 128, "fp8_inc"),
            ("llama-3.1-8b", 128, "fp8_ds_mla"),
            ("llama-3.1-8b", 128, "nvfp4_4over6"),  # Blackwell's
            ("gpt-oss-120b", 64, "nvfp4"),
            ("deepseek-v3", 576, "int8_per_token_head"),
            ("deepseek-v3", 576, "fp8_e5m2"),
        )
    ),
    Case(
        rule="attention-backend",
        model=windows_alone(),
        fails={"kv_cache_dtype": "turboquant_k8v4"},
        passes=(
            {
                "kv_cache_dtype": "turboquant_k8v4",
                "kv_cache_dtype_skip_layers": ["sliding_window"],
            },
        ),
        says="No valid attention backend found for cuda: head_size=128, "
        "kv_cache_dtype=turboquant_k8v4, block_size=None",
        fix="use another --kv-cache-dtype, or no --block-size: windows-alone asks for what no "
        "kernel reads",
    ),
    Case(
        rule="turboquant-without-chunks",
        model="llama-4-scout",
        passing_model=with_chunks_inside(),
        fails={"kv_cache_dtype": "turboquant_3bit_nc", "tp": 8},
        passes=({"kv_cache_dtype": "turboquant_3bit_nc", "tp": 8},),
        says="Unknown TurboQuant cache dtype: 'auto'. Valid presets: turboquant_k8v4, "
        "turboquant_4bit_nc, turboquant_k3v4_nc, turboquant_3bit_nc",
        fix="use another --kv-cache-dtype: llama-4-scout has chunked layers at its ends",
    ),
    Case(
        rule="turboquant-without-chunks",
        model="llama-4-maverick",
        fails={"kv_cache_dtype": "turboquant_k8v4", "tp": 8},
        passes=({"kv_cache_dtype": "fp8", "tp": 8}, {"tp": 8}),
        says="Unknown TurboQuant cache dtype: 'auto'. Valid presets: turboquant_k8v4, "
        "turboquant_4bit_nc, turboquant_k3v4_nc, turboquant_3bit_nc",
        fix="use another --kv-cache-dtype: llama-4-maverick has chunked layers at its ends",
    ),
    Case(
        rule="shared-cache-on-its-stage",
        model=with_windows(borrows=True),
        fails={"pp": 12},  # the last stage has layers 44 to 47, which read layers 42 and 43
        passes=({"pp": 8}, {"pp": 1}, {"tp": 8}),
        says="Specified KV sharing target layer for model.layers.44.self_attn.attn is not valid: "
        "target layer model.layers.42.self_attn.attn is not a valid Attention layer in the model.",
        fix="use fewer pipeline stages: layer 44 reads the cache of layer 42",
    ),
    *(
        Case(
            rule="stages-with-caches",
            model=with_idle_layers(mixers=mixers),
            fails={"pp": 2},
            passes=({"pp": 1}, {"tp": 2}),
            says=says,
            fix="use fewer pipeline stages, so that each has a layer with a cache",
        )
        for mixers, says in ((False, "integer division or modulo by zero"), (True, NO_PAGE_SIZE))
    ),
    Case(
        rule="caches-in-groups",
        model=STATES,
        fails={"disable_hybrid_kv_cache_manager": True},
        passes=({}, {"disable_hybrid_kv_cache_manager": False}),
        says="Failed to promote local KV cache specs to one unified type.",
        fix="drop --disable-hybrid-kv-cache-manager",
    ),
)
