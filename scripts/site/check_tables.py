"""What `guide/check` expects each launch to print: which lines, how often, with which figures."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final

from guided import GPU, Guide, guide_layouts
from replica import FOLDER
from vllm_parallel.cli import main
from vllm_parallel.ledger import Pool
from vllm_parallel.provenance import Provenance
from vllm_parallel.render.html import Cell, table
from vllm_parallel.render.numbers import gib, times, whole

ROOT: Final = Path(__file__).resolve().parents[2]
REAL: Final = FOLDER / "pp2-serve.log"
COMPUTED, ASSUMED = Provenance.COMPUTED, Provenance.ASSUMED
NONE = "none"


def expected() -> str:
    """A table of three layouts: a row a line, how many there are, what stands in them."""
    rows = [
        _row("Model loading took", [_lines(one.deployment.layout.ranks) for one in guide_layouts]),
        _row("on ranks of the first stage", [_loaded(one, 0) for one in guide_layouts]),
        _row("on ranks of the second", [_loaded(one, 1) for one in guide_layouts]),
        _row("Available KV cache memory", [_lines(1)] * len(guide_layouts)),
        _row("on rank 0", [_available(one)[1] for one in guide_layouts], assumed=True),
        _row("at least", [_available(one)[0] for one in guide_layouts], assumed=True),
        _row("at most", [_available(one)[2] for one in guide_layouts], assumed=True),
        _row("GPU KV cache size", [_lines(one.engines) for one in guide_layouts]),
        _row("tokens", [whole(one.tokens) for one in guide_layouts], assumed=True),
        _row("Maximum concurrency", [one.concurrency for one in guide_layouts], assumed=True),
        _row("at least", [_concurrency(one)[0] for one in guide_layouts], assumed=True),
        _row("at most", [_concurrency(one)[1] for one in guide_layouts], assumed=True),
    ]
    head = ("", *(str(one.deployment.layout) for one in guide_layouts))
    caption = f"Computed for {GPU.label}; italics rest on the overhead, assumed until you measure."
    return table(head, rows, caption=caption, totals=(0, 3, 7))


def real_log() -> str:
    """What `vllm-parallel log` prints of a start that this site keeps."""
    printed = StringIO()
    with redirect_stdout(printed):
        main(["log", str(REAL)])
    return printed.getvalue().rstrip().replace(f"{ROOT}/", "")


def _row(name: str, figures: list[str], *, assumed: bool = False) -> list[Cell]:
    kind = ASSUMED if assumed else COMPUTED
    cells = [Cell(text, None if text == NONE else kind) for text in figures]
    return [Cell(name), *cells]


def _lines(count: int) -> str:
    return f"{count} line{'s' * (count != 1)}"


def _loaded(one: Guide, stage: int) -> str:
    """What a rank of a stage prints once its weights are loaded."""
    if stage >= one.deployment.layout.pp:
        return NONE
    return gib(one.budgets[stage].ledger.loaded_bytes)


def _available(one: Guide) -> tuple[str, str, str]:
    """Least, likely and most that rank 0 prints."""
    least, likely, most = one.budgets[0].available
    return gib(least), gib(likely), gib(most)


def _concurrency(one: Guide) -> tuple[str, str]:
    """Least and most, from the tightest stage."""
    spans = [budget.available for budget in one.budgets]
    ends = [tuple(span.least for span in spans), tuple(span.most for span in spans)]
    least, most = (times(Pool.of(one.deployment, end).max_concurrency) for end in ends)
    return least, most
