"""What `check` answers for a command: its flags, then the same as `plan`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from vllm_parallel.answers import parts
from vllm_parallel.catalog import model_source
from vllm_parallel.engine.arguments import FIELDS, OBJECTS, UNMODELLED
from vllm_parallel.engine.commands import VLLM, Command, find, of_words, quoted
from vllm_parallel.engine.options import options
from vllm_parallel.engine.reading import Reading
from vllm_parallel.engine.values import Unknown, is_known, written
from vllm_parallel.errors import ParseError, VllmParallelError, on_one_line, shortened
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.question import Json, Question
from vllm_parallel.term import RELEASE
from vllm_parallel.verdict import Verdict

MOST_BYTES: Final = 2**18
SERVES: Final = re.compile(r"(?<![\w./-])vllm\s+serve\s")
VISIBLE: Final = re.compile(r"\b(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES=")
SIZED: Final = frozenset((*FIELDS, *OBJECTS, *UNMODELLED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A command, and what vLLM would make of it.

    `question` and `verdict` are None for a command that starts no engine, and where `errors` say
    why there is no verdict: a flag that vLLM does not take, a model or a value that is not known.
    """

    reading: Reading
    question: Question | None = None
    verdict: Verdict | None = None
    errors: tuple[str, ...] = ()

    @classmethod
    def of(cls, command: Command, terms: Json) -> Review:
        """The review of a command; `terms` are keys of a question: `gpu`, `nodes`, `model`.

        >>> from vllm_parallel.engine.commands import find
        >>> command, = find("vllm serve meta-llama/Llama-3.1-70B -tp 3")
        >>> Review.of(command, {}).verdict.refusal.fix
        'use a --tensor-parallel-size of 1, 2, 4, 8, 16, 32, 64'
        """
        reading = Reading.of(command)
        if reading.faults or not reading.launches:
            return cls(reading=reading, errors=tuple(_faults(reading)))
        try:
            question = Question.of(question_of(reading, terms))
        except VllmParallelError as error:
            return cls(reading=reading, errors=(str(error),))
        verdict = Verdict.of(question.deployment, question.available_kv_bytes)
        return cls(reading=reading, question=question, verdict=verdict)

    @property
    def passes(self) -> bool:
        """Whether nothing is refused, wrong or unknown."""
        return not self.errors and (self.verdict is None or self.verdict.accepted)

    @property
    def unread(self) -> bool:
        """Whether its model or a value cannot be read; what vLLM refuses itself was read."""
        return bool(self.errors) and not self.reading.faults

    def answer(self) -> dict[str, object]:
        """The answer without its `id`: as that of `plan`, an `error`, or no verdict.

        >>> from vllm_parallel.engine.commands import find
        >>> Review.of(find("vllm serve m --sede 1")[0], {}).answer()
        {'error': '--sede is no option of vllm serve; did you mean --seed?'}
        """
        if self.errors:
            return {"error": " | ".join(self.errors)}
        if self.question is None or self.verdict is None:
            return {"verdict": None}
        try:
            return parts(self.question, self.verdict)
        except VllmParallelError as error:
            return {"error": str(error)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The commands of a file or of a call (without `file`), or why there are none.

    `notes` are for people: what the text says and no verdict looks at.
    """

    file: str | None = None
    commands: tuple[Command, ...] = ()
    unread: ParseError | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of_call(cls, words: Sequence[str]) -> Script:
        """The command that a call holds behind `--`."""
        fix = "write vllm serve ... behind --"
        script = cls._of(None, lambda: of_words(words), fix)
        return replace(script, notes=tuple(_notes(" ".join(words), script, "")))

    @classmethod
    def of_file(cls, name: str) -> Script:
        """The commands of a shell script."""
        fix = "give a script that calls vllm serve"
        try:
            text = _text(name)
        except ParseError as error:
            return cls(file=name, unread=error)
        script = cls._of(name, lambda: find(text), fix)
        return replace(script, notes=tuple(_notes(text, script, f"{on_one_line(name)}:")))

    @classmethod
    def _of(cls, file: str | None, find_all: Callable[[], tuple[Command, ...]], fix: str) -> Script:
        place = "the call" if file is None else on_one_line(file)
        try:
            commands = tuple(one for one in find_all() if one.program == VLLM)
        except ParseError as error:
            at = place if error.place == file else f"{place}: {error.place}"
            return cls(file=file, unread=ParseError(place=at, problem=error.problem, fix=error.fix))
        if commands:
            return cls(file=file, commands=commands)
        problem = "holds no command of vllm"
        return cls(file=file, unread=ParseError(place=place, problem=problem, fix=fix))

    def reviews(self, terms: Json) -> tuple[Review, ...]:
        """What vLLM would make of each command."""
        return tuple(Review.of(command, terms) for command in self.commands)

    def rows(self, reviews: Sequence[Review]) -> Iterator[dict[str, object]]:
        """An answer for each command; for an unread file one with an error."""
        file = {} if self.file is None else {"file": self.file}
        if self.unread is not None:
            yield {"id": {**file, "command": None, "line": None}, "error": str(self.unread)}
        for review in reviews:
            command = review.reading.command
            yield {"id": {**file, "command": command.text, "line": command.line}} | review.answer()

    def report(self, reviews: Sequence[Review]) -> str:
        """The same for people."""
        if self.unread is not None:
            return str(self.unread)
        return "\n\n".join((*map(self._paragraph, reviews), *self.notes))

    def _paragraph(self, review: Review) -> str:
        command = review.reading.command
        at = "" if self.file is None else f"{self.file}:{command.line}: "
        lines = [f"{at}{command.text}"]
        if review.question is not None and review.verdict is not None:
            from vllm_parallel.render.report import report  # noqa: PLC0415  # only people pay for it

            asked = review.question
            word = '"$MODEL"' if review.reading.model is None else quoted(review.reading.model)
            budget = asked.available_kv_bytes
            lines.append(report(asked.deployment, review.verdict, word, budget))
        elif review.errors:
            lines += review.errors
        else:
            lines.append(f"vLLM {RELEASE} takes every option of it.")
        text = "\n".join(lines)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _notes(text: str, script: Script, file: str) -> Iterator[str]:
    """Lines with a launch that was not read as a command, and GPUs that are hidden from one."""
    read = {command.line for command in script.commands}
    for line, said in enumerate(text.splitlines(), 1):
        at = f"{file}{line}: " if file else ""
        if SERVES.search(said) and line not in read and file and not said.lstrip().startswith("#"):
            yield f"{at}names vllm serve, but is not read as a command: give it behind --"
        if hidden := VISIBLE.search(said):
            yield f"{at}{hidden[0][:-1]} is not read: --gpus-per-node says how many GPUs a node has"


def _faults(reading: Reading) -> Iterator[str]:
    """What is wrong with the flags, each with its line where that is another than the command's."""
    for fault in reading.faults:
        at = "" if fault.line == reading.command.line else f"line {fault.line}: "
        yield f"{at}{fault.error}"


def _text(name: str) -> str:
    """The text of a script.

    Raises:
        ParseError: no file, too large, or not text.
    """
    from pathlib import Path  # noqa: PLC0415  # slow to import, and a call needs none

    try:
        data = Path(name).read_bytes()
        if len(data) > MOST_BYTES:
            problem = f"has {len(data)} bytes"
            raise ParseError(place=name, problem=problem, fix=f"at most {MOST_BYTES} are read")
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 at byte {error.start}"
        raise ParseError(place=name, problem=problem, fix="give a shell script") from error
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise ParseError(place=name, problem=problem, fix="give a shell script") from error


def question_of(reading: Reading, terms: Json) -> Json:
    """The question that a launch asks.

    Raises:
        CatalogError: the model is not known.
        ParseError: a value that is sized is left to the shell.
    """
    for word in reading.unread:
        problem = f"holds {on_one_line(word.text)}, which is defined nowhere"
        raise ParseError(place="the command", problem=problem, fix="write the options out")
    args = dict(_arguments(reading.values))
    model = terms.get("model")
    # A written command is vLLM's to spread: nodes beside it add no --nnodes.
    terms = {name: value for name, value in terms.items() if name != "nodes"}
    return {**terms, "args": args, "model": _model(reading) if model is None else model}


def _arguments(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The arguments that differ from vLLM's defaults."""
    for name, value in values.items():
        option = options()[name]
        if name == "config":
            fix = "write the options out: the file is not read"
            raise ParseError(place="--config", problem=f"adds options of {written(value)}", fix=fix)
        if name == "model" or value == option.default:
            continue
        if is_known(value):
            yield name, value
        elif name in SIZED:
            raise _open(option.name, written_unknown(value))


def _model(reading: Reading) -> str:
    """The source of the model that a command names; without one vLLM has its own."""
    word = reading.model
    named = reading.values.get("model", options()["model"].default)
    if isinstance(named, Unknown) or (word is not None and not word.known):
        raise _open("the model", word.text if word is not None else written_unknown(named))
    return model_source(str(named) if word is None else word.text)


def written_unknown(value: object) -> str:
    """What the shell has to fill in, as it is written."""
    if isinstance(value, Mapping):
        return next(written_unknown(inner) for inner in value.values() if not is_known(inner))
    return value.text if isinstance(value, Unknown) else shortened(value)


def _open(place: str, text: str) -> ParseError:
    return ParseError(
        place=place,
        problem=f"is {on_one_line(text)}, which is defined nowhere",
        fix="write its value",
    )
