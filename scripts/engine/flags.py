"""Write every option of vLLM's commands, read from its own parsers, as the package's data.

Runs inside the engine's venv, from the root of the checkout:

    "$engine" scripts/engine/flags.py > src/vllm_parallel/engine/flags.json
"""

# ruff: noqa: SLF001  # argparse lists its options nowhere else

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache

os.environ.update(VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1")

import vllm.config
from vllm.benchmarks.serve import add_cli_args as add_bench_serve
from vllm.benchmarks.sweep.cli import SUBCOMMANDS
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.version import __version__

Row = dict[str, object]

# vLLM's other commands; their options are not recorded.
OTHERS = (
    "bench latency", "bench mm-processor", "bench startup", "bench throughput", "chat",
    "collect-env", "complete", "download-kernels", "launch", "preload", "run-batch", "snapshot",
)  # fmt: skip


def commands() -> dict[str, argparse.ArgumentParser]:
    """The commands that the site shows, with the parsers that vLLM gives them."""
    bench = FlexibleArgumentParser()
    add_bench_serve(bench)
    parsers = {"serve": make_arg_parser(FlexibleArgumentParser()), "bench serve": bench}
    for command, _ in SUBCOMMANDS:
        sweep = FlexibleArgumentParser()
        command.add_cli_args(sweep)
        parsers[f"bench sweep {command.parser_name}"] = sweep
    return parsers


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """The same, made once."""
    return commands()


def taken(action: argparse.Action, text: str) -> object:
    """What the option makes of a value; the text itself where it has no type of its own."""
    make: Callable[[str], object] = action.type if callable(action.type) else str
    return make(text)


def takes(action: argparse.Action, text: str) -> bool:
    """Whether the option has no complaint about a value."""
    try:
        taken(action, text)
    except (ValueError, TypeError, SyntaxError, argparse.ArgumentTypeError):
        return False
    return True


def kind_of(action: argparse.Action) -> str:
    """What a value of this option looks like, found by trying some."""
    if isinstance(action, argparse.BooleanOptionalAction) or action.nargs == 0:
        return "bool"
    if takes(action, "x"):
        return "json_or_str" if isinstance(taken(action, "{}"), dict) else "str"
    if takes(action, "8k"):
        return "human_int_or_auto" if takes(action, "auto") else "human_int"
    if takes(action, "{}"):
        if takes(action, '{"a": 1}'):
            return "json"
        return "object" if dataclasses.is_dataclass(taken(action, "{}")) else "str"
    return "float" if takes(action, "0.5") else "int"


def keys_of(action: argparse.Action, kind: str) -> list[str]:
    """The keys of an option that is an object, those inside it behind a dot."""
    if kind == "object":
        return list(names_in(type(taken(action, "{}"))))
    named = "".join(word.capitalize() for word in action.dest.split("_"))
    config = getattr(vllm.config, named, None)
    return list(names_in(config)) if kind == "json" and config is not None else []


def names_in(config: type) -> Iterator[str]:
    """The fields that a config class can be given."""
    for field in dataclasses.fields(config):
        if field.init:
            yield field.name
            inner = getattr(vllm.config, str(field.type).split(".")[-1], None)
            if inner is None and isinstance(field.type, type):
                inner = field.type
            if isinstance(inner, type) and dataclasses.is_dataclass(inner):
                yield from (f"{field.name}.{name}" for name in names_in(inner))


def plain(value: object) -> object:
    """A default as JSON, None where it is an object of vLLM's own."""
    if value is argparse.SUPPRESS:
        return None
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else None


def steady(one: object, other: object) -> object:
    """A default; of one that each start makes anew, what stays the same."""
    if one != other and isinstance(one, str) and isinstance(other, str):
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        return "".join(letter for letter, _ in same) + "…"
    return one


def row_of(action: argparse.Action) -> Row:
    """One option."""
    kind = kind_of(action)
    row: Row = {
        "dest": action.dest,
        "names": list(action.option_strings),
        "kind": kind,
        "default": plain(action.default),
    }
    if action.choices is not None:
        unordered = isinstance(action.choices, set | frozenset)
        row["choices"] = list(map(str, sorted(action.choices) if unordered else action.choices))
    if action.nargs not in (None, 0):
        row["nargs"] = str(action.nargs)
    if action.required:
        row["required"] = True
    if kind != "bool" and takes(action, "None") and taken(action, "None") is None:
        row["optional"] = True
    if takes(action, "A-b") and taken(action, "A-b") == "a_b":
        row["folded"] = True
    if keys := keys_of(action, kind):
        row["keys"] = keys
    return row


def options(parser: argparse.ArgumentParser) -> Iterator[Row]:
    """One row for each option, in the parser's order, with the group it is listed in."""
    groups = {
        action.dest: group.title
        for group in parser._action_groups
        for action in group._group_actions
    }
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction) or not action.option_strings:
            continue
        yield row_of(action) | {"group": groups[action.dest]}


def table() -> dict[str, list[Row]]:
    """Every command's options; what two parsers disagree on is made anew by each start."""
    twice = commands(), commands()
    rows = {}
    for name in twice[0]:
        pairs = zip(options(twice[0][name]), options(twice[1][name]), strict=True)
        rows[name] = [
            one | {"default": steady(one["default"], other["default"])} for one, other in pairs
        ]
    return rows


def main() -> None:
    release = __version__.split("+")[0]
    recorded = {"release": release, "commands": table(), "others": OTHERS}
    json.dump(recorded, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
