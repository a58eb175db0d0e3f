"""The commands: about deployments, and of what vLLM wrote."""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from vllm_parallel.answers import answers, parts
from vllm_parallel.call import add_batch, add_check, add_layouts, add_plan, add_theirs
from vllm_parallel.catalog import is_catalog_name, model_source, named_model
from vllm_parallel.engine.options import options
from vllm_parallel.engine.values import given_value, hyphened
from vllm_parallel.errors import ParseError, VllmParallelError
from vllm_parallel.question import Json, Question
from vllm_parallel.starting import verdict_on_nodes
from vllm_parallel.term import RELEASE
from vllm_parallel.version import __version__

ACCEPTED: Final = 0
REFUSED: Final = 1
UNREADABLE: Final = 2

# Commands that read what vLLM wrote, and what each is for. A module of `reports` has `add_options`
# and `run`, is imported when its command is called, and may take the options of a launch too.
REPORTS: Final[Mapping[str, str]] = {
    "log": "what a log of vllm serve says, beside the estimate",
    "metrics": "what each engine did between two readings of /metrics",
    "bench": "a table of what vllm bench serve wrote",
    "compare": "judge which measured layout is faster",
    "run": "describe, check or print a measured run",
}


COMMANDS: Final = ("plan", "batch", "check", "layouts", *REPORTS)


class Help(argparse.RawDescriptionHelpFormatter):
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
    if arguments is None:  # this process is the command's own
        arguments = sys.argv[1:]
        gc.freeze()  # what is imported stays: to search it for garbage takes a tenth of the time
    try:
        given = parsed(arguments)
        code: int = given.run(given)
        sys.stdout.flush()  # what cannot be written is said here, not by Python at its end
    except VllmParallelError as error:
        sys.stderr.write(f"vllm-parallel: {error}\n")
        return UNREADABLE
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; Python would complain of the flush
        return UNREADABLE
    except OSError as error:
        sys.stderr.write(f"vllm-parallel: the output cannot be written ({error.strerror})\n")
        _drop_output()
        return UNREADABLE
    return code


def _drop_output() -> None:
    """Let Python flush at its end what the output would not take."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """A call's options, and as `run` what carries it out.

    Raises:
        ParseError: a call that the parser does not take.

    >>> parsed(["plan", "llama-3.1-8b", "-tp", "2"]).tensor_parallel_size
    '2'
    """
    words, call = list(arguments), None
    if words[:1] == ["check"] and "--" in words:
        end = words.index("--")
        words, call = words[:end], words[end + 1 :]
    words = [hyphened(word) for word in words]
    return _parser(words).parse_args(words, argparse.Namespace(call=call))


def run_batch(_: argparse.Namespace) -> int:
    """One answer a line, in the order of the questions; 1 if one was refused or not read."""
    code = ACCEPTED
    stream = (line.decode("utf-8", "replace") for line in sys.stdin.buffer)
    for row, starts in answers(stream):
        code = code if starts else REFUSED
        sys.stdout.write(json.dumps(row) + "\n")
    return code


def run_plan(given: argparse.Namespace) -> int:
    """One deployment: a report for people, or the answer as JSON."""
    question = Question.of(question_of(given))
    budget = question.available_kv_bytes
    verdict = verdict_on_nodes(question.deployment, budget)
    if given.json:
        sys.stdout.write(json.dumps({"id": None} | parts(question, verdict)) + "\n")
    else:
        from vllm_parallel.render.report import report  # noqa: PLC0415  # only people pay for it

        word = _model_word(given.model)
        sys.stdout.write(report(question.deployment, verdict, word, budget) + "\n")
    return ACCEPTED if verdict.accepted else REFUSED


def run_check(given: argparse.Namespace) -> int:
    """Every command of a call or of scripts: the answer of `plan` for each, 1 if one is refused."""
    from vllm_parallel.review import Script  # noqa: PLC0415  # only `check` pays for it

    terms = dict(terms_of(given))
    if given.model is not None:
        terms["model"] = model_source(given.model)
    scripts = [Script.of_call(given.call)] if given.call else []
    scripts += [Script.of_file(name) for name in given.files]
    if not scripts:
        raise ParseError(place="the call:", problem="names no command", fix="see check --help")
    if all(script.unread for script in scripts):
        raise next(script.unread for script in scripts if script.unread)
    code, readable = ACCEPTED, False
    for script in scripts:
        reviews = script.reviews(terms)
        readable = readable or not all(review.unread for review in reviews)
        rows = list(script.rows(reviews)) if given.json else []
        passed = script.unread is None and all(review.passes for review in reviews)
        if not passed or any("error" in row for row in rows):
            code = REFUSED
        text = "\n".join(map(json.dumps, rows)) if given.json else script.report(reviews)
        sys.stdout.write(text + "\n")
    return code if readable else UNREADABLE


def run_layouts(given: argparse.Namespace) -> int:
    """Every layout of so many GPUs, ranked: a report for people, or JSON; 1 if none fits."""
    from vllm_parallel.layouts import LayoutsAnswer, Terms  # noqa: PLC0415  # only `layouts` pays

    answer = LayoutsAnswer.of(question_of(given), Terms.of(vars(given)))
    text = json.dumps(answer.row) if given.json else answer.report(_model_word(given.model))
    sys.stdout.write(text + "\n")
    return ACCEPTED if answer.outcome.found else REFUSED


def _model_word(model: str) -> str:
    """The model as a word of the shell; the catalog does not know where its weights lie."""
    return '"$MODEL"' if is_catalog_name(model) else shlex.quote(model)


def terms_of(given: argparse.Namespace) -> Json:
    """The keys of a question that the call itself sets."""
    ours = ("available_kv_bytes", "gpu", "gpus_per_node", "nodes", "rank", "as_bf16", "ask")
    values = vars(given)
    if values.get("nodes") is not None and values.get("gpus_per_node") is None:
        problem = "counts no GPUs without --gpus-per-node"
        raise ParseError(place="--nodes", problem=problem, fix="say how many GPUs a node has")
    return {name: values[name] for name in ours if values.get(name) is not None}


def question_of(given: argparse.Namespace) -> Json:
    """The question that a call of `plan` asks."""
    values = vars(given)
    args = {
        name: given_value(options()[name], value)
        for name, value in values.items()
        if name in options() and value is not None
    }
    return {"model": named_model(given.model), "args": args, **terms_of(given)}


def _parser(words: Sequence[str]) -> Parser:
    parser = Parser(
        prog="vllm-parallel", description=__doc__, allow_abbrev=False, formatter_class=Help
    )
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {__version__}, for vLLM v{RELEASE}"
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="|".join(COMMANDS), prog="vllm-parallel"
    )
    for name, command in OWN.items():
        own = commands.add_parser(
            name,
            usage=f"vllm-parallel {name} {command.usage}",
            help=command.says,
            description=f"{command.says[0].upper()}{command.says[1:]}.",
            allow_abbrev=False,
            formatter_class=Help,
        )
        own.set_defaults(run=command.run)
        if words[:1] == [name]:
            command.add(own, words[1:])
    for name, says in REPORTS.items():
        report = commands.add_parser(
            name, help=says, description=says, allow_abbrev=False, formatter_class=Help
        )
        if words[:1] == [name]:
            _add_report(report, name, words[1:])
    return parser


class Own(NamedTuple):
    """A command of ours: what it is for, its call, its options, and what carries it out."""

    says: str
    usage: str
    add: Callable[[argparse.ArgumentParser, Sequence[str]], None]
    run: Callable[[argparse.Namespace], int]


OWN: Final[Mapping[str, Own]] = {
    "batch": Own(
        "answer JSON lines from standard input",
        "< QUESTIONS",
        add_batch,
        run_batch,
    ),
    "plan": Own(
        "answer for one deployment",
        "[options] [options of vllm serve] MODEL",
        add_plan,
        run_plan,
    ),
    "check": Own(
        "judge launch commands of a call or of scripts",
        "[options] (FILE ... | -- vllm serve ...)",
        add_check,
        run_check,
    ),
    "layouts": Own(
        "rank the layouts of some GPUs",
        "[options] [options of vllm serve] --gpus N --gpu GPU MODEL",
        add_layouts,
        run_layouts,
    ),
}


def _add_report(parser: argparse.ArgumentParser, name: str, words: Sequence[str]) -> None:
    module = importlib.import_module(f"vllm_parallel.reports.{name}")
    add_options: Callable[[argparse.ArgumentParser], None] = module.add_options
    run: Callable[[argparse.Namespace], int] = module.run
    add_options(parser)
    parser.set_defaults(run=run)
    if getattr(module, "TAKES_LAUNCH_OPTIONS", False):
        add_theirs(parser, words)
