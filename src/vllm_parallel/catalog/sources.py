"""What each catalog model is called elsewhere, where its config was read, what it was held against.

One file a model in `sources/`; nothing here is needed to read a model, so it is not read for one.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import lru_cache

from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.files import named_beside, read_beside
from vllm_parallel.frozen import dataclass


class Origin(StrEnum):
    """What kind of text a config was read in."""

    COPY = "copy"  # of the published config.json
    CODE = "code"  # public code that builds the published model
    DEFAULTS = "defaults"  # of the family's class in transformers


class Extra(StrEnum):
    """What a published count of parameters has beside the layers that vLLM builds."""

    NOTHING = "nothing"
    TIED_HEAD = "tied head"  # stored a second time
    DRAFT = "draft layer"
    DRAFT_WITH_TABLES = "draft layer with tables"  # its own embedding and head


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published count of parameters, to the digits in which it was written.

    >>> Published(figure="671B", source="its README").holds(671_026_419_200)
    True
    >>> Published(figure="8030261248", source="the hub").holds(8_030_261_249)
    False
    """

    figure: str
    source: str
    extra: Extra = Extra.NOTHING

    @property
    def parameters(self) -> int:
        """The figure as a number."""
        return round(float(self.figure.removesuffix("B")) * self._unit)

    def holds(self, parameters: int) -> bool:
        """Whether a count is this one, within the figure's last digit."""
        decimals = len(self.figure.removesuffix("B").partition(".")[2])
        last_digit: int = self._unit // 10**decimals
        return 2 * abs(parameters - self.parameters) <= last_digit - (last_digit == 1)

    @property
    def _unit(self) -> int:
        return 10**9 if self.figure.endswith("B") else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """Where a model's config was read: `config`; what gives the same: `check`.

    `hub` are its names on the model hub.
    """

    model: str
    hub: tuple[str, ...]
    config: str
    origin: Origin
    check: str | None
    published: Published | None


@lru_cache(maxsize=1)
def model_sources() -> dict[str, ModelSource]:
    """The source of each model of the catalog, by its name.

    >>> model_sources()["llama-3.1-8b"].published.parameters
    8030261248
    """
    names = named_beside(__file__, "sources")
    return {name: _source(Keys(name, _entry(name))) for name in names}


def load_source(model: str) -> ModelSource:
    """The source of one model.

    Raises:
        CatalogError: no such model.
    """
    source = model_sources().get(model)
    if source is None:
        raise CatalogError(
            subject=f"model {shortened(model)}",
            problem="has no source",
            fix=f"sources/ has {', '.join(model_sources())}",
        )
    return source


def _entry(name: str) -> JsonObject:
    entry: JsonObject = json.loads(read_beside(__file__, f"sources/{name}.json"))
    return entry


def _source(keys: Keys) -> ModelSource:
    count = keys.nested("published")
    published = None if count is None else Published(
        figure=count.text("figure"),
        source=count.text("source"),
        extra=Extra(count.text("extra", default=Extra.NOTHING)),
    )  # fmt: skip
    return ModelSource(
        model=keys.name,
        hub=tuple(map(str, keys.items("hub") or ())),
        config=keys.text("config"),
        origin=Origin(keys.text("origin")),
        check=keys.text("check") if keys.has("check") else None,
        published=published,
    )
