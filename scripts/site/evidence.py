"""Figures that others published, each beside what the kernel says of the same deployment.

A line of `results/public-logs/published.jsonl` is a page or log that somebody published: its
figures as they stand there, and in our words what the comparison says. The deployment is that of
the launch with the same id, or is given. `ask` names what the kernel is asked for a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Final

from json_rows import Json, rows_of, whole_number
from launches import CASES, Launch, read
from scores import coefficients_of, ledgers_of, printed_tokens
from vllm_parallel import Budget, Deployment, Layout, Pool, Settings, load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.render.numbers import to, whole
from vllm_parallel.units import GIB

FILE: Final = CASES / "published.jsonl"
WEIGHT_SHARE: Final = 0.005  # weights are held to half a percent, as on the accuracy page
GIB_HALF: Final = 0.005  # what two decimals leave open
RELEASE_WITHOUT: Final = "0.19.0"  # the oldest whose overhead is known


class Found(StrEnum):
    """How a published figure stands to the computed one."""

    EQUAL = "equal"
    DIFFERS = "differs"
    GIVEN = "given"
    NOT_COMPUTED = "not computed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One figure: as published, as computed, and how they stand."""

    what: str
    published: str
    computed: str = ""
    found: Found = Found.NOT_COMPUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One publication: where, of what, its figures, and what the comparison says."""

    id: str
    source: str | None
    release: str
    date: str
    model: str
    hardware: str
    conditions: str
    figures: tuple[Evidence, ...]
    standing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A deployment, and the launch that it is of where there is one."""

    deployment: Deployment
    launch: Launch | None = None


@cache
def cases() -> tuple[Case, ...]:
    """Every publication."""
    launches = {
        row.id: Served(deployment=row.deployment, launch=row)
        for row in read(CASES / "launches.jsonl", CASES / "configs")
        if isinstance(row, Launch)
    }
    return tuple(_case(row, launches) for row in rows_of(FILE))


def _case(row: Json, launches: Mapping[str, Served]) -> Case:
    given, figures = row.get("deployment"), row["figures"]
    served = launches.get(str(row["id"]))
    if isinstance(given, dict):
        served = Served(deployment=_deployment(given))
    if not isinstance(figures, list):
        raise TypeError(f"{row['id']}: figures is no list")
    source = row["source"]
    return Case(
        id=str(row["id"]),
        source=None if source is None else str(source),
        release=str(row["vllm_version"] or "not stated"),
        date=str(row["date"] or "not stated"),
        model=str(row["model"]),
        hardware=str(row["hardware"]),
        conditions=str(row["conditions"]),
        figures=tuple(_evidence(str(row["id"]), figure, served) for figure in figures),
        standing=str(row["standing"]),
    )


def _deployment(given: Json) -> Deployment:
    name = str(given["config"])
    beside = CASES / "configs" / f"{name}.json"
    return Deployment(
        model=load_model(str(beside) if beside.exists() else name),
        layout=Layout(tp=whole_number(given, "tp") or 1),
        settings=Settings(
            max_model_len=whole_number(given, "max_model_len") or 4096,
            block_size=whole_number(given, "block_size"),
        ),
        cluster=Cluster(gpu=load_gpu("h100-80gb")),
    )


def _evidence(case: str, figure: Json, served: Served | None) -> Evidence:
    published, unit = figure["published"], str(figure["unit"])
    shown = f"{published:,}" if isinstance(published, int) else str(published)
    bare = Evidence(what=str(figure["what"]), published=f"{shown} {unit}".strip())
    ask = figure.get("ask")
    if ask is None:
        return bare
    if ask in ALONE:
        computed, found = ALONE[str(ask)](figure)
    elif served is None:
        raise ValueError(f"{case}: {bare.what}: asks for {ask} without a deployment")
    else:
        computed, found = ASKED[str(ask)](figure, served)
    return replace(bare, computed=computed, found=found)


Answer = tuple[str, Found]


def _weights(figure: Json, served: Served) -> Answer:
    published = _number(figure, "published")
    (ledger, *_) = ledgers_of(_as_launch(served), coefficients_of(_release(served)))
    computed = ledger.loaded_bytes / GIB
    is_near = abs(computed / published - 1) <= WEIGHT_SHARE
    return f"{computed:.4f} GiB", Found.EQUAL if is_near else Found.DIFFERS


def _available(figure: Json, served: Served) -> Answer:
    """From the deployment alone, where the utilization is stated; else it is what we are given."""
    gpu, launch = served.deployment.cluster.gpu, served.launch
    if launch is None or gpu is None or served.deployment.settings.gpu_memory_utilization == 1.0:
        return "", Found.GIVEN
    (ledger, *_) = ledgers_of(launch, coefficients_of(launch.release))
    computed = Budget.of(ledger, gpu).available_kv_bytes / GIB
    off = computed - _number(figure, "published")
    text = f"{computed:.2f} GiB, {off:+.2f}".replace("-", "−")
    return text, Found.EQUAL if abs(off) <= GIB_HALF else Found.DIFFERS


def _tokens(figure: Json, served: Served) -> Answer:
    low, high = _ends(_as_launch(served))
    return _within(
        _number(figure, "published"),
        (printed_tokens(low, _release(served)), printed_tokens(high, _release(served))),
    )


def _concurrency(figure: Json, served: Served) -> Answer:
    low, high = _ends(_as_launch(served))
    return _near(_number(figure, "published"), (low.max_concurrency, high.max_concurrency))


def _blocks(figure: Json, served: Served) -> Answer:
    low, high = _in_gib(figure, served)
    return _within(_number(figure, "published"), (low.num_blocks, high.num_blocks))


def _longest(figure: Json, served: Served) -> Answer:
    low, high = _in_gib(figure, served)
    return _within(_number(figure, "published"), (low.longest_request, high.longest_request))


def _request(figure: Json, served: Served) -> Answer:
    pool = Pool.of(served.deployment, (GIB,))
    needed = pool.blocks_per_request * pool.cache.block_bytes(0) / GIB
    is_same = round(needed, 2) == _number(figure, "published")
    return f"{needed:.2f} GiB", Found.EQUAL if is_same else Found.DIFFERS


def _share(figure: Json) -> Answer:
    """Requests of a length in so many blocks of 16 tokens, each request in whole blocks."""
    blocks, length = _number(figure, "blocks"), _number(figure, "length")
    return _near(_number(figure, "published"), (blocks * 16 / length,) * 2)


def _ratio(figure: Json) -> Answer:
    """Concurrency as releases since 0.21 print it: tokens over the length."""
    tokens, half = _number(figure, "tokens"), _number(figure, "half")
    length = _number(figure, "length")
    return _near(_number(figure, "published"), ((tokens - half) / length, (tokens + half) / length))


def _fits(figure: Json) -> Answer:
    fits = _number(figure, "blocks") * 16 >= _number(figure, "length")
    text = "yes" if fits else "no"
    return text, Found.EQUAL if text == figure["published"] else Found.DIFFERS


ASKED: Final[Mapping[str, Callable[[Json, Served], Answer]]] = {
    "weights": _weights,
    "available": _available,
    "tokens": _tokens,
    "concurrency": _concurrency,
    "blocks": _blocks,
    "longest": _longest,
    "request": _request,
}
ALONE: Final[Mapping[str, Callable[[Json], Answer]]] = {
    "share": _share,
    "ratio": _ratio,
    "fits": _fits,
}


def _ends(launch: Launch) -> tuple[Pool, Pool]:
    """The pools at both ends of what the printed budget leaves open."""
    pools = []
    for sign in (-1, 1):
        ends = [
            worker.available + sign * worker.half
            for worker in launch.workers
            if worker.available is not None
        ]
        pools.append(Pool.of(launch.deployment, tuple(ends)))
    return pools[0], pools[1]


def _in_gib(figure: Json, served: Served) -> tuple[Pool, Pool]:
    gib = _number(figure, "available_gib")
    low, high = (round((gib + sign * GIB_HALF) * GIB) for sign in (-1, 1))
    return Pool.of(served.deployment, (low,)), Pool.of(served.deployment, (high,))


def _within(published: float, ends: tuple[int, int]) -> Answer:
    text = to(*(whole(end) for end in ends)) if ends[0] != ends[1] else whole(ends[0])
    return text, Found.EQUAL if ends[0] <= published <= ends[1] else Found.DIFFERS


def _near(published: float, ends: tuple[float, float]) -> Answer:
    low, high = (round(end, 2) for end in ends)
    text = f"{low:.2f}" if low == high else to(f"{low:.2f}", f"{high:.2f}")
    return text, Found.EQUAL if low <= published <= high else Found.DIFFERS


def _as_launch(served: Served) -> Launch:
    if served.launch is not None:
        return served.launch
    return Launch(
        id="",
        base_model="",
        release=RELEASE_WITHOUT,
        deployment=served.deployment,
        workers=(),
        blocks=None,
        tokens=None,
    )


def _release(served: Served) -> str:
    return RELEASE_WITHOUT if served.launch is None else served.launch.release


def _number(figure: Json, key: str) -> float:
    value = figure[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{figure['what']}: {key} is {value!r}, not a number")
    return value
