"""JSON of others: the same words under every Python, whatever the text holds."""

from __future__ import annotations

import json
from typing import Final

import pytest

from vllm_parallel.errors import on_one_line, shortened
from vllm_parallel.json_text import DEEPEST, NotJsonError, no_constant, read_json

WRONG: Final = (
    ("", "line 1, column 1: a value is expected"),
    ("  ", "line 1, column 3: a value is expected"),
    ("nul", "line 1, column 1: a value is expected"),
    ('{"a": 1,\n "b"', "line 2, column 5: a colon is expected"),
    ('{"a": 1\n"b": 2}', "line 2, column 1: a comma or the end is expected"),
    ("{a: 1}", "line 1, column 2: a name in double quotes is expected"),
    ('{"a": 1} {', "line 1, column 10: the text goes on behind its end"),
    ('{"a": "b', "line 1, column 7: a string begins that has no end"),
    ('"\n"', "line 1, column 2: a string holds a line break or another control character"),
    (r'"\x"', "line 1, column 2: a string holds an escape that JSON does not have"),
    (r'"\u12g4"', "line 1, column 3: a string holds an escape that JSON does not have"),
    ("1" * 1001, "a number has 1001 digits"),
    ("[" * 65 + "]" * 65, "it is nested more than 64 deep"),
    ('{"a":' * 10**6, "it is nested more than 64 deep"),
    (b"\xff\xfe\x00", "byte 2 is not UTF-16"),
    (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
)
# Python 3.13 tells of the comma, and the ones before of what follows it.
TRAILING: Final = (
    ("[1,]", "line 1, column 4: a value is expected"),
    ("[1, \n ]", "line 2, column 2: a value is expected"),
    ('{"a": 1,}', "line 1, column 9: a name in double quotes is expected"),
    ('{"a": 1,\n}', "line 2, column 1: a name in double quotes is expected"),
)


@pytest.mark.parametrize("text, says", (*WRONG, *TRAILING), ids=lambda text: repr(text)[:24])
def test_what_is_wrong_and_where(text: str | bytes, says: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        read_json(text)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2.5, null, true, "\\u00e9\\ud800"]}',
        '["[[[[", "\\"[", {"}": "{"}]',
        "[" * DEEPEST + "]" * DEEPEST,
        "[[], [], {}, {}]",
        "1e999",
        "NaN",
        "-0",
    ],
)
def test_what_is_right_is_read_as_python_reads_it(text: str) -> None:
    assert repr(read_json(text)) == repr(json.loads(text))
    assert repr(read_json(f"\ufeff{text}".encode("utf-8", "surrogatepass"))) == repr(
        json.loads(text)
    )


def test_brackets_in_strings_are_not_counted() -> None:
    text = json.dumps(["[" * 1000, '\\"' * 99 + "[" * 1000])
    assert read_json(text) == json.loads(text)


def test_a_constant_can_be_refused() -> None:
    with pytest.raises(NotJsonError, match=r"^NaN is no number$"):
        read_json('{"a": NaN}', constant=no_constant)


def test_characters_that_some_python_does_not_know_are_escaped() -> None:
    """U+1FACF came with Unicode 16, which Python 3.14 has and 3.11 has not."""
    assert shortened("\U0001facf") == r"'\U0001facf'"
    assert on_one_line("模型 é \U0001facf") == r"模型 é \U0001facf"
