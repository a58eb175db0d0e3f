"""Write every option of vLLM's commands, read from its own parsers, as the package's data.

Runs inside the engine's venv: `python scripts/engine/flags.py > src/vllm_parallel/engine/flags.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator

os.environ.update(VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1")

from vllm.benchmarks.serve import add_cli_args as add_bench_serve
from vllm.benchmarks.sweep import serve as sweep_serve
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.version import __version__

NUMBERS = {"int": "int", "float": "float", "human_readable_int": "human_int"}
NUMBERS["human_readable_int_or_auto"] = "human_int"


def commands() -> dict[str, argparse.ArgumentParser]:
    """The commands that the site shows, with the parsers that vLLM gives them."""
    bench = FlexibleArgumentParser()
    add_bench_serve(bench)
    sweep = FlexibleArgumentParser()
    sweep_serve.SweepServeArgs.add_cli_args(sweep)
    return {
        "serve": make_arg_parser(FlexibleArgumentParser()),
        "bench serve": bench,
        "bench sweep serve": sweep,
    }


def kind_of(action: argparse.Action) -> str:
    """What a value of this option looks like."""
    if isinstance(action, argparse.BooleanOptionalAction) or action.nargs == 0:
        return "bool"
    name = getattr(action.type, "__name__", "str")
    default = action.default
    if name in NUMBERS:
        return NUMBERS[name]
    if (
        name == "_optional_type"
        and isinstance(default, int | float)
        and not isinstance(default, bool)
    ):
        return type(default).__name__
    return {"loads": "json", "parse_dataclass": "json"}.get(name, "str")


def optional_kind(action: argparse.Action, kind: str) -> str:
    """`int` or `float` behind vLLM's optional_type, found by trying it."""
    if getattr(action.type, "__name__", "") != "_optional_type" or action.type is None:
        return kind
    for text, found in (("{}", "json"), ("1", None)):
        try:
            value = action.type(text)  # type: ignore[operator]  # argparse types are callables
        except (ValueError, TypeError, argparse.ArgumentTypeError):
            continue
        if found == "json" and isinstance(value, dict):
            return "json"
        if found is None and isinstance(value, int | float) and not isinstance(value, bool):
            return "float" if is_float(action) else type(value).__name__
    return kind


def is_float(action: argparse.Action) -> bool:
    """Whether the option takes a number with a fraction."""
    try:
        return isinstance(action.type("0.5"), float)  # type: ignore[operator,misc]  # as above
    except (ValueError, TypeError, argparse.ArgumentTypeError):
        return False


def plain(value: object) -> object:
    """A default as JSON, None where it is an object of vLLM's own."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else None


def options(parser: argparse.ArgumentParser) -> Iterator[dict[str, object]]:
    """One row for each option, in the parser's order."""
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction) or not action.option_strings:
            continue
        row: dict[str, object] = {
            "dest": action.dest,
            "names": list(action.option_strings),
            "kind": optional_kind(action, kind_of(action)),
            "default": plain(action.default),
        }
        if action.choices is not None:
            row["choices"] = [str(choice) for choice in action.choices]
        if action.nargs not in (None, 0):
            row["nargs"] = str(action.nargs)
        if action.required:
            row["required"] = True
        yield row


def main() -> None:
    table = {name: list(options(parser)) for name, parser in commands().items()}
    release = __version__.split("+")[0]
    json.dump({"release": release, "commands": table}, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
