"""The options of a command's call: ours, and those of vLLM that are asked for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from vllm_parallel.engine.options import Option, named, nearest, options
from vllm_parallel.errors import ParseError
from vllm_parallel.question import KEYS, PARTS

MODEL_HELP: Final = "catalog name, config.json or its folder"


def add_layouts(layouts: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The options of `layouts`."""
    from vllm_parallel.layouts import (  # noqa: PLC0415  # only `layouts` pays for it
        CONCURRENCY,
        CONTEXT,
        PER_NODE,
        TOP,
    )
    from vllm_parallel.outcome import Goal  # noqa: PLC0415  # as above

    goals = [goal.value for goal in Goal]
    layouts.add_argument("model", help=MODEL_HELP)
    layouts.add_argument("--gpus", type=int, required=True, help="how many there are")
    layouts.add_argument("--gpu", required=True, help="GPU of the catalog")
    layouts.add_argument("--gpus-per-node", type=int, help=f"{PER_NODE} if not given")
    layouts.add_argument("--goal", choices=goals, help=f"what to rank by; {goals[0]} if not given")
    layouts.add_argument(
        "--concurrency", type=int, help=f"requests at once; {CONCURRENCY} if not given"
    )
    layouts.add_argument("--context", type=int, help=f"tokens of each; {CONTEXT} if not given")
    layouts.add_argument("--fewer", action="store_true", help="also layouts of fewer GPUs")
    layouts.add_argument("--top", type=int, help=f"how many to show; {TOP} if not given")
    layouts.add_argument("--as-bf16", action="store_true", default=None, help="unquantised twin")
    layouts.add_argument("--json", action="store_true", help="print the answer as JSON")
    add_theirs(layouts, words)


def add_batch(batch: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """What `batch --help` says of a question's keys and an answer's."""
    asked = batch.add_argument_group("keys of a question, one JSON object a line")
    told = batch.add_argument_group("keys of an answer, one a line in the same order")
    unread = {"id": "the question's", "error": "in place of the rest: why it cannot be read"}
    asked.description = _listed(KEYS)
    told.description = _listed(unread | dict(PARTS))
    batch.epilog = "exit code: 0 all are accepted, 1 one is refused or cannot be read"


def _listed(keys: Mapping[str, str]) -> str:
    return "\n".join(f"{name:22}{says}" for name, says in keys.items())


def add_check(check: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of `check`."""
    check.add_argument("files", nargs="*", metavar="FILE", help="a shell script")
    check.add_argument("--model", help="in place of the model that the commands name")
    _add_machine(check)
    check.add_argument("--json", action="store_true", help="print an answer a line, as JSON")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpu", help="GPU of the catalog, for the budget")
    parser.add_argument("--gpus-per-node", type=int, help="GPUs that a node has")
    parser.add_argument("--nodes", type=int, help="nodes of the cluster, 1 if not given")
    parser.add_argument("--available-kv-bytes", type=int, help="KV budget of every rank")
    parser.add_argument("--as-bf16", action="store_true", default=None, help="unquantised twin")


def add_plan(plan: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The options of `plan`."""
    plan.add_argument("model", help=MODEL_HELP)
    _add_machine(plan)
    plan.add_argument("--rank", type=int, help="only this rank")
    plan.add_argument("--ask", action="append", help="only this part of the answer")
    plan.add_argument("--json", action="store_true", help="print the answer as JSON")
    add_theirs(plan, words)


def add_theirs(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The options of vLLM that are asked for."""
    ours = {name for action in parser._actions for name in action.option_strings}  # noqa: SLF001
    theirs = named()
    asked = {word.partition("=")[0] for word in words if _is_option(word)}
    for word in sorted(asked - ours - theirs.keys()):
        raise ParseError(place=word, problem="is no option", fix=nearest(word, [*ours, *theirs]))
    # vLLM has over 300 options; a parser of those asked for starts in a tenth of the time.
    everything = not asked.isdisjoint(("-h", "--help"))
    group = parser.add_argument_group("vllm serve", "vLLM's own options, spelled as there")
    found = {theirs[word].dest: theirs[word] for word in asked & theirs.keys()}
    for option in (options() if everything else found).values():
        if ours.isdisjoint(option.names):
            _add_option(group, option)


def _is_option(word: str) -> bool:
    """Whether a word is an option and no negative number."""
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _add_option(group: argparse._ArgumentGroup, option: Option) -> None:
    if not option.takes_value:
        off = [name for name in option.names if name.startswith("--no-")]
        on = [name for name in option.names if name not in off]
        group.add_argument(*on, dest=option.dest, action="store_true", default=None)
        if off:
            group.add_argument(*off, dest=option.dest, action="store_false", default=None)
        return
    group.add_argument(*option.names, dest=option.dest, nargs=option.nargs, metavar="X")
