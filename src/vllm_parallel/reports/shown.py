"""A log with all that is said of it."""

from __future__ import annotations

from vllm_parallel.engine.log import ServeLog
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass
from vllm_parallel.reports.beside import Beside
from vllm_parallel.reports.launched import Launched
from vllm_parallel.reports.words import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A log with all that is said of it; of a file that cannot be read the `error`."""

    path: str
    log: ServeLog | None = None
    beside: Beside | None = None
    launched: Launched | None = None
    says: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    error: ParseError | None = None

    @property
    def symptoms(self) -> dict[str, str]:
        """Each symptom that was found, with what shows it."""
        if self.log is None:
            return {}
        found = {
            sign.symptom: f"line {sign.line}: {sign.text}" if sign.line else sign.text
            for sign in self.log.signs
        }
        for one in self.says:
            if one.symptom is not None:
                found.setdefault(one.symptom, one.says)
        return found

    @property
    def passes(self) -> bool:
        """Whether it was read, and its start did not fail."""
        return self.log is not None and self.log.refusal is None
