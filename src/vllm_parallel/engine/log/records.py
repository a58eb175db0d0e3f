"""Records of a log: who printed a message, and the message.

Source: vllm/logger.py, _FORMAT (v0.32.0)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from vllm_parallel.engine.log.text import CONTAINER, Line

# `INFO 04-22 01:43:37 [entrypoints/utils.py:299] `, and as releases before 0.7 print it:
# `INFO 07-24 14:07:31 model_runner.py:692] `; people who quote one leave the time out.
HEAD: Final = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) "
    r"(?:(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? \[?|\[)"
    r"(?P<file>[^\s:\[\]]{1,120}):(?P<row>\d{1,7})\] ?"
)
# `(Worker_TP0 pid=12) `, `(VllmWorker rank=0 pid=12) `, `(RayWorkerWrapper pid=12, ip=…) `.
TAG: Final = re.compile(
    r"\((?P<name>[^()=]{0,80}?(?: rank=\d+)?)[ ,]*\bpid=(?P<pid>\d{1,10})"
    r"(?:, *(?:ip|node_ip|host)=(?P<host>[^()\s]{1,80}))?\)"
)
TAGS_BEFORE: Final = re.compile(rf"(?:{re.sub('[?]P<[a-z]+>', '?:', TAG.pattern)}\s*){{1,4}}$")
# What stands before the first tag of a line without a head, whatever printed it there.
STRANGE: Final = re.compile(
    r"[^'\"`(]{1,120}?(?=\((?:A[Pp][Ii]Server|EngineCore|Worker|VllmWorker|Ray\w*Worker)"
    r"[\w ,=]{0,60} pid=)"
)
FURTHEST_TAG: Final = 400  # characters before a head in which its tags are looked for
REQUEST_LOGGERS: Final = ("logger.py", "request_logger.py")  # their messages quote users
REPEATED: Final = re.compile(r" ?\[repeated (?P<times>\d{1,7})x across (?:all )?cluster\].*$")


class Record(NamedTuple):
    """One message, or a line of one.

    `times` is how many like it Ray printed as one; `file` is None of text without a head.
    """

    number: int
    text: str
    name: str | None = None
    pid: int | None = None
    host: str | None = None
    level: str | None = None
    file: str | None = None
    times: int = 1
    tagged: bool = False
    leads: bool = False  # it stands before a record on its line: a prefix, or a progress bar

    @property
    def writer(self) -> tuple[str | None, int | None]:
        """What tells one process from another: Ray's hosts may give the same pid."""
        return self.host, self.pid


def records(line: Line) -> Iterator[Record]:
    """The records of a line: several where a progress bar stands before one, or two run together.

    >>> text = "bar 5%(Worker_TP0 pid=7) INFO 04-22 01:43:37 [utils.py:2] ready"
    >>> [(one.name, one.pid, one.text) for one in records(Line(1, text, False))]
    [(None, None, 'bar 5%'), ('Worker_TP0', 7, 'ready')]
    """
    start, head, tags = 0, None, ""
    for found in HEAD.finditer(line.text):
        if head is not None and head["file"].endswith(REQUEST_LOGGERS):
            break
        tag_start = _tags_before(line.text, start, found.start())
        if head is not None or tag_start > start:
            before = _record(line, head, tags, line.text[start:tag_start])
            yield before if head is not None else before._replace(leads=True)
        start, head, tags = found.end(), found, line.text[tag_start : found.start()]
    yield _record(line, head, tags, line.text[start:])


def _tags_before(text: str, start: int, end: int) -> int:
    """Where the process tags right before a head begin."""
    found = TAGS_BEFORE.search(text, max(start, end - FURTHEST_TAG), end)
    return found.start() if found else end


def _record(line: Line, head: re.Match[str] | None, tags: str, text: str) -> Record:
    if head is None:
        text, tags = _parted(text)
    repeated = REPEATED.search(text) if "[repeated " in text else None
    times = 1
    if repeated:
        text, times = text[: repeated.start()], int(repeated["times"])
    name = pid = host = None
    for tag in TAG.finditer(tags):  # the last is the process itself, Ray's own before it
        name = tag["name"].strip() or name
        pid, host = int(tag["pid"]), tag["host"] or host
    level = head["level"] if head else None
    file = head["file"].rpartition("/")[2] if head else None
    return Record(line.number, text, name, pid, host, level, file, times, bool(tags))


def _parted(text: str) -> tuple[str, str]:
    """Text without a head, its container's prefix taken off, and the tags before it."""
    wrapped = CONTAINER.match(text)
    if wrapped:
        text = text[wrapped.end() :]
    wrapped = STRANGE.match(text) if " pid=" in text else None
    if wrapped:
        text = text[wrapped.end() :]
    end = 0
    while text.startswith("(", end):
        tag = TAG.match(text, end)
        if tag is None:
            break
        end = tag.end() + (text[tag.end() : tag.end() + 1] == " ")
    return text[end:], text[:end]
