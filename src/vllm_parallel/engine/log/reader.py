"""Reads a log line by line into starts; nothing that it keeps grows with the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from vllm_parallel.engine.log.drafts import Start
from vllm_parallel.engine.log.events import EVENTS
from vllm_parallel.engine.log.lines import LINES, KnownLine, by_first_word
from vllm_parallel.engine.log.lines.memory import DEVICES
from vllm_parallel.engine.log.records import REQUEST_LOGGERS, Record, records
from vllm_parallel.engine.log.text import LONGEST_LINE, Line, lines
from vllm_parallel.errors import on_one_line

BANNERS: Final = ("version-banner", "version", "older-version")
ARGUMENTS: Final = ("non-default-args", "older-args")
ENGINE_CONFIGS: Final = ("engine-config", "older-engine-config")
MARKED: Final = tuple(line for line in LINES if line.marker)
MARKER: Final = re.compile("|".join(re.escape(line.marker or "") for line in MARKED))
BEFORE_MARKER: Final = re.compile(
    r"(?:[^'\"`]*(?: -|:|\]|\||>))?[\s|>,:*-]*"
    r"(?P<begins>(?:[A-Z]{2,5}(?: \+ host)?|#|model weights .*)?)$"
)
VERSION: Final = "vLLM API server version "
OF_TABLE: Final = tuple(
    f"{device} KV cache size: " if line.words is DEVICES else line.beginning
    for line in MARKED
    for device in DEVICES
    if line.beginning or line.words is DEVICES
)
BEGINNINGS: Final = (*OF_TABLE, VERSION)
STATS_BEGIN: Final = re.compile(r"(?:Engine \d{3,}|\d+ Engines Aggregated):(?: A| ?$)")
LONGEST_BEGINNING: Final = max(map(len, BEGINNINGS))
MOST_JOINED: Final = 12
MOST_READINGS: Final = 8
ACCESS: Final = ' HTTP/1.1" '
ACCESS_TAIL: Final = 60
STARTS_KEPT: Final = 16
SHOWN: Final = 80


class Reader:
    """Feeds each record to the start it belongs to."""

    def __init__(self) -> None:
        self.starts = [Start()]  # the last ones
        self.count = 1
        self.lines = 0
        self.known = 0  # records that look like vLLM's
        self.cut = 0
        self.any_text = False
        # A line of the table that stops too early, and what it may be with those below it.
        self._open: tuple[Record, list[str]] | None = None

    @property
    def start(self) -> Start:
        """The start that is being read."""
        return self.starts[-1]

    def read(self, chunks: Iterable[bytes]) -> None:
        """Read a file's chunks to their end."""
        for line in lines(chunks):
            self.lines = line.number
            self._line(line)
        self._give_up()

    def _line(self, line: Line) -> None:
        if line.cut and not self.cut:
            self.cut = line.number
        self.any_text = True
        if self.known and ACCESS in line.text[-ACCESS_TAIL:]:
            return  # a request of the web server: most lines of a long log, and none of vLLM's
        for record in records(line):
            if record.text or record.tagged:
                self._record(record)

    def _record(self, record: Record) -> None:
        if record.level is not None or record.tagged:
            self.known += 1
            self.start.name(record)
            self._give_up()
        elif self._open is not None and self._joined(record):
            return
        if not self._known(record):
            self._unknown(record)
        if not record.leads:
            self.start.failures.feed(record)

    def _known(self, record: Record) -> bool:
        """Whether it is a line of the table, whose event then is carried out."""
        text = record.text.lstrip()
        word = text.split(" ", 1)[0]
        for line in by_first_word().get("#" if word.isdecimal() else word, ()):
            if line.match(text):
                self._event(line, record._replace(text=text))
                return True
        return False

    def _event(self, line: KnownLine, record: Record) -> None:
        self._boundary(line, record)
        found = line.match(record.text)
        if found is None:
            return
        if record.level is None and not record.tagged:
            self.known += 1
        if record.times > 1:
            said = f"stands for {record.times} lines that Ray took for one, whose figures are lost"
            self.start.note(record.number, f"{said}; set RAY_DEDUP_LOGS=0 to keep them")
        event = EVENTS.get(line.name)
        try:
            if event is not None:
                event(self.start, record, found)
        except ValueError:
            self.start.note(
                record.number, f"a figure is no number: {on_one_line(record.text[:SHOWN])}"
            )
        if line.name in ARGUMENTS:
            self._rejoin()
        if line.symptom:
            self.start.sign(line.symptom, record)

    def _boundary(self, line: KnownLine, record: Record) -> None:
        """Begin another start where the log does: at a banner, or at an engine made again."""
        start = self.start
        begins = line.name in BANNERS and (start.version is not None or not start.is_empty)
        if line.name in ARGUMENTS and start.args:
            begins = True
        if line.name in ENGINE_CONFIGS:
            engine = start.engine(record)
            made = start.engine_pids.get(engine, record.pid)
            begins = made != record.pid or engine in start.pools
        if begins:
            self.count += 1
            self.starts = [*self.starts, Start()][-STARTS_KEPT:]

    def _rejoin(self) -> None:
        """Take the banner of a node that only lends its ranks for what it is: no other start."""
        lends = self.start.args.get("headless") or self.start.args.get("node_rank")
        if lends and len(self.starts) > 1 and self.start.is_empty:
            self.starts.pop()
            self.count -= 1

    def _unknown(self, record: Record) -> None:
        """Look closer at text that no line of the table explains."""
        text = record.text
        found = MARKER.search(text)
        if record.file in REQUEST_LOGGERS:
            return
        if found is None:
            if "NCCL INFO" in text and "via NET/Socket/" in text:
                self.start.sign("nccl-over-sockets", record)
            cut = record.level and 0 < len(text) <= LONGEST_BEGINNING
            cut = cut and any(line.startswith(text) for line in BEGINNINGS)
            if cut or (record.level and STATS_BEGIN.match(text)):
                self._open = (record, [text])
            return
        if record.level is None:
            before = BEFORE_MARKER.match(text[: found.start()])
            if before is None:
                if self._open is None:  # else it may be the middle of the line that is open
                    self._doubt(record)
                return
            text = text[before.start("begins") :].lstrip()
        if not self._known(record._replace(text=text)):
            self._open = (record, [text])

    def _joined(self, record: Record) -> bool:
        """Whether a line that was wrapped is whole with this one; a space may have gone there."""
        if self._open is None:
            return False
        opened, texts = self._open
        wholes = [text + gap + record.text.lstrip(gap) for text in texts for gap in ("", " ")]
        for whole in wholes:
            if len(whole) <= LONGEST_LINE and self._known(opened._replace(text=whole)):
                self._open = None
                return True
        if not record.leads:
            self._open = (opened, [whole[:LONGEST_LINE] for whole in wholes[:MOST_READINGS]])
        if record.number - opened.number > MOST_JOINED:
            self._give_up()
        return False

    def _give_up(self) -> None:
        if self._open is not None:
            self._doubt(self._open[0])
            self._open = None

    def _doubt(self, record: Record) -> None:
        said = on_one_line(record.text[:SHOWN] + "…" * (len(record.text) > SHOWN))
        self.start.note(record.number, f"not read, as it is cut, wrapped or unknown: {said}")
