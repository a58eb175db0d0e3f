"""How near predicted times come to measured ones, by hardware, for the pages of models."""

from __future__ import annotations

from html import escape
from statistics import median
from typing import Final

from speed_tables import all_speeds
from speeds import Speed, counting
from vllm_parallel.catalog import gpu_names, load_gpu
from vllm_parallel.catalog.rates import rated_gpus
from vllm_parallel.render.numbers import counted

PAGE: Final = "../../verification/speed/"
LINK: Final = f'<a href="{PAGE}">Accuracy of time</a>'


def errors(name: str) -> str:
    """What the accuracy page says of each GPU with rates, of this model, and of the others."""
    lines = [f"<li>{_on(gpu)}</li>" for gpu in rated_gpus()]
    own = [one for one in all_speeds(pinned=True) if one.point.config == name]
    told = f"Of {escape(name)} itself: {_sum(own)}." if own else "Of this model there is no row."
    others = [load_gpu(gpu).label for gpu in gpu_names() if gpu not in rated_gpus()]
    return (
        f"<p>{told} How far such a time was off for all models with published times, by "
        f"{LINK}:</p><ul>{''.join(lines)}</ul><p>Not predicted, as no rates are known, and without "
        f"a published time: {escape(', '.join(others))}.</p>"
    )


def _on(gpu: str) -> str:
    found = [one for one in counting(all_speeds(pinned=True)) if one.point.gpu == gpu]
    label = escape(load_gpu(gpu).label)
    return f"{label}: {_sum(found)}" if found else f"{label}: it has no row that counts"


def _sum(speeds: list[Speed]) -> str:
    sizes = [one.error for one in speeds]
    if len(sizes) == 1:
        error = f"{sizes[0]:+.1%}".replace("-", "−")
        return f'one row, error <span class="computed">{error}</span>'
    farthest = f"{max(sizes, key=abs):+.1%}".replace("-", "−")
    middle = f"{median(map(abs, sizes)):.1%}"
    return (
        f"{counted(len(speeds), 'row')}, median error "
        f'<span class="computed">{middle}</span>, farthest <span class="computed">{farthest}</span>'
    )
