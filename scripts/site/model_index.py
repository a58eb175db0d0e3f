"""The table of all models, in groups by family; a script on the page sorts and filters it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from model_parts import REQUEST
from vllm_parallel.catalog import gpu_names, hub_names, load_gpu
from vllm_parallel.render.numbers import gib, size, whole

Row = Mapping[str, object]
MORE: Final = 10**6  # behind all counts, where none starts
SHOWN: Final = {  # the fewest of these that start
    "h100-80gb": "H100 80GB",
    "h200": "H200",
    "mi300x": "MI300X",
    "rtx-4090": "RTX 4090",
}
# The first that a name begins with, else its maker on the hub. A family is who trained it, not
# the shape.
FAMILIES: Final = {
    "deepseek": "DeepSeek",
    "devstral": "Mistral",
    "ernie": "ERNIE",
    "exaone": "EXAONE",
    "gemma": "Gemma",
    "glm": "GLM",
    "gpt-oss": "gpt-oss",
    "granite": "Granite",
    "kimi": "Kimi",
    "llama": "Llama",
    "minimax": "MiniMax",
    "mistral": "Mistral",
    "mixtral": "Mistral",
    "nemotron": "Nemotron",
    "olmo": "OLMo",
    "phi": "Phi",
    "qwen": "Qwen",
}
BEFORE: Final = ("model", "parameters", "weights")  # the columns of those GPUs
BEHIND: Final = ("KV of a request", "longest request", "attention", "experts")
TEXTS: Final = ("model", "attention", "experts")


def family(name: str) -> str:
    """The family of a model.

    >>> family("mixtral-8x7b"), family("gpt-oss-20b")
    ('Mistral', 'gpt-oss')
    """
    for start, called in FAMILIES.items():
        if name.startswith(start):
            return called
    return hub_names()[name][0].partition("/")[0]


def table(rows: Iterable[object]) -> str:
    """Every model: what it is made of, and on how few GPUs it starts."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if isinstance(row, Mapping):
            groups.setdefault(family(str(row["name"])), []).append(row)
    gpus = json.dumps({name: load_gpu(name).label for name in gpu_names()})
    columns = len((*BEFORE, *SHOWN, *BEHIND))
    bodies = "".join(
        f'<tr class="group"><th colspan="{columns}" scope="rowgroup">{escape(name)}</th></tr>\n'
        + "\n".join(_row(row) for row in found)
        + "\n"
        for name, found in sorted(groups.items(), key=lambda item: item[0].lower())
    )
    caption = (
        f"KV of one request of {whole(REQUEST)} tokens, or of the longest that the model allows, "
        "at tp 1. Attention is query heads / KV heads × head size, or the elements of a latent "
        "vector. Under a GPU: the fewest of 1, 2, 4, 8 and 16 on which a layout starts; more: none "
        "starts on 16. Computed, with an assumed overhead."
    )
    return (
        f"<table class=\"figures models\" data-gpus='{escape(gpus)}'>"
        f"<caption>{escape(caption)}</caption><thead><tr>{''.join(_head())}</tr></thead>"
        f"<tbody>\n{bodies}</tbody></table>"
    )


def _head() -> Iterator[str]:
    for title in (*BEFORE, *SHOWN.values(), *BEHIND):
        number = "" if title in TEXTS else ' class="num"'
        yield f'<th scope="col"{number}>{escape(title)}</th>'


def _row(row: Row) -> str:
    name = str(row["name"])
    kinds, fewest, sized = _words(row["kinds"]), _counts(row["fewest"]), _words(row["sized"])
    told = [kind for kind in kinds if kind in ("quantised", "multimodal", "hybrid")]
    mark = f" <small>{', '.join(told)}</small>" if told else ""
    cells = [
        f'<th scope="row"><a href="{name}/">{escape(name)}</a>{mark}</th>',
        _figure(f"{_number(row, 'parameters') / 1e9:,.1f} B", _number(row, "parameters")),
        _figure(gib(_number(row, "weights"), 1), _number(row, "weights")),
        *(_fewest(fewest[gpu], sized=gpu in sized) for gpu in SHOWN),
        _figure(size(_number(row, "request")), _number(row, "request")),
        _figure(whole(_number(row, "longest")), _number(row, "longest")),
        f"<td>{escape(str(row['attention']))}</td>",
        f"<td>{escape(str(row['experts']))}</td>",
    ]
    least = " ".join(str(fewest[gpu] or 0) for gpu in gpu_names())
    return (
        f'<tr data-family="{escape(family(name))}" data-kinds="{" ".join(kinds)}" '
        f'data-fewest="{least}">{" ".join(cells)}</tr>'
    )


def _fewest(gpus: int | None, *, sized: bool) -> str:
    """On how few it starts; what is not modelled is no number, and sorts behind all."""
    if not sized:
        return '<td class="num computed" data-value="">not modelled</td>'
    return f'<td class="num assumed" data-value="{gpus or MORE}">{gpus or "more"}</td>'


def _figure(text: str, value: int) -> str:
    return f'<td class="num computed" data-value="{value}">{escape(text)}</td>'


def _number(row: Row, key: str) -> int:
    value = row[key]
    if not isinstance(value, int):
        raise TypeError(f"{key} is {value!r}")
    return value


def _counts(value: object) -> Mapping[str, int | None]:
    return dict(value) if isinstance(value, Mapping) else {}


def _words(value: object) -> Sequence[str]:
    return [str(word) for word in value] if isinstance(value, list) else []
