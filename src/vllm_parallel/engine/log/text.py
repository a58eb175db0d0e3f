"""A log as lines of clean text, read piece by piece: memory does not grow with the file.

What terminals, containers and loggers wrap around a line is taken off here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from vllm_parallel.json_text import NoObjectError, read_object

LONGEST_LINE: Final = 2**16  # characters; the longest that vLLM prints, its config, has some 8,000
ESCAPE: Final = r"(?:\x1b|\^\[|\\x1b|\\e|\\u001b|\\033|#033|\ufffd)"
# Colours also without their ESC byte, which editors, web pages and loggers drop.
COLOUR: Final = re.compile(rf"{ESCAPE}\[[\d;?]*[A-Za-z]|\[(?:\d{{1,3}}(?:;\d{{1,3}})*)?[mK]")
CONTAINER: Final = re.compile(
    r"(?:(?:[A-Z][a-z]{2} )?\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z| UTC|[+-]\d\d:?\d\d)?\]?[ \t]"
    r"(?:(?:stdout|stderr) [FP] )?"  # CRI
    r"|[\w.-]{1,80}(?:@[\w.-]{1,80})? +\| |[|>] "  # docker compose, docker service; a quotation
    r"|\[[\w./-]*/[\w./-]+\] "  # kubectl --prefix
    r"|[A-Z][a-z]{2} [ \d]\d [\d:]{8}(?:\.\d+)? \S+ [\w./@-]+(?:\[\d+\])?: "  # syslog
    r"|(?:\[ *\d+\.\d+\] |\d{10}\.\d+ )?(?:[\w.-]{1,80} )?[\w./@-]{1,80}\[\d+\]: "  # journalctl -o
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? | {0,4}\d{1,4}: "  # a time of day; srun --label
    r"|\[\d{1,4},\d{1,4}\]<std(?:err|out)>: ?"  # mpirun
    r"|[^\t]{1,80}\t[^\t]{1,80}\t(?=\d{4}-)"  # a job's steps
    r")+"
)
SAMPLE: Final = 512
INNER: Final = ("log", "line", "textPayload", "message", "msg", "body", "content", "text")


class Line(NamedTuple):
    """A piece of a line between carriage returns: the line's number, from 1, and clean text.

    `cut` says that the line was longer than `LONGEST_LINE`.
    """

    number: int
    text: str
    cut: bool


def lines(chunks: Iterable[bytes]) -> Iterator[Line]:
    r"""The lines of a log that comes in chunks of any size.

    >>> [(line.number, line.text) for line in lines([b"a\x1b[0m b\r", b"\nc 50%\rc 100%"])]
    [(1, 'a b'), (2, 'c 50%'), (2, 'c 100%')]
    """
    number, held, cut = 1, "", False
    for text in decoded(chunks):
        for count, piece in enumerate(text.split("\n")):
            if count:
                yield from _finished(number, held, cut=cut)
                number, held, cut = number + 1, "", False
            *done, rest = piece.split("\r")
            for part in done:
                yield from _finished(number, held + part, cut=cut)
                held, cut = "", False
            cut = cut or len(held) + len(rest) > LONGEST_LINE
            held = (held + rest)[:LONGEST_LINE] if len(held) < LONGEST_LINE else held
    yield from _finished(number, held, cut=cut)


def decoded(chunks: Iterable[bytes]) -> Iterator[str]:
    """Chunks as text: UTF-8, or UTF-16 as some shells write; what is neither becomes U+FFFD."""
    stream = iter(chunks)
    head = b""
    for chunk in stream:
        head += chunk
        if len(head) >= SAMPLE:
            break
    decoder = codecs.getincrementaldecoder(encoding(head))("replace")
    yield decoder.decode(head)
    for chunk in stream:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def encoding(sample: bytes) -> str:
    r"""The encoding of a text by its first bytes.

    >>> encoding(b"\xff\xfea\x00"), encoding(b"a\x00b\x00c\x00"), encoding(b"abc")
    ('utf-16', 'utf-16-le', 'utf-8-sig')
    """
    if sample[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    even, odd = sample[:SAMPLE:2], sample[1:SAMPLE:2]
    for name, nulls, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if nulls.count(0) > len(nulls) // 2 and others.count(0) <= len(others) // 8:
            return name
    return "utf-8-sig"


def _finished(number: int, text: str, *, cut: bool) -> Iterator[Line]:
    """The line or lines that a piece of text holds, cleaned; none if it is empty."""
    if text.startswith('{"') and text.rstrip().endswith("}"):
        for inner in unwrapped(text):
            yield from _cleaned(number, inner, cut=cut)
    else:
        yield from _cleaned(number, text, cut=cut)


def _cleaned(number: int, text: str, *, cut: bool) -> Iterator[Line]:
    text = COLOUR.sub("", text.replace("\0", "")).rstrip()
    if text:
        yield Line(number, text, cut)


def unwrapped(text: str) -> list[str]:
    r"""The lines inside a JSON record of a container's driver, or of vLLM's own JSON format.

    Source: vllm/logging_utils/formatter.py, JSON_FORMAT (v0.32.0)

    >>> unwrapped('{"log":"INFO a\\n","stream":"stderr"}')
    ['INFO a']
    """
    try:
        record = read_object(text)
    except NoObjectError:
        return [text]
    message, process = record.get("message"), record.get("process")
    if not isinstance(message, str) or not isinstance(process, int):
        inner = next((said for key in INNER if isinstance(said := record.get(key), str)), text)
        return inner.splitlines()
    stamp = re.search(r"\d\d-\d\d[ T]\d\d:\d\d:\d\d", str(record.get("asctime")))
    time = stamp[0].replace("T", " ") if stamp else "00-00 00:00:00"
    module = str(record.get("name")).rpartition(".")[2]
    head = f"({record.get('processName')} pid={process}) {record.get('levelname')} {time}"
    return [f"{head} [{module}.py:0] {one}" for one in message.splitlines() or [""]]
