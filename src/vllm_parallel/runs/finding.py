"""What is wrong with a run, one thing at a time."""

from __future__ import annotations

from enum import StrEnum

from vllm_parallel.frozen import dataclass


class Sort(StrEnum):
    """The kinds of findings. A remark leaves a run consistent; everything else does not."""

    MISSING = "missing"
    UNREAD = "unread"
    DISAGREES = "disagrees"
    CHANGED = "changed"
    SECRET = "secret"
    REMARK = "remark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: the file, its line where there is one, what is wrong and the way out."""

    sort: Sort
    file: str
    says: str
    fix: str
    line: int | None = None

    def __str__(self) -> str:
        """One line.

        >>> print(Finding(sort=Sort.MISSING, file="topo.txt", says="is missing", fix="write it"))
        missing: topo.txt is missing; write it
        """
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{self.sort}: {place} {self.says}; {self.fix}"
