"""The errors of the package: each names what is wrong, both numbers, and the way out.

VllmParallelError (a ValueError)
├── LayoutError         vLLM would refuse this deployment
├── CatalogError        a model or GPU cannot be read, or is not modelled
├── UnevenSplitError    a width does not divide what it splits
└── ParseError          a question, a flag or a file cannot be read
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

LONGEST_VALUE: Final = 40
JSON_WORDS: Final = {  # by Python's
    "None": "null",
    "True": "true",
    "False": "false",
    "inf": "Infinity",
    "-inf": "-Infinity",
    "nan": "NaN",
}


class VllmParallelError(ValueError):
    """Base of all errors that this package raises on purpose.

    >>> issubclass(LayoutError, VllmParallelError), issubclass(VllmParallelError, ValueError)
    (True, True)
    """


class LayoutError(VllmParallelError):
    """A deployment that vLLM refuses to start.

    >>> str(LayoutError(rule="heads", message="64 heads.", fix="use a tp of 1, 2, 4"))
    '64 heads. (heads; use a tp of 1, 2, 4)'
    """

    def __init__(self, *, rule: str, message: str, fix: str) -> None:
        super().__init__(rule, message, fix)
        self.rule = rule
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} ({self.rule}; {self.fix})"


class CatalogError(VllmParallelError):
    """A model or GPU that cannot be read, or that this package does not model.

    >>> str(CatalogError(subject="FooForCausalLM", problem="is not modelled", fix="see --help"))
    'FooForCausalLM is not modelled; see --help'
    """

    def __init__(self, *, subject: str, problem: str, fix: str) -> None:
        super().__init__(subject, problem, fix)
        self.subject = subject
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.subject} {self.problem}; {self.fix}"


class UnevenSplitError(VllmParallelError):
    """A width that does not divide what it splits.

    >>> str(UnevenSplitError(what="query heads", amount=60, width=8))
    '60 query heads do not divide by 8; use a width that divides 60'
    """

    def __init__(self, *, what: str, amount: int, width: int) -> None:
        super().__init__(what, amount, width)
        self.what = what
        self.amount = amount
        self.width = width

    def __str__(self) -> str:
        fix = f"use a width that divides {self.amount}"
        return f"{self.amount} {self.what} do not divide by {self.width}; {fix}"


class ParseError(VllmParallelError):
    """A question, a flag or a file that cannot be read.

    >>> str(ParseError(place="line 3", problem="is not JSON", fix="write one object a line"))
    'line 3 is not JSON; write one object a line'
    """

    def __init__(self, *, place: str, problem: str, fix: str) -> None:
        super().__init__(place, problem, fix)
        self.place = place
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.place} {self.problem}; {self.fix}"


def shortened(value: object) -> str:
    """A value for an error line, spelled as JSON spells it; a string alone in single quotes.

    >>> shortened("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    >>> shortened([True, None, float("inf"), {"a": "b"}])
    '[true, null, Infinity, {"a": "b"}]'
    """
    try:
        text = repr(value) if isinstance(value, str) else _in_json(value)
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        text = f"a {type(value).__name__} too large to show"
    text = _as_everywhere(text)
    if len(text) <= LONGEST_VALUE:
        return text
    closing = text[-1] if isinstance(value, str) else ""
    return f"{text[: LONGEST_VALUE - 1 - len(closing)]}…{closing}"


def _in_json(value: object) -> str:
    """A value as JSON has it; one that JSON has not as Python shows it."""
    if isinstance(value, str):
        inside = repr(value)[1:-1].replace("\\'", "'").replace('"', '\\"')
        return f'"{inside}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_json, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_in_json(key)}: {_in_json(v)}' for key, v in value.items())}}}"
    text = repr(value)
    return JSON_WORDS.get(text, text)


def on_one_line(text: str) -> str:
    r"""Text whose line breaks and other unprintable characters are escaped.

    >>> on_one_line("a\nb.json")
    'a\\nb.json'
    """
    return _as_everywhere(text if text.isprintable() else repr(text)[1:-1])


def _as_everywhere(text: str) -> str:
    r"""Text with characters escaped that some Python does not know yet, and so does not print.

    >>> print(_as_everywhere("\u6a21\u578b \U0001facf"))
    模型 \U0001facf
    """
    if text.isascii():
        return text
    from unicodedata import ucd_3_2_0  # noqa: PLC0415  # few texts need it; every Python has it

    return "".join(
        ascii(one)[1:-1] if ucd_3_2_0.category(one) in ("Cn", "Co", "Cs") else one for one in text
    )


def close_names(name: str, names: Collection[str], *, whose: str) -> str:
    """Which of many names may have been meant, or how many there are.

    >>> close_names("qwen3-32", ["qwen3-32b", "gemma-2-9b"], whose="the catalog")
    'did you mean qwen3-32b?'
    >>> close_names("x", ["qwen3-32b", "gemma-2-9b"], whose="the catalog")
    'the catalog has 2, from gemma-2-9b to qwen3-32b'
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only errors pay for it

    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if len(names) == 1:
        return f"{whose} has {min(names)} alone"
    return f"{whose} has {len(names)}, from {min(names)} to {max(names)}"
