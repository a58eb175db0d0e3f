"""Write made-up command lines with what vLLM's own parser makes of each, for the tests.

Runs inside the engine's venv, from the root of the checkout:

    "$engine" scripts/engine/command_lines.py > tests/fixtures/command_lines.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import random
import sys
from collections.abc import Iterator, Sequence

from vllm.benchmarks.serve import add_cli_args
from vllm.benchmarks.sweep.serve import SweepServeArgs
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

from flags import Row, options, parsers

SEED, LINES = 320, 900
COMMANDS = ("serve", "serve", "serve", "serve", "bench serve", "bench serve", "bench sweep serve")
# Their values are files, or have a grammar of their own that the table does not know.
LEFT_OUT = frozenset(("config", "lora_modules", "random_mm_bucket_config"))
VALUES = {
    "int": ("1", "8", "0", "-1", "x", "1.5", "1_000", "", "None", "8k"),
    "human_int": ("8", "8k", "8K", "1.5k", "1.5K", "auto", "-1", "2T", "None", "8kk"),
    "human_int_or_auto": ("8", "8k", "auto", "AUTO", "-1", "1.5K", "None"),
    "float": ("0.5", "1", "inf", "x", "-0.5", "-1", "1e3", "None"),
    "json": ('{"a": 1}', "[1]", "x", "{", "1", "None", "null"),
    "object": ("{}", '{"zzz": 1}', "x", "[1]", '{"a"'),
    "json_or_str": ("x", '{"a": 1}', "{a}", "[1", "None"),
    "str": ("x", "a b", "", "None", "-x", "1", "/m/n", "a,b", "A-b"),
}
KEYS = (
    ("--eplb-config.num_redundant_experts", "4"),
    ("--eplb_config.window_size=1k",),
    ("--eplb-config.zzz", "4"),
    ("-cc.cudagraph_mode=NONE",),
    ("-cc.cudagraph_capture_sizes", "[1, 2]"),
    ("--compilation-config.pass_config.zzz=1",),
    ("--kv-transfer-config.kv_role", "kv_both", "--kv-transfer-config.kv_connector=x"),
    ("--speculative-config.num_speculative_tokens", "3"),
)
ODD = (("-O3",), ("-O", "2"), ("-O",), ("-tp8",), ("-n2",), ("-d", "1"), ("-t", "2"), ("stray",))


def lines(draw: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Commands with a few options each, most of them right."""
    tables = {
        name: [row for row in options(parsers()[name]) if row["dest"] not in LEFT_OUT]
        for name in set(COMMANDS)
    }
    for _ in range(LINES):
        name = draw.choice(COMMANDS)
        words = ["/m"] if name == "serve" and draw.random() < 0.75 else []
        for _ in range(draw.randint(0, 4)):
            words += option(draw, draw.choice(tables[name]))
        if name == "serve" and draw.random() < 0.15:
            words += draw.choice(KEYS)
        if draw.random() < 0.06:
            words += draw.choice(ODD)
        yield name, words


def option(draw: random.Random, row: Row) -> list[str]:
    """One option under one of its names, whole or cut, and a value or more."""
    names, kind, nargs = row["names"], str(row["kind"]), row.get("nargs")
    assert isinstance(names, list)
    name: str = draw.choice(names)
    how = draw.random()
    if how < 0.1 and len(name) > 4:
        name = name[: draw.randint(3, len(name))]
    elif how < 0.2 and name.startswith("--"):
        name = "--" + name[2:].replace("-", "_")
    elif how < 0.25:
        name += "x"
    if kind == "bool":
        return [name if draw.random() < 0.95 else f"{name}=true"]
    most = {"?": 1, "*": 3, "+": 3}
    count = draw.randint(0, most[str(nargs)]) if nargs else 1
    values = [value(draw, row) for _ in range(count)]
    if values and draw.random() < 0.2:
        return [f"{name}={values[0]}", *values[1:]]
    return [name, *values]


def value(draw: random.Random, row: Row) -> str:
    """A choice, as it is or as a folded option may have it; else what the kind may look like."""
    choices = row.get("choices")
    if isinstance(choices, list) and draw.random() < 0.7:
        choice: str = draw.choice(choices)
        return choice.upper().replace("_", "-") if row.get("folded") else choice
    return draw.choice(VALUES[str(row["kind"])])


def whole_parser() -> argparse.ArgumentParser:
    """vLLM's parser with its commands, as `vllm` itself has it."""
    whole: argparse.ArgumentParser = FlexibleArgumentParser()
    named = whole.add_subparsers(required=True, dest="subparser")
    make_arg_parser(named.add_parser("serve"))
    benches = named.add_parser("bench").add_subparsers(required=True, dest="bench_type")
    add_cli_args(benches.add_parser("serve"))
    sweeps = benches.add_parser("sweep").add_subparsers(required=True, dest="sweep_type")
    SweepServeArgs.add_cli_args(sweeps.add_parser("serve"))
    return whole


def answer(whole: argparse.ArgumentParser, words: Sequence[str]) -> dict[str, object] | None:
    """What vLLM makes of the words, None if it complains; nothing where it only prints its help."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return vars(whole.parse_args(list(words)))
    except SystemExit as stop:
        return {} if stop.code == 0 else None
    except (ValueError, IndexError):
        return None


def plain(found: object) -> object:
    """A value as JSON; of vLLM's own objects only that there is one."""
    if isinstance(found, list | tuple):
        return [plain(one) for one in found]
    if isinstance(found, dict):
        return {str(key): plain(one) for key, one in found.items()}
    if dataclasses.is_dataclass(found):
        return "an object"
    return found if isinstance(found, str | int | float | bool) or found is None else str(found)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever vLLM prints goes to stderr
    whole = whole_parser()
    defaults = {name: answer(whole, name.split()) or {} for name in COMMANDS}
    for name, words in lines(random.Random(SEED)):
        found = answer(whole, [*name.split(), *words])
        row: dict[str, object] = {"command": name, "words": words, "taken": found is not None}
        if found is not None:
            base = defaults[name]
            changed = {key: plain(one) for key, one in found.items() if one != base.get(key)}
            row["values"] = {key: one for key, one in changed.items() if key != "request_id_prefix"}
        print(json.dumps(row), file=answers)
    answers.flush()
    sys.exit(0)


if __name__ == "__main__":
    main()
