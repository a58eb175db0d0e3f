"""Models by catalog name, by path, or by the config itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from vllm_parallel.catalog.class_checks import (
    refuse_layer_types,
    refuse_no_sections,
    refuse_unknown_type,
)
from vllm_parallel.catalog.families import FAMILIES, is_multimodal, reader_of
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, close_names, on_one_line, shortened
from vllm_parallel.files import named_beside, read_beside
from vllm_parallel.frozen import replace
from vllm_parallel.json_text import NoObjectError, read_object
from vllm_parallel.methods import ONLINE, TAKES_OVER, UNMODELLED
from vllm_parallel.model import ModelConfig

MAX_CONFIG_BYTES: Final = 4 * 2**20
ASKED_DTYPES: Final = {
    "half": Dtype.FLOAT16,
    "float16": Dtype.FLOAT16,
    "bfloat16": Dtype.BFLOAT16,
    "float": Dtype.FLOAT32,
    "float32": Dtype.FLOAT32,
}


class ConfigText(NamedTuple):
    """A config that is not read yet: what to call the model, where it lies, its bytes."""

    name: str
    place: str
    text: bytes


def model_names() -> list[str]:
    """The models of the catalog, by name.

    >>> "llama-3.1-70b" in model_names()
    True
    """
    return named_beside(__file__, "models")


def is_catalog_name(source: str) -> bool:
    """Whether a model is named, and not a path.

    >>> is_catalog_name("llama-3.1-70b"), is_catalog_name("./llama-3.1-70b")
    (True, False)
    """
    return _catalog_text(source) is not None


def load_model(source: str | JsonObject, *, as_bf16: bool = False) -> ModelConfig:
    """A model from a catalog name, a path to a `config.json` or its folder, or the config.

    With `as_bf16` a `quantization_config` is left out.

    Raises:
        CatalogError: unknown, unreadable, or of an architecture or quantisation not modelled.

    >>> load_model("llama-3.1-70b").layers
    80
    """
    if isinstance(source, str):
        return _named(source, as_bf16=as_bf16)
    return read_config(source, "the given config", as_bf16=as_bf16)


def read_config(config: JsonObject, name: str, *, as_bf16: bool) -> ModelConfig:
    """The model that a config describes; the text part of a multimodal one.

    Raises:
        CatalogError: a key is missing or wrong, or the model is of a kind not modelled.
    """
    outer = Keys(name, config)
    architectures = outer.items("architectures")
    architecture = architectures[0] if architectures else _by_type(outer)
    if not isinstance(architecture, str):
        raise CatalogError(
            subject=name, problem="names no architecture", fix="add its 'architectures' list"
        )
    reader = reader_of(architecture)
    if reader is None:
        raise CatalogError(
            subject=name,
            problem=f"is a {shortened(architecture)}, which is not modelled",
            fix=f"its layers are needed as a family: "
            f"{close_names(architecture, FAMILIES, whose='this package')}",
        )
    text = config.get("text_config")
    whole = is_multimodal(architecture)  # its reader tells the parts apart itself
    inner = text if isinstance(text, Mapping) and not whole else {}
    refuse_unknown_type(outer)
    for part in filter(None, (outer, outer.nested("text_config"))):
        refuse_layer_types(part)
        refuse_no_sections(part)
    model = reader(Keys(name, {**config, **inner, "architecture": architecture}))
    keys = _quantisation(outer)
    if keys is None:
        return model
    if as_bf16:
        return replace(model, left_out=keys.text("quant_method", default="unknown"))
    from vllm_parallel.catalog.quantisation.modules import quantised  # noqa: PLC0415  # few models need it

    return quantised(model, keys)


def _by_type(outer: Keys) -> str | None:
    """The architecture of a config that names none but a type."""
    if not outer.has("model_type"):
        return None
    from vllm_parallel.catalog.families.model_types import architecture_of  # noqa: PLC0415

    return architecture_of(outer.text("model_type"))


def _quantisation(outer: Keys) -> Keys | None:
    """The `quantization_config`, in the config or its text part."""
    inner = outer.nested("text_config")
    for keys in (outer, inner):
        quantised = keys.nested("quantization_config", "compression_config") if keys else None
        if quantised is not None:
            return quantised
    return None


def _named(source: str, *, as_bf16: bool) -> ModelConfig:
    model = _catalog_model(source, as_bf16)
    if model is not None:
        return model
    return _parsed(_file(source), as_bf16)


@lru_cache(maxsize=256)
def _catalog_model(source: str, as_bf16: bool) -> ModelConfig | None:
    """The model of a catalog name, None if the catalog has no such name."""
    text = _catalog_text(source)
    return None if text is None else _parsed(ConfigText(source, source, text), as_bf16)


@lru_cache(maxsize=256)
def _parsed(config: ConfigText, as_bf16: bool) -> ModelConfig:
    return read_config(parse_config(config.text, config.place), config.name, as_bf16=as_bf16)


@lru_cache(maxsize=256)
def _catalog_text(source: str) -> bytes | None:
    """The config of a catalog name, None if the catalog has no such name."""
    if "/" in source or "\\" in source or "\0" in source:
        return None
    try:
        return read_beside(__file__, f"models/{source}.json")
    except (OSError, UnicodeError):  # no such name, or no name that a file can have
        return None


def _file(source: str) -> ConfigText:
    """The config that a path or its folder means."""
    from pathlib import Path  # noqa: PLC0415  # slow to import, and a catalog name needs none

    path = Path(source)
    try:
        name = path.stem
        if path.is_dir():
            path, name = path / "config.json", path.resolve().name
        if not path.is_file():
            raise CatalogError(
                subject=f"model {shortened(source)}",
                problem="is neither in the catalog nor a file",
                fix=close_names(
                    source.rpartition("/")[2].lower(), model_names(), whose="the catalog"
                ),
            )
        size = path.stat().st_size
        if size > MAX_CONFIG_BYTES:
            raise CatalogError(
                subject=on_one_line(source),
                problem=f"has {size} bytes",
                fix=f"a config.json has at most {MAX_CONFIG_BYTES}",
            )
        return ConfigText(on_one_line(name), on_one_line(str(path)), path.read_bytes())
    except (OSError, UnicodeError) as error:
        raise CatalogError(
            subject=on_one_line(source),
            problem=f"cannot be read ({error.__class__.__name__})",
            fix="give a config.json",
        ) from error


def parse_config(text: str | bytes, name: str) -> JsonObject:
    """The keys of a config's text; `name` says in errors what was read.

    Raises:
        CatalogError: it is no JSON object.
    """
    try:
        return read_object(text)
    except NoObjectError as error:
        raise CatalogError(
            subject=name, problem=str(error), fix="a config is one JSON object"
        ) from None


def with_dtype(model: ModelConfig, dtype: str) -> ModelConfig:
    """The model in the dtype that `--dtype` names; auto, and words vLLM refuses, leave it."""
    asked = ASKED_DTYPES.get(dtype)
    if asked is None:
        return model
    tables = tuple(
        replace(rotary, dtype=asked) if rotary.dtype is model.dtype else rotary
        for rotary in model.rotaries
    )
    return replace(model, dtype=asked, rotaries=tables)


def with_quantization(model: ModelConfig, asked: str | None) -> ModelConfig:
    """The model as `--quantization` has it: checkpoints keep theirs, others are quantised.

    Words that vLLM refuses leave it as it is.

    Raises:
        CatalogError: a word that vLLM takes and that is not modelled.
    """
    if asked is None:
        return model
    quantisation = model.quantisation
    taken = UNMODELLED if quantisation is None else TAKES_OVER.get(quantisation.checkpoint, ())
    if asked in taken:
        raise CatalogError(
            subject=f"--quantization {asked}",
            problem="is not modelled",
            fix="leave it out: it would change the sizes",
        )
    if quantisation is not None or asked not in ONLINE:
        return model
    from vllm_parallel.catalog.quantisation import modules  # noqa: PLC0415  # few launches need it

    return modules.quantised_online(model, asked)
