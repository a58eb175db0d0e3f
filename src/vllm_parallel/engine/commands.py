"""Commands of vLLM in shell text, and of this package."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final

from vllm_parallel.engine.options import SERVE, commands, other_commands
from vllm_parallel.engine.shell import Shell, Word
from vllm_parallel.errors import ParseError
from vllm_parallel.frozen import dataclass, replace

VLLM: Final = "vllm"
OURS: Final = "vllm-parallel"
MODULES: Final = {
    "vllm.entrypoints.cli.main": "",
    "vllm.entrypoints.openai.api_server": SERVE,
    "vllm_parallel": "",
}
IMAGE: Final = re.compile(r"(?:\S+/)?vllm-openai(?:[:@]\S+)?")  # its entry point is `vllm serve`
CONTAINERS: Final = frozenset("docker podman nerdctl".split())
# They start the command that stands behind them, or hand on a text to another shell.
LEADERS: Final = CONTAINERS | frozenset(
    """
    apptainer chrt command conda env exec hatch ionice kubectl micromamba mpirun ncu nice nohup
    nsys numactl pdm pixi poetry setsid singularity srun stdbuf strace sudo systemd-run taskset
    time timeout uv uvx xargs
    """.split()
)
SHELLS: Final = LEADERS | frozenset("bash dash eval ksh screen sh ssh su tmux watch zsh".split())
SWEPT: Final = ("--serve-cmd", "--bench-cmd", "--after-bench-cmd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: its program, which of the program's commands, and the words behind.

    `name` is empty where only the program itself is asked, as by `vllm --version`. `cut` is the
    option that begins the line below, where this one lacks its backslash.
    """

    program: str
    name: str
    words: tuple[Word, ...]
    line: int
    cut: Word | None = None

    @property
    def text(self) -> str:
        """The command in one line, variables filled in as far as they are known.

        >>> find("TP=8; vllm serve $MODEL -tp $TP")[0].text
        'vllm serve "$MODEL" -tp 8'
        """
        head = f"{self.program} {self.name}" if self.name else self.program
        return " ".join([head, *(quoted(word) for word in self.words)])


def find(text: str, *, shell: Shell | None = None, first_line: int = 1) -> tuple[Command, ...]:
    """The commands of vLLM and of this package in a shell text, in its order.

    Raises:
        ParseError: a text that no shell would read.

    >>> [command.text for command in find("M=/m; nohup vllm serve $M -tp 2 > log 2>&1 &")]
    ['vllm serve /m -tp 2']
    """
    found: list[Command] = []
    follows = False  # whether the command before is the last one found
    for words in (shell or Shell()).run(text, first_line):
        if follows and words[0].text.startswith("-"):
            found[-1] = replace(found[-1], cut=words[0])
        here = list(commands_of(words))
        found += here
        follows = bool(here)
    return tuple(found)


def of_words(words: Sequence[str]) -> tuple[Command, ...]:
    """The command that a call holds in words of its own, or in one text.

    >>> of_words(["vllm", "serve", "m", "-tp", "2"])[0].name
    'serve'
    """
    if len(words) == 1:
        return find(words[0])
    return tuple(commands_of([Word(text=word, line=1) for word in words]))


def commands_of(words: Sequence[Word]) -> Iterator[Command]:
    """The commands in the words of one: itself, what it starts, and texts for other shells."""
    entry = _entry(words)
    if entry is not None:
        command = _command(words, *entry)
        yield command
        yield from _swept(command)
        yield from _checked(command)
    elif _leaf(words[0]) in SHELLS:
        for word in words[1:]:
            if len(word.text.split()) > 1:
                yield from _inner(word)


def quoted(word: Word) -> str:
    """A word as the shell reads it; what is unknown keeps its variables."""
    return f'"{word.text}"' if not word.known and "$" in word.text else shlex.quote(word.text)


def _entry(words: Sequence[Word]) -> tuple[int, str] | None:
    """The place of the program, and the command that it means by itself; None for others."""
    if _leaf(words[0]) in (VLLM, OURS):
        return 0, ""
    leads = _leaf(words[0]) in LEADERS or "=" in words[0].text
    image = leads and any(word.text == "run" for word in words[:2])
    for place, word in enumerate(words[: None if leads else 3]):
        behind = words[place + 1].text if place + 1 < len(words) else ""
        if word.text == "-m" and behind in MODULES and _leaf(words[place - 1])[:6] == "python":
            return place + 1, MODULES[behind]
        if leads and _leaf(word) in (VLLM, OURS) and _begins(_leaf(word), behind):
            return place, ""
        if image and IMAGE.fullmatch(word.text):
            return place, SERVE
    return None


def _command(words: Sequence[Word], place: int, name: str) -> Command:
    """The command whose program stands at a place."""
    ours = words[place].text == "vllm_parallel" or _leaf(words[place]) == OURS
    rest = tuple(words[place + 1 :])
    length = 0 if name else _length(rest, () if ours else _names())
    return Command(
        program=OURS if ours else VLLM,
        name=name or " ".join(word.text for word in rest[:length]),
        words=rest[length:],
        line=words[place].line,
    )


def _length(words: Sequence[Word], names: Collection[str]) -> int:
    """How many words name a command: the longest name that is known, else what is no option."""
    for length in (3, 2, 1):
        if " ".join(word.text for word in words[:length]) in names:
            return min(length, len(words))
    return int(bool(words) and words[0].known and not words[0].text.startswith("-"))


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset((*commands(), *other_commands()))


def _begins(program: str, word: str) -> bool:
    """Whether a word behind a program's name can be its command."""
    if program == OURS:
        return bool(word)
    return any(name.split()[0] == word for name in _names())


def _leaf(word: Word) -> str:
    """The last part of a program's path."""
    return word.text.rpartition("/")[2]


def _swept(command: Command) -> Iterator[Command]:
    """The commands that a sweep is given as text."""
    for place, word in enumerate(command.words):
        name, equals, text = word.text.partition("=")
        if name.replace("_", "-") in SWEPT and command.name.startswith("bench sweep"):
            following = command.words[place + 1 : place + 2]
            texts = (replace(word, text=text),) if equals else following
            for inner in texts:
                yield from _inner(inner)


def _checked(command: Command) -> Iterator[Command]:
    """The command that a call of `vllm-parallel check` holds behind its dashes."""
    dashes = next((n for n, word in enumerate(command.words) if word.text == "--"), None)
    if command.program == OURS and dashes is not None and command.words[dashes + 1 :]:
        yield from commands_of(command.words[dashes + 1 :])


def _inner(word: Word) -> Iterator[Command]:
    """The commands of a text within a word, if another shell would read it."""
    try:
        yield from find(word.text, first_line=word.line)
    except ParseError:
        return
