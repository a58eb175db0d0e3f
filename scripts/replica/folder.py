"""The run's folder: which results are there and whole, and how one is put there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiment import CONCURRENCIES, Start, prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Where the run is kept, and a place beside it for what is half done."""

    kept: Path
    scratch: Path

    def result(self, start: Start, concurrency: int) -> Mapping[str, object] | None:
        """A trial's result, if it is whole and every request of its load was answered."""
        path = self.kept / f"{start.trial_stem(concurrency)}.json"
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        wanted = {
            "layout": start.arm.label,
            "max_concurrency": concurrency,
            "num_prompts": prompts(concurrency),
            "completed": prompts(concurrency),
        }
        if not isinstance(found, dict) or any(found.get(key) != wanted[key] for key in wanted):
            return None
        return found

    def missing(self, start: Start) -> tuple[int, ...]:
        """The concurrencies at which a start has still to be measured."""
        return tuple(width for width in CONCURRENCIES if self.result(start, width) is None)

    def keep(self, name: str) -> None:
        """Move a finished file from the scratch folder to the run: it is there whole or not."""
        (self.scratch / name).replace(self.kept / name)

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, whole or not at all."""
        (self.scratch / name).write_bytes(content)
        self.keep(name)
