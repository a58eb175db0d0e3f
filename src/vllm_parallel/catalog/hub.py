"""The names that catalog models have on the model hub.

A model's file in `sources/` lists only names whose config gives the same sizes: a longer context or
quantised weights under a similar name are another model.
"""

from __future__ import annotations

from functools import lru_cache
from os.path import exists

from vllm_parallel.catalog.models import is_catalog_name, model_names
from vllm_parallel.catalog.sources import model_sources
from vllm_parallel.errors import CatalogError, close_names, shortened


@lru_cache(maxsize=1)
def hub_names() -> dict[str, tuple[str, ...]]:
    """The hub's names of each model of the catalog.

    >>> hub_names()["gpt-oss-120b"]
    ('openai/gpt-oss-120b',)
    """
    return {model: source.hub for model, source in model_sources().items()}


def catalog_name(word: str) -> str | None:
    """The catalog's name of a model as a command names it: by hub name, or by a folder called so.

    >>> catalog_name("meta-llama/Llama-3.1-70B-Instruct"), catalog_name("/models/Qwen3-32B/")
    ('llama-3.1-70b', 'qwen3-32b')
    >>> catalog_name("Qwen/Qwen3-32B-FP8") is None
    True
    """
    last = word.rstrip("/").rpartition("/")[2].lower()
    if is_catalog_name(last):
        return last
    return _by_last_part().get(last)


def named_model(word: str) -> str:
    """The catalog's name where a word that is no path names a model otherwise; else the word.

    >>> named_model("meta-llama/Llama-3.1-70B-Instruct"), named_model("Llama-3.1-70B")
    ('llama-3.1-70b', 'llama-3.1-70b')
    >>> named_model("./Llama-3.1-70B"), named_model("llama")
    ('./Llama-3.1-70B', 'llama')
    """
    if word[:1] in ("", ".", "/", "~") or exists(word):  # noqa: PTH110  # as below
        return word
    return catalog_name(word) or word


def model_source(word: str) -> str:
    """What `load_model` takes for a model as a command names it: catalog name or path.

    Raises:
        CatalogError: neither a path nor a known name.

    >>> model_source("meta-llama/Llama-3.1-8B"), model_source("qwen3-32b")
    ('llama-3.1-8b', 'qwen3-32b')
    """
    if is_catalog_name(word) or exists(word):  # noqa: PTH110  # Path raises where a name is long
        return word
    name = catalog_name(word)
    if name is None:
        raise CatalogError(
            subject=f"model {shortened(word)}",
            problem="is not known",
            fix="give its config.json, or name one of the catalog with --model: "
            f"{close_names(word.rpartition('/')[2].lower(), model_names(), whose='it')}",
        )
    return name


@lru_cache(maxsize=1)
def _by_last_part() -> dict[str, str]:
    return {
        name.rpartition("/")[2].lower(): model
        for model, names in hub_names().items()
        for name in names
    }
