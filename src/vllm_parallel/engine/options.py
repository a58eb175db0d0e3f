"""Every option of vLLM's commands, as its own parsers list them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Final

COMMANDS: Final = ("serve", "bench serve", "bench sweep serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a command.

    `kind` is what a value looks like: bool, int, human_int (8k, 8K), float, json or str.

    Source: vllm/entrypoints/launchers/cli_args.py, make_arg_parser (v0.32.0), recorded
    """

    dest: str
    names: tuple[str, ...]
    kind: str
    choices: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def options(command: str = "serve") -> dict[str, Option]:
    """The options of a command by their destination, in the parser's order.

    >>> options()["tensor_parallel_size"].names
    ('--tensor-parallel-size', '-tp')
    """
    recorded = json.loads(get_data(__name__, "flags.json") or b"{}")
    rows: list[dict[str, Any]] = recorded["commands"][command]
    return {
        row["dest"]: Option(
            dest=row["dest"],
            names=tuple(row["names"]),
            kind=row["kind"],
            choices=tuple(row.get("choices", ())),
        )
        for row in rows
    }


def nearest(name: str, names: list[str]) -> str:
    """The closest names, for an error line.

    >>> nearest("gpu_memory_utilisation", list(options()))
    'did you mean gpu_memory_utilization?'
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only errors pay for it

    close = get_close_matches(name, names, n=3, cutoff=0.7)
    return f"did you mean {' or '.join(close)}?" if close else "see --help for the names"
