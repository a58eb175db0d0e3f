"""Rotary tables and the longest context, from a config's rope keys."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.positions import ContextLimit, Rotary

DTYPES: Final = {
    "bfloat16": Dtype.BFLOAT16,
    "float16": Dtype.FLOAT16,
    "half": Dtype.FLOAT16,
    "float32": Dtype.BFLOAT16,  # vLLM's auto takes float32 checkpoints down
    "float": Dtype.BFLOAT16,
}
WHOLE_HEAD: Final = "proportional"  # the table has every dimension, rotated or not
UNSCALED: Final = ("default", "llama3", "dynamic", "ntk", WHOLE_HEAD)  # the config's positions
STRETCHED: Final = ("dynamic", "ntk")  # their factor moves the base
FROM_ORIGINAL: Final = ("yarn", "deepseek_yarn")  # original positions times the factor
LONG: Final = "longrope"  # original positions for the short factors, then the config's
WANTED: Final = {  # transformers, RotaryEmbeddingConfigMixin: keys without which it ends
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "dynamic": ("factor",),
    LONG: ("short_factor", "long_factor"),
}
LENGTH_ALREADY_SCALED: Final = ("llama3", "yarn", "deepseek_yarn", LONG)
SPELT: Final = {"su": LONG, "mrope": "default"}
ORIGINAL: Final = "original_max_position_embeddings"
PARTIAL: Final = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction")
LENGTHS: Final = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length",
    "max_target_positions", "max_sequence_length", "max_seq_length", "seq_len",
)  # fmt: skip
MROPE_POSITIONS: Final = 4  # videos count on beyond the tokens
THETA: Final = 10000.0


def rope_keys(keys: Keys, kind: str | None = None) -> Keys:
    """The rope keys as `transformers` gathers them; of one kind of layer, where they differ.

    Source: transformers, RotaryEmbeddingConfigMixin.convert_rope_params_to_dict

    >>> keys = Keys("m", {"rope_scaling": {"type": "su"}, "rope_theta": 5.0})
    >>> rope_keys(keys).values["rope_type"], rope_keys(keys).values["rope_theta"]
    ('longrope', 5.0)
    """
    given = keys.nested("rope_scaling")
    if given is None or not given.values:
        given = keys.nested("rope_parameters") or Keys(keys.name, {})
    inner = given.values.get(kind) if kind is not None else None
    values = dict(inner if isinstance(inner, Mapping) else given.values)
    _refuse_odd_types(given)
    named = values.get("rope_type") or values.get("type") or "default"
    values["rope_type"] = SPELT.get(named, named) if isinstance(named, str) else named
    values.setdefault("rope_theta", keys.values.get("rope_theta", THETA))
    return Keys(given.name, values)


def _refuse_odd_types(rope: Keys) -> None:
    """Refuse a type of null, and two that say different things.

    Source: vllm/transformers_utils/config.py, patch_legacy_rope_type (v0.32.0)
    """
    rope.refuse_null("rope_type")
    if "rope_type" not in rope.values or "type" not in rope.values:
        return
    new, old = rope.values["rope_type"], rope.values["type"]
    if new != old and (not isinstance(old, str) or SPELT.get(old) != new):
        raise CatalogError(
            subject=rope.name,
            problem=f"has 'rope_type': {shortened(new)} and 'type': {shortened(old)}",
            fix="keep the one that holds",
        )


def rope_type(keys: Keys) -> str:
    """How positions are scaled; `default` without any scaling."""
    return rope_keys(keys).text("rope_type")


def read_rotary(keys: Keys, dim: int, *, partial: float = 1.0, kind: str | None = None) -> Rotary:
    """The table that vLLM builds for heads of `dim` elements, in the model's dtype.

    `partial` is the share of a head that is rotated where the config does not say; `kind` the
    kind of layer, where each has rope keys of its own.

    Source: vllm/model_executor/layers/rotary_embedding/__init__.py, get_rope (v0.32.0)

    Raises:
        CatalogError: a kind of scaling whose table is not modelled.

    >>> keys = Keys("m", {"max_position_embeddings": 4096, "dtype": "bfloat16"})
    >>> read_rotary(keys, 128).positions
    4096
    """
    rope = rope_keys(keys, kind)
    parts = [key for key, value in rope.values.items() if isinstance(value, Mapping)]
    if parts:
        raise CatalogError(
            subject=rope.name,
            problem=f"has an object for {parts[0]!r}",
            fix="this family has one kind of layer: write its keys flat",
        )
    return Rotary(
        positions=_positions(keys, rope),
        dim=_rotated(keys, rope, dim, partial),
        dtype=read_dtype(keys),
    )


def read_rotaries(
    keys: Keys, dims: Mapping[str, int], *, partial: float = 1.0
) -> tuple[tuple[Rotary, ...], dict[str, int]]:
    """The tables of kinds of layers with heads of `dims` elements, and which is whose.

    Layers share a table where their heads and all their rope keys are alike.
    """
    tables: dict[str, Rotary] = {}
    numbers: dict[str, int] = {}
    for kind, dim in dims.items():
        alike = repr((dim, sorted(rope_keys(keys, kind).values.items())))
        tables.setdefault(alike, read_rotary(keys, dim, partial=partial, kind=kind))
        numbers[kind] = list(tables).index(alike)
    return tuple(tables.values()), numbers


def read_rotated(keys: Keys, dim: int, *, partial: float = 1.0, kind: str | None = None) -> int:
    """Elements of a head of `dim` that are rotated, where no table is kept."""
    return _rotated(keys, rope_keys(keys, kind), dim, partial)


def read_yarn(keys: Keys, dim: int) -> Rotary:
    """The table of a family that takes every scaling for yarn; not each has a default length.

    Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention (v0.32.0)
    """
    rope = rope_keys(keys)
    if rope_type(keys) == "default":
        return read_rotary(keys, dim)
    if rope_type(keys) not in LENGTH_ALREADY_SCALED:
        rope.size(ORIGINAL)
    positions = ceil(_original(keys, rope) * rope.number("factor"))
    return Rotary(positions=positions, dim=_rotated(keys, rope, dim, 1.0), dtype=read_dtype(keys))


def read_dtype(keys: Keys) -> Dtype:
    """The model's dtype, under the new key or the old one.

    Without either, vLLM looks at the checkpoint, and takes float32 down to bfloat16: two bytes,
    whichever it finds.

    Source: vllm/config/model.py, _resolve_auto_dtype (v0.32.0)
    """
    dtype = keys.text("dtype", "torch_dtype", default="bfloat16")
    if dtype not in DTYPES:
        raise CatalogError(
            subject=keys.name,
            problem=f"has the dtype {shortened(dtype)}, which is not modelled",
            fix=f"modelled are {', '.join(DTYPES)}",
        )
    return DTYPES[dtype]


def _positions(keys: Keys, rope: Keys) -> int:
    kind = rope.text("rope_type")
    rope.real("rope_theta")
    positions = keys.size("max_position_embeddings")
    sections = MROPE_POSITIONS if rope.items("mrope_section") is not None else 1
    if kind == "default":
        return positions * sections
    for key in WANTED.get(kind, ()):
        rope.refuse_missing(key)
    if kind in UNSCALED:
        if kind in STRETCHED and not rope.has("alpha"):
            rope.number("factor")
        return positions
    if kind in FROM_ORIGINAL:
        return ceil(_original(keys, rope) * sections * rope.number("factor"))
    if kind == LONG:
        return _original(keys, rope) + positions
    if kind == "linear":
        if isinstance(rope.values.get("factor"), int):
            raise CatalogError(
                subject=keys.name,
                problem="scales rotary positions by a whole number, of which vLLM dies",
                fix="write the factor with a point, as 4.0",
            )
        return ceil(positions * rope.number("factor"))
    raise CatalogError(
        subject=keys.name,
        problem=f"scales rotary positions by {shortened(kind)}, which is not modelled",
        fix=f"modelled are {', '.join((*UNSCALED, *FROM_ORIGINAL, LONG, 'linear'))}",
    )


def _original(keys: Keys, rope: Keys) -> int:
    original = rope.size(ORIGINAL, default=keys.size("max_position_embeddings"))
    # Beside the rope keys it takes over: transformers, standardize_rope_params.
    if rope.text("rope_type") in LENGTH_ALREADY_SCALED:
        original = keys.size(ORIGINAL, default=original)
    return original


def _rotated(keys: Keys, rope: Keys, dim: int, partial: float) -> int:
    """Elements of a head that are rotated.

    Source: vllm/model_executor/layers/rotary_embedding/__init__.py, get_rope (v0.32.0)
    """
    if rope.text("rope_type") == WHOLE_HEAD:
        return dim
    named = next((key for key in PARTIAL if keys.has(key)), PARTIAL[0])
    share = rope.number(PARTIAL[0], default=keys.number(named, default=partial))
    if share > 1:
        raise CatalogError(
            subject=keys.name,
            problem=f"rotates {share:g} of a head",
            fix=f"{PARTIAL[0]} is a share from 0 to 1",
        )
    rotated = rope.optional("rope_dim") or int(dim * share)
    return rotated + rotated % 2  # a cosine and a sine for each pair, a last one alone


def read_context(keys: Keys, *, scaled: bool = True) -> ContextLimit:
    """The derived `max_model_len`, a float as vLLM holds and prints it.

    `scaled` is False for a family whose positions count the scaling already.

    Source: vllm/config/model.py, _get_and_verify_max_len (v0.32.0)
    """
    lengths = {key: keys.size(key) for key in LENGTHS if keys.has(key)}
    if not lengths:
        keys.size("max_position_embeddings")
    key = min(lengths, key=lengths.__getitem__)
    limit = keys.optional("model_max_length")
    if limit is not None:
        key = "model_max_length"
    ropes = _each_rope(keys)
    factor = 1.0
    for rope in ropes:
        if scaled and rope.text("rope_type") not in LENGTH_ALREADY_SCALED:
            factor = rope.number("factor", default=factor)
    tokens = lengths[key] * factor
    long = any(rope.text("rope_type") == LONG for rope in ropes)
    assumed = keys.optional(ORIGINAL) if long else None
    return ContextLimit(key=key, tokens=tokens, model_max_length=limit, assumed=assumed)


def _each_rope(keys: Keys) -> list[Keys]:
    """The rope keys, of each kind of layer where they are nested."""
    nested = rope_keys(keys).values
    kinds = [kind for kind, value in nested.items() if isinstance(value, Mapping)]
    return [rope_keys(keys, kind) for kind in kinds] or [rope_keys(keys)]
