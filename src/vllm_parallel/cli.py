"""The commands: `plan` for one deployment, `batch` for a file of questions."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from vllm_parallel.answers import Json, Question, answers, parts
from vllm_parallel.catalog import is_catalog_name
from vllm_parallel.engine.options import Option, nearest, options
from vllm_parallel.errors import ParseError, VllmParallelError
from vllm_parallel.verdict import Verdict

ACCEPTED: Final = 0
REFUSED: Final = 1
UNREADABLE: Final = 2
KILO: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


class Help(argparse.HelpFormatter):
    """Help of a fixed width: argparse would ask the terminal at every option that it adds."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=96)


class Parser(argparse.ArgumentParser):
    """argparse that ends a call it cannot read in one line."""

    def error(self, message: str) -> NoReturn:
        """Stop with the exit code of an unreadable call."""
        raise ParseError(place="the call:", problem=message, fix=f"see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 accepted, 1 refused, 2 not readable."""
    words = [hyphened(word) for word in (sys.argv[1:] if arguments is None else arguments)]
    try:
        given = _parser(words).parse_args(words)
        code: int = given.run(given)
    except VllmParallelError as error:
        sys.stderr.write(f"vllm-parallel: {error}\n")
        return UNREADABLE
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; Python would complain of the flush
        return UNREADABLE
    return code


def run_batch(_: argparse.Namespace) -> int:
    """One answer a line, in the order of the questions; 1 if one was refused or not read."""
    code = ACCEPTED
    stream = (line.decode("utf-8", "replace") for line in sys.stdin.buffer)
    for row in answers(stream):
        verdict = row.get("verdict")
        if "error" in row or (isinstance(verdict, dict) and not verdict["accepted"]):
            code = REFUSED
        sys.stdout.write(json.dumps(row) + "\n")
    return code


def run_plan(given: argparse.Namespace) -> int:
    """One deployment: a report for people, or the answer as JSON."""
    question = Question.of(question_of(given))
    verdict = Verdict.of(question.deployment, question.available_kv_bytes)
    if given.json:
        sys.stdout.write(json.dumps({"id": None} | parts(question, verdict)) + "\n")
    else:
        from vllm_parallel.render.report import report  # noqa: PLC0415  # only people pay for it

        word = '"$MODEL"' if is_catalog_name(given.model) else shlex.quote(given.model)
        sys.stdout.write(report(question.deployment, verdict, word) + "\n")
    return ACCEPTED if verdict.accepted else REFUSED


def question_of(given: argparse.Namespace) -> Json:
    """The question that a call of `plan` asks."""
    ours = ("available_kv_bytes", "gpu", "gpus_per_node", "nodes", "rank", "as_bf16", "ask")
    values = vars(given)
    return {
        "model": given.model,
        "args": {name: values[name] for name in options() if values.get(name) is not None},
        **{name: values[name] for name in ours if values[name] is not None},
    }


def hyphened(word: str) -> str:
    """An option with hyphens, as vLLM takes underscores too.

    >>> hyphened("--tensor_parallel_size=8")
    '--tensor-parallel-size=8'
    """
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return f"{name.replace('_', '-')}{equals}{value}"


def human_int(text: str) -> int:
    """A whole number; 8k is 8000 and 8K is 8192, as vLLM reads them.

    Source: vllm/engine/arg_utils.py, human_readable_int (v0.32.0)

    >>> human_int("8k"), human_int("1.5K"), human_int("auto")
    (8000, 1536, -1)
    """
    if text == "auto":
        return -1
    factor = KILO.get(text[-1:], 1)
    number = float(text[:-1]) if factor > 1 else int(text)
    value = number * factor
    if value != int(value):
        raise ValueError(text)
    return int(value)


def json_object(text: str) -> Json:
    """An object given as JSON."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def _parser(words: Sequence[str]) -> Parser:
    parser = Parser(
        prog="vllm-parallel", description=__doc__, allow_abbrev=False, formatter_class=Help
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="plan|batch", prog="vllm-parallel"
    )
    batch = commands.add_parser(
        "batch", help="answer JSON lines from standard input", formatter_class=Help
    )
    batch.set_defaults(run=run_batch)
    plan = commands.add_parser(
        "plan", help="answer for one deployment", allow_abbrev=False, formatter_class=Help
    )
    plan.set_defaults(run=run_plan)
    if words[:1] == ["plan"]:
        _add_plan(plan, words[1:])
    return parser


def _add_plan(plan: argparse.ArgumentParser, words: Sequence[str]) -> None:
    plan.add_argument("model", help="catalog name, config.json or its folder")
    plan.add_argument("--gpu", help="GPU of the catalog, for the budget")
    plan.add_argument("--gpus-per-node", type=int)
    plan.add_argument("--nodes", type=int)
    plan.add_argument("--available-kv-bytes", type=int, help="KV budget of every rank")
    plan.add_argument("--as-bf16", action="store_true", default=None, help="unquantised twin")
    plan.add_argument("--rank", type=int, help="only this rank")
    plan.add_argument("--ask", action="append", help="only this part of the answer")
    plan.add_argument("--json", action="store_true", help="print the answer as JSON")
    ours = {name for action in plan._actions for name in action.option_strings}  # noqa: SLF001
    theirs = {name for option in options().values() for name in option.names}
    asked = {word.partition("=")[0] for word in words if _is_option(word)}
    for word in sorted(asked - ours - theirs):
        raise ParseError(place=word, problem="is no option", fix=nearest(word, [*ours, *theirs]))
    # vLLM has over 300 options; a parser of those asked for starts in a tenth of the time.
    everything = not asked.isdisjoint(("-h", "--help"))
    group = plan.add_argument_group("vllm serve", "vLLM's own options, spelled as there")
    for option in options().values():
        if everything or not asked.isdisjoint(option.names):
            _add_option(group, option)


def _is_option(word: str) -> bool:
    """Whether a word is an option and no negative number."""
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _add_option(group: argparse._ArgumentGroup, option: Option) -> None:
    if option.kind == "bool":
        off = [name for name in option.names if name.startswith("--no-")]
        on = [name for name in option.names if name not in off]
        group.add_argument(*on, dest=option.dest, action="store_true", default=None)
        if off:
            group.add_argument(*off, dest=option.dest, action="store_false", default=None)
        return
    kinds: dict[str, Callable[[str], object]] = {
        "int": int,
        "human_int": human_int,
        "float": float,
        "json": json_object,
    }
    if option.dest.endswith("_config"):
        kinds[option.kind] = json_object
    kind = kinds.get(option.kind, str)
    group.add_argument(*option.names, dest=option.dest, type=kind, metavar="X")
