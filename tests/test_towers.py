"""Towers of multimodal models: what is read, what is left out, and which ranks hold it."""

from __future__ import annotations

from typing import Final

import pytest

from tests.test_catalog import refused
from tests.test_families import BARE, Config
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.question import Question
from vllm_parallel.settings import Settings
from vllm_parallel.shard import Shard

SIGLIP: Final[dict[str, object]] = {
    "model_type": "siglip_vision_model", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 28, "patch_size": 7,
}  # fmt: skip
TEXT: Final[dict[str, object]] = BARE | {"architectures": ["LlamaForCausalLM"]}


def joined(family: str, vision: Config | None, **keys: object) -> dict[str, object]:
    config = {"architectures": [f"{family}ForConditionalGeneration"], "torch_dtype": "bfloat16"}
    seen = {} if vision is None else {"vision_config": vision}
    return {**config, "text_config": TEXT, **seen, **keys}


def held(model: ModelConfig, settings: Settings, *, tp: int = 1, rank: int = 0) -> int:
    deployment = Deployment(model=model, layout=Layout(tp=tp, pp=2), settings=settings)
    return Shard.of(deployment, rank).weight_bytes


def siglip_elements(layers: int) -> int:
    """Written out: embeddings, then attention, MLP and two norms of each layer."""
    embeddings = 64 * 3 * 7 * 7 + 64 + 16 * 64
    attention = 3 * (64 * 64 + 64) + 64 * 64 + 64
    mlp = 64 * 96 + 96 + 96 * 64 + 64
    return embeddings + layers * (attention + mlp + 4 * 64)


def test_siglip_and_its_projector() -> None:
    """On every stage, and gone with the language model alone."""
    model = load_model(joined("Llava", SIGLIP))
    projector = 512 * 64 + 512 + 512 * 512 + 512
    for rank in (0, 1):
        with_tower = held(model, Settings(), rank=rank)
        alone = held(model, Settings(language_model_only=True), rank=rank)
        assert with_tower - alone == 2 * (siglip_elements(2) + projector)


@pytest.mark.parametrize(
    "given, layers",
    [(-1, 3), (-2, 2), (1, 1), ([-3, -1], 3), ([1, 2], 2)],
)
def test_layers_that_are_looked_at(given: object, layers: int) -> None:
    model = load_model(joined("LlavaNext", SIGLIP, vision_feature_layer=given))
    outputs = len(given) if isinstance(given, list) else 1
    projector = 512 * 64 * outputs + 512 + 512 * 512 + 512
    alone = held(model, Settings(language_model_only=True))
    assert held(model, Settings()) - alone == 2 * (siglip_elements(layers) + projector)


def test_the_end_of_a_line_stays() -> None:
    """Asked: it is no part of the tower that is left out."""
    alone = Settings(language_model_only=True)
    with_line = held(load_model(joined("LlavaNext", SIGLIP)), alone)
    assert with_line - held(load_model(joined("Llava", SIGLIP)), alone) == 2 * 512


def test_modalities() -> None:
    """A tower stays while one of its inputs may be asked for."""
    model = load_model(joined("Qwen2_5_VL", {"depth": 1, "hidden_size": 64, "num_heads": 4}))
    whole = held(model, Settings())
    for settings, kept in (
        (Settings(image_limit=0), True),
        (Settings(video_limit=0), True),
        (Settings(image_limit=0, video_limit=0), False),
        (Settings(image_limit=1, video_limit=2), True),
        (Settings(language_model_only=True), False),
    ):
        assert (held(model, settings) == whole) is kept, settings


def test_inputs_that_are_dealt() -> None:
    """Whole towers where the model can deal inputs; cut ones where it cannot."""
    qwen = load_model(joined("Qwen2_5_VL", {"depth": 1, "hidden_size": 64, "num_heads": 4}))
    llava = load_model(joined("Llava", SIGLIP))
    dealt = Settings(mm_encoder_tp_mode="data")
    assert held(qwen, dealt, tp=4) > held(qwen, Settings(), tp=4)
    assert held(llava, dealt, tp=4) == held(llava, Settings(), tp=4)


def test_equal_configs_share_a_tower() -> None:
    """They compare by identity, so that what is derived from a model is found again."""
    for family, vision in (
        ("Llava", SIGLIP),
        ("Qwen2VL", {}),
        ("Qwen2_5_VL", {}),
        ("Qwen3VL", {}),
        ("Llama4", {}),
        ("KimiVL", {}),
    ):
        config = joined(family, vision, text_config=TEXT | LATENT_AND_LLAMA_4)
        assert load_model(config) == load_model(dict(config)), family


LATENT_AND_LLAMA_4: Final[dict[str, object]] = {
    "num_local_experts": 8, "n_routed_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 48, "intermediate_size_mlp": 96, "kv_lora_rank": 32,
    "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
}  # fmt: skip


def test_ties() -> None:
    """The outer config decides; some classes ask the text part where it says no."""
    inner = TEXT | {"tie_word_embeddings": True}
    for family, keys, tied in (
        ("Llava", {}, False),
        ("Llava", {"tie_word_embeddings": True}, True),
        ("Llava", {"text_config": inner}, True),
        ("LlavaNext", {"text_config": inner}, False),
        ("Mistral3", {}, True),
        ("Mistral3", {"tie_word_embeddings": False, "text_config": inner}, False),
        ("Qwen2_5_VL", {"text_config": inner}, True),
        ("Qwen3VL", {"text_config": inner}, False),
        ("Qwen3VL", {"tie_word_embeddings": True}, True),
    ):
        assert load_model(joined(family, None, **keys)).tied is tied, (family, keys)


def test_flat_configs() -> None:
    """Older Qwen2-VL configs lay the text part beside the tower."""
    nested = joined("Qwen2VL", {"depth": 1})
    flat = {**TEXT, **{key: value for key, value in nested.items() if key != "text_config"}}
    assert load_model(flat) == load_model(nested)


def test_rotary_tables_for_videos() -> None:
    """Four times as long for Qwen2.5-VL; not for Qwen3-VL, whose positions count tokens."""
    rope = {"rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]}}
    text = TEXT | rope
    assert load_model(joined("Qwen2_5_VL", None, text_config=text)).rotaries[0].positions == 16384
    assert load_model(joined("Qwen3VL", None, text_config=text)).rotaries[0].positions == 4096


def test_refusals() -> None:
    for family, keys, said in (
        ("Llava", {"vision_config": {"model_type": "dinov2"}}, "is a 'dinov2' tower"),
        ("Llava", {"vision_config": SIGLIP | {"hidden_size": 66}}, "66 for 4 heads"),
        ("Llava", {"vision_feature_layer": 4}, "one or several of the 3 layers"),
        ("Llava", {"vision_feature_layer": []}, "one or several of the 3 layers"),
        ("Llava", {"text_config": BARE | {"model_type": "foo"}}, "names no architecture"),
        ("Llava", {"text_config": BARE | {"architectures": ["FooLM"]}}, "model 'FooLM'"),
        ("Qwen3VLMoe", {}, "lacks 'norm_topk_prob'"),
        ("Glm4vMoe", {}, "lacks 'use_qk_norm'"),
        ("KimiVL", {"text_config": TEXT | LATENT_AND_LLAMA_4,
                    "vision_config": {"merge_kernel_size": [2]}}, "no pair of sides"),
    ):  # fmt: skip
        assert said in refused(joined(family, SIGLIP, **keys)), said


def test_limits_as_numbers_and_as_objects() -> None:
    for limit in (0, {"count": 0}, {"count": 0, "width": 512}):
        asked = {"model": "llama-3.1-8b", "args": {"limit_mm_per_prompt": {"image": limit}}}
        assert Question.of(asked).deployment.settings.image_limit == 0
    asked = {"model": "llama-3.1-8b", "args": {"limit_mm_per_prompt": {"image": {"width": 512}}}}
    assert Question.of(asked).deployment.settings.image_limit is None


def test_the_outer_dtype_wins() -> None:
    """Asked: the text part's is looked at only where the whole config has none."""
    inner = TEXT | {"torch_dtype": "float16"}
    for outer, dtype in (({}, Dtype.BFLOAT16), ({"torch_dtype": None}, Dtype.FLOAT16)):
        model = load_model(joined("Llava", SIGLIP, text_config=inner, **outer))
        assert model.dtype is dtype
