"""What the name of a file says of a result: the guide's names, and those of a sweep.

Source: vllm/benchmarks/sweep/serve.py, _get_comb_base_path (v0.32.0)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from vllm_parallel.frozen import dataclass

GUIDE_FILE: Final = re.compile(
    r"(?P<label>.+)-c(?P<width>[0-9]{1,9})(-r(?P<trial>[0-9]{1,9}))?", re.DOTALL
)
SWEEP_FILE: Final = re.compile(r"run=(?P<trial>[0-9]{1,9})|summary")
SWEEP_FOLDER: Final = re.compile(r"(SERVE--(?P<label>.+?))?(-?(BENCH|WL|SLA)--.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultName:
    """What a path says. None: nothing."""

    label: str | None = None
    max_concurrency: int | None = None
    trial: int | None = None

    @classmethod
    def of(cls, path: Path) -> ResultName:
        """What a path says.

        >>> ResultName.of(Path("results/tp4pp2-c16-r3.json"))
        ResultName(label='tp4pp2', max_concurrency=16, trial=3)
        >>> ResultName.of(Path("SERVE--tp=2-BENCH--max_concurrency=4/run=0.json"))
        ResultName(label='tp=2', max_concurrency=None, trial=0)
        """
        run = SWEEP_FILE.fullmatch(path.stem)
        if run:
            folder = SWEEP_FOLDER.fullmatch(path.parent.name)
            trial = run["trial"]
            return cls(label=folder and folder["label"], trial=int(trial) if trial else None)
        guide = GUIDE_FILE.fullmatch(path.stem)
        if not guide:
            return cls()
        trial = guide["trial"]
        return cls(
            label=guide["label"],
            max_concurrency=int(guide["width"]),
            trial=int(trial) if trial else None,
        )
