"""Values of options: text as vLLM reads it, and values as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from vllm_parallel.engine.options import Option, nearest, options
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass

Json = Mapping[str, object]
SUFFIXED: Final = r"(?P<number>\d+(?P<fraction>\.\d+)?)(?P<suffix>[kKmMgGtT])"
FACTORS: Final = {
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip
BRACES: Final = r"(?s)\s*\{.*\}\s*"
BRACKETS: Final = r"[\[\]{}]"
DEEPEST: Final = 32
STRINGS: Final = r'("(?:[^"\\]|\\.)*")'
WANTED: Final = {
    "int": "a whole number",
    "human_int": "a whole number, like 8192 or 8k",
    "human_int_or_auto": "a whole number, like 8192 or 8k, or auto",
    "float": "a number",
    "json": "JSON",
    "object": "a JSON object",
    "json_or_str": "JSON, as it stands in braces",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A value that the shell fills in, from what the text does not define."""

    text: str


def hyphened(word: str) -> str:
    """An option with hyphens, as vLLM takes underscores too; what follows a dot is a key.

    Source: vllm/utils/argparse_utils.py, FlexibleArgumentParser.parse_args (v0.32.0)

    >>> hyphened("--tensor_parallel_size=8"), hyphened("--eplb_config.window_size")
    ('--tensor-parallel-size=8', '--eplb-config.window_size')
    """
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    head, dot, keys = name.partition(".")
    return f"{head.replace('_', '-')}{dot}{keys}{equals}{value}"


def human_int(text: str) -> int:
    """A whole number; 8k is 8000 and 8K is 8192, and only the first kind has fractions.

    Source: vllm/utils/argparse_utils.py, human_readable_int (v0.32.0)

    >>> human_int("8k"), human_int("8K"), human_int("25.6k")
    (8000, 8192, 25600)
    """
    match = re.fullmatch(SUFFIXED, text.strip())
    if match is None:
        return int(text)
    factor = FACTORS[match["suffix"]]
    if match["fraction"] is None:
        return int(match["number"]) * factor
    if match["suffix"].isupper():
        raise ValueError(text)
    return int(float(match["number"]) * factor)


def human_int_or_auto(text: str) -> int:
    """The same, with auto for -1.

    >>> human_int_or_auto("auto"), human_int_or_auto("8k")
    (-1, 8000)
    """
    return -1 if text.strip().lower() == "auto" else human_int(text)


def json_object(text: str) -> Json:
    """An object given as JSON, in which 8k is a number.

    Source: vllm/engine/arg_utils.py, _expand_json_human_readable_numbers (v0.32.0)

    >>> json_object('{"window_size": 1k, "policy": "8k"}')
    {'window_size': 1000, 'policy': '8k'}
    """
    parts = re.split(STRINGS, text)
    parts[::2] = [
        re.sub(SUFFIXED, lambda m: str(human_int(m.group())), part) for part in parts[::2]
    ]
    value = json.loads("".join(parts))
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def json_or_str(text: str) -> object:
    """JSON where the text stands in braces, else the text."""
    return json.loads(text) if re.fullmatch(BRACES, text) else text


READERS: Final[dict[str, Callable[[str], object]]] = {
    "int": int,
    "human_int": human_int,
    "human_int_or_auto": human_int_or_auto,
    "float": float,
    "json": json.loads,
    "object": json_object,
    "json_or_str": json_or_str,
}


def given_value(option: Option, given: object) -> object:
    """What a call gave as one word or as several; what was read already stays.

    >>> given_value(options()["max_model_len"], "8k"), given_value(options()["max_model_len"], 4096)
    (8000, 4096)
    """
    if isinstance(given, list):
        return [value_of(option, word) for word in given]
    return value_of(option, given) if isinstance(given, str) else given


def value_of(option: Option, text: str) -> object:
    """What vLLM's parser makes of one value.

    Raises:
        ParseError: of another type, or not among the choices.

    >>> value_of(options()["max_model_len"], "8k")
    8000
    """
    if option.optional and text in ("", "None"):
        return None
    if option.kind.startswith(("json", "object")):
        check_depth(option.name, text)
    try:
        value = READERS.get(option.kind, str)(text)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ParseError(
            place=option.name,
            problem=f"is {shortened(text)}",
            fix=f"it should be {WANTED[option.kind]}",
        ) from error
    if option.folded and isinstance(value, str):
        value = value.lower().replace("-", "_")
    if option.choices and str(value) not in option.choices:
        raise ParseError(
            place=option.name,
            problem=f"is {shortened(text)}, which is none of {', '.join(option.choices)}",
            fix=choice_fix(str(value), option),
        )
    if option.keys and isinstance(value, Mapping):
        check_keys(option, value)
    return value


def check_depth(place: str, text: str) -> None:
    """Pass if a value is not nested deeper than anything vLLM takes.

    Raises:
        ParseError: it is.
    """
    depth = deepest = 0
    for bracket in re.findall(BRACKETS, text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise ParseError(
            place=place, problem=f"is nested {deepest} deep", fix=f"at most {DEEPEST} are read"
        )


def choice_fix(text: str, option: Option) -> str:
    """Which choice was meant, if one is close."""
    close = nearest(text, option.choices)
    return close if close.startswith("did you mean") else "use one of them"


def check_keys(option: Option, value: Json, inside: str = "") -> None:
    """Pass if an object has no key that vLLM does not know.

    Raises:
        ParseError: with the nearest key.
    """
    known = [key.removeprefix(inside) for key in option.keys if key.startswith(inside)]
    top = [key for key in known if "." not in key]
    for key, inner in value.items():
        if key not in top:
            raise ParseError(
                place=f"{option.name}.{inside}{shortened(key)[1:-1]}",
                problem="is no key of it",
                fix=nearest(key, top),
            )
        below = f"{inside}{key}."
        if isinstance(inner, Mapping) and any(name.startswith(below) for name in option.keys):
            check_keys(option, inner, below)


def is_known(value: object) -> bool:
    """Whether a value holds nothing that the shell has to fill in.

    >>> is_known({"a": [1, Unknown(text="$N")]})
    False
    """
    if isinstance(value, Mapping):
        return all(is_known(inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return all(is_known(inner) for inner in value)
    return not isinstance(value, Unknown)


def written(value: object) -> str:
    """A value as text that is read as this value again.

    >>> written(0.9), written(float("inf")), written({"window_size": 100})
    ('0.9', 'inf', '{"window_size": 100}')
    """
    return json.dumps(value) if isinstance(value, Mapping | list) else str(value)


def option_words(
    command: str, given: Mapping[str, object]
) -> tuple[tuple[str | Unknown, ...], ...]:
    """The words of each option that a command is given by destination.

    Raises:
        ParseError: an option that the command does not have, or a value that it does not take.

    >>> option_words("bench serve", {"seed": 42, "ignore_eos": True})
    (('--seed', '42'), ('--ignore-eos',))
    """
    table = options(command)
    for name in given:
        if name not in table:
            problem = f"is no option of vllm {command}"
            raise ParseError(place=name, problem=problem, fix=nearest(name, list(table)))
    return tuple(words_of(table[name], value) for name, value in given.items())


def words_of(option: Option, value: object) -> tuple[str | Unknown, ...]:
    """An option and its value as the words of a command.

    Raises:
        ParseError: the option does not take this value.

    >>> words_of(options()["tensor_parallel_size"], 8)
    ('--tensor-parallel-size', '8')
    >>> words_of(options()["enable_prefix_caching"], False)
    ('--no-enable-prefix-caching',)
    """
    if option.kind == "bool":
        name = option.name if value is True else option.off
        if not isinstance(value, bool) or name is None:
            raise unfit(option, value)
        return (name,)
    if option.nargs in ("*", "+") and isinstance(value, list | tuple):
        return (option.name, *(_word(option, one) for one in value))
    word = _word(option, value)
    if isinstance(word, str) and word.startswith("-"):
        return (f"{option.name}={word}",)  # else -0.5 would be read as key 5 of an option -0
    return (option.name, word)


def _word(option: Option, value: object) -> str | Unknown:
    """One value as a word, once reading it gives the value again."""
    if isinstance(value, Unknown):
        return value
    text = written(value)
    if value is None or isinstance(value, bool) or value_of(option, text) != value:
        raise unfit(option, value)
    return text


def unfit(option: Option, value: object) -> ParseError:
    """The error of a value that an option does not take."""
    wanted = "true or false" if option.kind == "bool" else WANTED.get(option.kind, "a string")
    return ParseError(
        place=option.name, problem=f"is {shortened(value)}", fix=f"it should be {wanted}"
    )
