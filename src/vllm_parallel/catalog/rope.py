"""Rotary tables and the longest context, from a config's rope keys."""

from __future__ import annotations

from math import ceil
from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.model import ContextLimit, Rotary

DTYPES: Final = {
    "bfloat16": Dtype.BFLOAT16,
    "float16": Dtype.FLOAT16,
    "half": Dtype.FLOAT16,
    "float32": Dtype.BFLOAT16,  # vLLM's auto takes float32 checkpoints down
    "float": Dtype.BFLOAT16,
}
UNSCALED: Final = ("default", "llama3")  # the table has the config's positions
FROM_ORIGINAL: Final = ("yarn", "deepseek_yarn")  # original positions times the factor
LENGTH_ALREADY_SCALED: Final = ("llama3", "yarn", "deepseek_yarn", "longrope", "su")


def rope_type(keys: Keys) -> str:
    """How positions are scaled; `default` without any scaling."""
    scaling = keys.nested("rope_parameters", "rope_scaling")
    return "default" if scaling is None else scaling.text("rope_type", "type", default="default")


def read_rotary(keys: Keys, dim: int, *, partial: float = 1.0) -> Rotary:
    """The table that vLLM builds for heads of `dim` elements, in the model's dtype.

    `partial` is the share of a head that is rotated where the config does not say.

    Source: vllm/model_executor/layers/rotary_embedding/__init__.py, get_rope (v0.32.0)

    Raises:
        CatalogError: a kind of scaling whose table is not modelled.

    >>> keys = Keys("m", {"max_position_embeddings": 4096, "dtype": "bfloat16"})
    >>> read_rotary(keys, 128).positions
    4096
    """
    rotated = _rotated(keys, dim, partial)
    return Rotary(positions=_positions(keys), dim=rotated, dtype=read_dtype(keys))


def read_yarn(keys: Keys, dim: int) -> Rotary:
    """The table of a family that takes every scaling for yarn; not each has a default length.

    Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention (v0.32.0)
    """
    if rope_type(keys) == "default":
        return read_rotary(keys, dim)
    scaling = keys.nested("rope_parameters", "rope_scaling")
    if scaling is not None and rope_type(keys) not in LENGTH_ALREADY_SCALED:
        scaling.size("original_max_position_embeddings")
    rotated = _rotated(keys, dim, 1.0)
    return Rotary(positions=_from_original(keys), dim=rotated, dtype=read_dtype(keys))


def read_dtype(keys: Keys) -> Dtype:
    """The model's dtype, under the old key or the new one.

    Source: vllm/config/model.py, _resolve_auto_dtype (v0.32.0)
    """
    dtype = keys.text("torch_dtype", "dtype")
    if dtype not in DTYPES:
        raise CatalogError(
            subject=keys.name,
            problem=f"has the dtype {shortened(dtype)}, which is not modelled",
            fix=f"modelled are {', '.join(DTYPES)}",
        )
    return DTYPES[dtype]


def _positions(keys: Keys) -> int:
    kind = rope_type(keys)
    positions = keys.size("max_position_embeddings")
    scaling = keys.nested("rope_parameters", "rope_scaling")
    if kind in UNSCALED or scaling is None:
        return positions
    if kind in FROM_ORIGINAL:
        return _from_original(keys)
    if kind == "linear":
        if isinstance(scaling.values.get("factor"), int):
            raise CatalogError(
                subject=keys.name,
                problem="scales rotary positions by a whole number, of which vLLM dies",
                fix="write the factor with a point, as 4.0",
            )
        return ceil(positions * scaling.number("factor"))
    raise CatalogError(
        subject=keys.name,
        problem=f"scales rotary positions by {shortened(kind)}, which is not modelled",
        fix=f"modelled are {', '.join((*UNSCALED, *FROM_ORIGINAL, 'linear'))}",
    )


def _from_original(keys: Keys) -> int:
    key, scaling = (
        "original_max_position_embeddings",
        keys.nested("rope_parameters", "rope_scaling"),
    )
    scaling = scaling or keys
    original = scaling.size(key, default=keys.size("max_position_embeddings"))
    # Beside the rope keys it takes over: transformers, standardize_rope_params.
    if rope_type(keys) in LENGTH_ALREADY_SCALED:
        original = keys.size(key, default=original)
    return ceil(original * scaling.number("factor"))


def _rotated(keys: Keys, dim: int, partial: float) -> int:
    """Elements of a head that are rotated.

    Source: vllm/model_executor/layers/rotary_embedding/__init__.py, get_rope (v0.32.0)
    """
    scaling = keys.nested("rope_parameters", "rope_scaling") or keys
    share = keys.number("partial_rotary_factor", default=partial)
    return int(dim * scaling.number("partial_rotary_factor", default=share))


def read_context(keys: Keys) -> ContextLimit:
    """The derived `max_model_len`, a float as vLLM holds and prints it.

    Source: vllm/config/model.py, _get_and_verify_max_len (v0.32.0)
    """
    key, tokens = "max_position_embeddings", keys.size("max_position_embeddings")
    limit = keys.optional("model_max_length")
    if limit is not None:
        key, tokens = "model_max_length", limit
    scaling = keys.nested("rope_parameters", "rope_scaling")
    scaled = scaling is not None and rope_type(keys) not in LENGTH_ALREADY_SCALED
    factor = scaling.number("factor", default=1.0) if scaling is not None and scaled else 1.0
    return ContextLimit(key=key, tokens=tokens * factor, model_max_length=limit)
