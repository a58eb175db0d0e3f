"""Damage to files: what readers stumble over, put where it does not belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

ODD: Sequence[bytes] = (
    b"", b"0", b"-1", b"1e999", b"NaN", b"-Infinity", b"null", b"true", b"None", b"inf", b"0.0",
    b"9" * 19, b"9" * 400, b"9" * 5000, b"1_000", b"1,000", b"0x10", "٣".encode(), b"\x00", b"\xff",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "\u2028".encode(), "\u202e".encode(),
    b"\x1b[31m", b"\r", b"\n", b"\t", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[",
    b"]", b"{}", b"[]", b'{"a": ', b"[" * 2000, b"#", b"=", b":", b",", b" ", b"%", b"(", b")",
    b"<img src=x onerror=alert(1)>", b"engine", b"vllm:", b" GiB", b" tokens", b"(EngineCore_DP1 ",
    b"(Worker_TP1 pid=7) ", b"X", b"GPU9", b"../..", b"a" * 300,
)  # fmt: skip

# Values that stay JSON, and numbers of Prometheus, so that readers come to see them.
VALUES: Sequence[bytes] = (
    b"NaN", b"Infinity", b"-1", b"0", b"0.0", b"1e300", b"1e999", b"null", b"true", b"{}", b"[]",
    b'"8"', b'"inf"', b'"x"', b'""', b"8.5", b"9" * 19, b"2", b"4096",
)  # fmt: skip

Damage = tuple[str, int, int, bytes]


def dropped(text: bytes, at: int, size: int, _: bytes) -> bytes:
    return text[:at] + text[at + size :]


def put(text: bytes, at: int, _: int, odd: bytes) -> bytes:
    return text[:at] + odd + text[at:]


def replaced(text: bytes, at: int, size: int, odd: bytes) -> bytes:
    return text[:at] + odd + text[at + size :]


def cut(text: bytes, at: int, *_: object) -> bytes:
    return text[:at]


def doubled(text: bytes, at: int, size: int, _: bytes) -> bytes:
    return text[: at + size] + text[at:]


def line_moved(text: bytes, at: int, size: int, _: bytes) -> bytes:
    lines = text.splitlines(keepends=True) or [b""]
    lines.insert(size % len(lines), lines.pop(at % len(lines)))
    return b"".join(lines)


def line_dropped(text: bytes, at: int, *_: object) -> bytes:
    lines = text.splitlines(keepends=True) or [b""]
    del lines[at % len(lines)]
    return b"".join(lines)


def line_doubled(text: bytes, at: int, *_: object) -> bytes:
    lines = text.splitlines(keepends=True) or [b""]
    lines.insert(at % len(lines), lines[at % len(lines)])
    return b"".join(lines)


def value_replaced(text: bytes, at: int, _: int, odd: bytes) -> bytes:
    """A word that ends in a space, comma, quote or line end becomes another."""
    ends = b' \t\n,"=:[]{}'
    start = next((n for n in range(at, len(text)) if text[n : n + 1] not in ends), len(text))
    end = next((n for n in range(start, len(text)) if text[n : n + 1] in ends), len(text))
    return text[:start] + odd + text[end:]


DAMAGES: Mapping[str, Callable[[bytes, int, int, bytes], bytes]] = {
    one.__name__: one
    for one in (
        dropped, put, replaced, cut, doubled, line_moved, line_dropped, line_doubled,
        value_replaced,
    )
}  # fmt: skip
damages = st.lists(
    st.tuples(
        st.sampled_from([*DAMAGES]),
        st.integers(0, 2**13),
        st.integers(1, 2**6),
        st.sampled_from(ODD) | st.binary(max_size=4),
    )
    | st.tuples(
        st.just("value_replaced"), st.integers(0, 2**13), st.just(1), st.sampled_from(VALUES)
    ),
    min_size=1,
    max_size=4,
)


def damaged(text: bytes, done: Sequence[Damage]) -> bytes:
    """A file with some damage done to it, one after the other."""
    for name, at, size, odd in done:
        text = DAMAGES[name](text, at % (len(text) + 1), size, odd)
    return text
