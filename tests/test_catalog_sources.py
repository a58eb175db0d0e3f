"""Every model of the catalog says where it was read, and adds up to what was published of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import prod
from pathlib import Path
from typing import Final

import pytest

import vllm_parallel.catalog
from vllm_parallel.catalog import gpu_names, hub_names, load_model, model_names
from vllm_parallel.catalog.sources import Extra, Published, load_source, model_sources
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import CatalogError
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layout import Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.shard import Shard
from vllm_parallel.weight import VOCABULARY_MULTIPLE, Layer

CATALOG: Final = Path(vllm_parallel.catalog.__file__).parent
PUBLISHED: Final = [name for name, of in model_sources().items() if of.published is not None]


def test_names_are_addresses() -> None:
    for name in (*model_names(), *gpu_names()):
        assert re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", name), f"{name}: lower case, no spaces"


def held(layer: Layer, shard: Shard) -> int:
    return sum(prod(weight.shape(shard.cut)) for weight in layer.weights)


def stored(model: ModelConfig, extra: Extra) -> int:
    """Parameters as a checkpoint stores them: without the rows that vLLM pads the tables with."""
    shard = Shard.of(Deployment(model=model, layout=Layout()), 0)
    padded = -model.vocab % VOCABULARY_MULTIPLE
    tables = 1 if model.tied else 2
    total = sum(repeats * held(layer, shard) for layer, repeats in shard.layers.items())
    total -= padded * model.hidden * tables
    table = model.vocab * model.hidden
    # A draft layer is one more of the last kind behind two norms and a projection, and a norm.
    last = held(ModelGraph.of(model).kinds[model.pattern[-1]], shard)
    draft = last + 2 * model.hidden**2 + 3 * model.hidden
    return (
        total
        + {
            Extra.NOTHING: 0,
            Extra.TIED_HEAD: table,
            Extra.DRAFT: draft,
            Extra.DRAFT_WITH_TABLES: draft + 2 * table,
        }[extra]
    )


def test_every_model_has_a_source() -> None:
    assert list(model_sources()) == model_names()
    for name, source in model_sources().items():
        assert load_source(name) is source
        assert source.model == name
        assert source.config.strip()


def test_no_source() -> None:
    with pytest.raises(CatalogError, match=r"^model 'x' has no source; sources/ has "):
        load_source("x")


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_add_up_to_the_published_count(name: str) -> None:
    published = load_source(name).published
    assert published is not None
    found = stored(load_model(name, as_bf16=True), published.extra)
    assert published.holds(found), f"{found:,} are not the {published.figure} of {published.source}"


def test_most_counts_are_exact() -> None:
    """A rounded figure is the exception; a model without any too."""
    figures = [of.published.figure for of in model_sources().values() if of.published is not None]
    assert sum(figure.isdigit() for figure in figures) >= 0.8 * len(figures)
    assert len(figures) >= 0.9 * len(model_names())


@pytest.mark.parametrize(
    "figure, parameters, least, most",
    [
        ("8030261248", 8_030_261_248, 8_030_261_248, 8_030_261_248),
        ("671B", 671 * 10**9, 670_500_000_000, 671_500_000_000),
        ("46.7B", 46_700_000_000, 46_650_000_000, 46_750_000_000),
    ],
)
def test_published_figures(figure: str, parameters: int, least: int, most: int) -> None:
    published = Published(figure=figure, source="somewhere")
    assert published.parameters == parameters
    assert published.holds(least)
    assert published.holds(most)
    assert not published.holds(least - 1)
    assert not published.holds(most + 1)


def test_hub_names_lead_to_one_model() -> None:
    names = Counter(name.lower() for names in hub_names().values() for name in names)
    assert [name for name, count in names.items() if count > 1] == []
    lasts = Counter(name.rpartition("/")[2] for name in names)
    assert [last for last, count in lasts.items() if count > 1] == []
    assert all(name.count("/") == 1 for name in names)


@pytest.mark.parametrize("name", gpu_names())
def test_a_gpus_memory_stands_in_its_source(name: str) -> None:
    """Both totals are quoted by whoever saw them, digit by digit."""
    entry = json.loads((CATALOG / "gpus" / f"{name}.json").read_text("utf-8"))
    figures = [entry[key] for key in ("runtime_memory_gib", "smi_memory_mib") if key in entry]
    for figure in figures:
        quoted = rf"(?<![\d.]){re.escape(str(figure))}0*(?!\d)"
        assert re.search(quoted, entry["source"]), f"{name}: {figure} is not in its source"
