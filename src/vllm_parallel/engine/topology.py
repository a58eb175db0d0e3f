"""What `nvidia-smi topo -m` prints: how each pair of GPUs is linked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from vllm_parallel.engine.inputs import shown
from vllm_parallel.engine.log.text import lines
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass

GPU: Final = re.compile(r"GPU\d{1,3}$")
NVLINK: Final = re.compile(r"NV(?P<links>\d{1,3})$")
LINKS: Final = {
    "NV": "NVLink",
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "a PCIe host bridge",
    "NODE": "host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes",
}
SELF: Final = "X"
LONGEST: Final = 2**20
CHUNK: Final = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    r"""The GPUs of a node, and the link of each pair as nvidia-smi writes it.

    >>> node = Topology.of_text("GPU0 GPU1 CPU Affinity\nGPU0 X NV18 0-31\nGPU1 NV18 X 0-31")
    >>> node.all_nvlink, node.link(0, 1), node.without_nvlink
    (True, 'NV18', ())
    """

    gpus: tuple[str, ...]
    links: tuple[tuple[str, ...], ...]

    @classmethod
    def of_file(cls, path: Path) -> Topology:
        """The matrix in a file, which may hold other output before and after it.

        Raises:
            ParseError: it cannot be read, or holds no matrix.
        """
        try:
            with path.open("rb") as file:
                data = file.read(LONGEST)
        except (OSError, ValueError) as error:
            problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            raise ParseError(place=shown(path), problem=problem, fix="give a file") from None
        return cls._of_lines((line.text for line in lines([data])), shown(path))

    @classmethod
    def of_text(cls, text: str) -> Topology:
        """The matrix in a text.

        Raises:
            ParseError: there is none, or a row does not fit its head.
        """
        return cls._of_lines(text.splitlines(), "the text")

    @classmethod
    def _of_lines(cls, texts: Iterable[str], place: str) -> Topology:
        gpus: tuple[str, ...] = ()
        columns: list[int] = []
        rows: dict[str, tuple[str, ...]] = {}
        for number, text in enumerate(texts, start=1):
            cells = text.split()
            if not gpus and len(cells) > 1 and GPU.match(cells[0]) and GPU.match(cells[1]):
                columns = [column for column, cell in enumerate(cells) if GPU.match(cell)]
                gpus = tuple(cells[column] for column in columns)
            elif not gpus and cells[:1] == ["GPU0"] and cells[1:2] != [SELF]:
                gpus, columns = ("GPU0",), [0]
            elif gpus and cells[:1] and cells[0] in gpus and cells[0] not in rows:
                where = f"{place} line {number}"
                rows[cells[0]] = _row(cells, columns, where)
        return cls._checked(gpus, rows, place)

    @classmethod
    def _checked(
        cls, gpus: tuple[str, ...], rows: dict[str, tuple[str, ...]], place: str
    ) -> Topology:
        if not gpus or not rows:
            fix = "give what `nvidia-smi topo -m` printed"
            raise ParseError(place=place, problem="holds no matrix of GPUs", fix=fix)
        missing = [gpu for gpu in gpus if gpu not in rows]
        if missing:
            problem = f"has no row of {', '.join(missing[:8])}"
            raise ParseError(place=place, problem=problem, fix="give the whole matrix")
        topology = cls(gpus=gpus, links=tuple(rows[gpu] for gpu in gpus))
        for first, second in combinations(range(len(gpus)), 2):
            there, back = topology.links[first][second], topology.links[second][first]
            if there != back:
                problem = f"says {there} from {gpus[first]} to {gpus[second]} and {back} back"
                raise ParseError(place=place, problem=problem, fix="give the matrix as it was")
        return topology

    def link(self, first: int, second: int) -> str:
        """The link of two GPUs by their places: `NV18`, `PIX`, …; `X` of one with itself."""
        return self.links[first][second]

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every pair of GPUs."""
        return tuple(combinations(range(len(self.gpus)), 2))

    @property
    def without_nvlink(self) -> tuple[tuple[int, int], ...]:
        """The pairs that are not on NVLink."""
        return tuple(pair for pair in self.pairs if not NVLINK.match(self.link(*pair)))

    @property
    def all_nvlink(self) -> bool:
        """Whether every pair is on NVLink; true of one GPU."""
        return not self.without_nvlink

    def within_nvlink(self, gpus: Sequence[int]) -> bool:
        """Whether these GPUs, such as those of one TP group, are all on NVLink."""
        return all(NVLINK.match(self.link(*pair)) for pair in combinations(sorted(gpus), 2))

    @property
    def row(self) -> dict[str, object]:
        """The answer as JSON."""
        return {
            "gpus": len(self.gpus),
            "all_nvlink": self.all_nvlink,
            "without_nvlink": [
                {"pair": [self.gpus[one] for one in pair], "link": self.link(*pair)}
                for pair in self.without_nvlink
            ],
        }

    @property
    def report(self) -> str:
        """The answer in words."""
        head = f"{len(self.gpus)} GPUs: "
        if self.all_nvlink:
            return head + "all on NVLink"
        by_link: dict[str, list[str]] = {}
        for pair in self.without_nvlink:
            named = "–".join(self.gpus[one] for one in pair)
            by_link.setdefault(self.link(*pair), []).append(named)
        return (
            head
            + "not all on NVLink\n"
            + "\n".join(
                f"  {link}, {LINKS[link]}: {', '.join(pairs)}" for link, pairs in by_link.items()
            )
        )


def _row(cells: Sequence[str], columns: Sequence[int], where: str) -> tuple[str, ...]:
    """The links of one GPU to all, columns of network cards left out."""
    found = []
    for column in columns:
        cell = cells[column + 1] if column + 1 < len(cells) else ""
        if cell != SELF and not NVLINK.match(cell) and cell not in LINKS:
            known = ", ".join(["X", "NV#", *list(LINKS)[1:]])
            raise ParseError(
                place=where, problem=f"has {shortened(cell)} for a link", fix=f"links are {known}"
            )
        found.append(cell)
    return tuple(found)
