"""Every option of vLLM's commands, as its own parsers list them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from vllm_parallel.files import read_beside
from vllm_parallel.frozen import dataclass

SERVE: Final = "serve"
BENCH: Final = "bench serve"
SWEEP: Final = "bench sweep serve"
FLAG: Final = "bool"  # the kind that takes no value
OFF: Final = "--no-"


Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Option:
    """One option of a command.

    `kind` is what a value looks like: bool, int, human_int (8k, 8K), human_int_or_auto, float,
    json, object (JSON with the given `keys`), json_or_str or str. `nargs` is argparse's: None for
    one value, else `?`, `*` or `+`. An `optional` one takes None for no value, a `folded` one
    capitals and hyphens.

    Source: vllm/entrypoints/launchers/cli_args.py, make_arg_parser (v0.32.0), recorded
    """

    dest: str
    names: tuple[str, ...]
    kind: str
    group: str
    default: object = None
    choices: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    nargs: str | None = None
    required: bool = False
    optional: bool = False
    folded: bool = False

    @property
    def takes_value(self) -> bool:
        """Whether it stands before a value."""
        return self.kind != FLAG

    @property
    def name(self) -> str:
        """The long name that turns it on.

        >>> options("bench sweep serve")["output_dir"].name
        '--output-dir'
        """
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def off(self) -> str | None:
        """The long name that turns it off, None where there is none.

        >>> options()["enable_eplb"].off
        '--no-enable-eplb'
        >>> options("bench serve")["no_stream"].off is None
        True
        """
        return next((name for name in self.names[1:] if self.turns_off(name)), None)

    def turns_off(self, name: str) -> bool:
        """Whether this name of it means false."""
        return name.startswith(OFF) and name != self.names[0]


@lru_cache(maxsize=1)
def _recorded() -> Mapping[str, Any]:
    recorded: Mapping[str, Any] = json.loads(read_beside(__file__, "flags.json"))
    return recorded


class Options(Mapping[str, Option]):
    """Options by some name; each is built when it is first asked for, as there are hundreds."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = rows
        self._built: dict[str, Option] = {}

    def __getitem__(self, name: str) -> Option:
        if name not in self._built:
            row = self._rows[name]
            lists = {key: tuple(row[key]) for key in ("names", "choices", "keys") if key in row}
            self._built[name] = Option(**{**row, **lists})
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@lru_cache(maxsize=8)
def options(command: str = SERVE) -> Options:
    """The options of a command by their destination, in the parser's order.

    >>> options()["tensor_parallel_size"].names
    ('--tensor-parallel-size', '-tp')
    """
    return Options({row["dest"]: row for row in _rows(command)})


@lru_cache(maxsize=8)
def named(command: str = SERVE) -> Options:
    """The options of a command by each of their names.

    >>> named()["-tp"].dest
    'tensor_parallel_size'
    """
    return Options({name: row for row in _rows(command) for name in row["names"]})


def _rows(command: str) -> Sequence[Row]:
    rows: Sequence[Row] = _recorded()["commands"][command]
    return rows


def commands() -> tuple[str, ...]:
    """The commands of vLLM whose options are recorded.

    >>> "bench sweep serve" in commands()
    True
    """
    return tuple(_recorded()["commands"])


def other_commands() -> tuple[str, ...]:
    """vLLM's other commands, of which only the names are recorded.

    >>> "bench throughput" in other_commands()
    True
    """
    return tuple(_recorded()["others"])


def nearest(name: str, names: Sequence[str]) -> str:
    """The closest names, for an error line.

    >>> nearest("gpu_memory_utilisation", list(options()))
    'did you mean gpu_memory_utilization?'
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only errors pay for it

    close = get_close_matches(name, names, n=3, cutoff=0.7)
    return f"did you mean {' or '.join(close)}?" if close else "see --help for the names"
