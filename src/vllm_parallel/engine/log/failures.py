"""Why a start failed: the exceptions of a log, and which of them came first."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from vllm_parallel.constraints import RULES
from vllm_parallel.engine.log.lines import ERRORS
from vllm_parallel.engine.log.nouns import Refusal
from vllm_parallel.engine.log.records import Record
from vllm_parallel.verdict import MEMORY_RULES

RAISED: Final = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception))(?:: ?(?P<says>.*))?$"
)
CALLED: Final = re.compile(r"(?:(?=Error: )|(?:vllm(?: \w+){0,3}|\w+\.py): error: )(?P<says>.+)$")
OWN_CALL: Final = "call"
OWN_CALLS: Final = ("vllm ", "vllm:", "api_server.py: ")
KILLED: Final = ("Killed", "Segmentation fault", "Segmentation fault (core dumped)")
VALIDATION: Final = re.compile(r"\d+ validation errors? for \w+")
WORKER_SAID: Final = re.compile(r"Worker failed with error '(?P<says>.*?)', please check")
FRAME: Final = re.compile(r"\s*(?:Value error|Assertion failed), ")
PYDANTIC_END: Final = re.compile(r"\s*\[type=\w+.*$", re.DOTALL)
ENDS: Final = tuple(".!?)]}'\"`")
ASIDE: Final = ("Traceback ", "  File ", "During handling", "The above exception", "    ")
MOST: Final = 200
MOST_LINES: Final = 12
LONGEST: Final = 4000
CONSEQUENCES: Final = (
    "BrokenPipeError", "ConnectionResetError", "EOFError", "ConnectionRefusedError",
    "EngineDeadError", "DistNetworkError", "DistBackendError", "CancelledError",
)  # fmt: skip
TORCH: Final = ("out-of-memory",)
PASSED_ON: Final = ("engine-core-failed",)
TELLING: Final = 48  # characters of a rule's sentence that are compared: releases reword the rest
SHORTEST: Final = 20
OTHERS: Final = 3  # the weight of sentences that are nobody's
RULE_SYMPTOMS: Final = {
    "heads-divide-by-tp": "heads-do-not-divide",
    "dcp-needs-tp-above-kv-heads": "dcp-needs-tp-above-kv-heads",
    "dcp-at-most-copies": "dcp-above-copies",
    "tp-divides-by-dcp": "dcp-does-not-divide",
    "dcp-spans-pcp": "dcp-does-not-divide",
    "queries-divide-by-dcp": "dcp-does-not-divide",
    "replica-fits-node": "too-many-ranks",
    "dp-fits-node": "too-many-ranks",
    "room-for-a-block": "no-memory-for-blocks",
    "room-for-a-request": "request-does-not-fit",
    "auto-fit-length": "no-memory-for-blocks",
}


class Raised(NamedTuple):
    """An exception: its class, its sentence, and the line where it stands."""

    kind: str
    says: str
    line: int


class Failures:
    """Collects the exceptions of one start; memory is bounded."""

    def __init__(self) -> None:
        self.raised: list[Raised] = []
        self._open: Record | None = None
        self._kind = ""
        self._lines: list[str] = []

    def feed(self, record: Record) -> None:
        """Take a record: it begins a sentence, goes on with one, or ends it."""
        if self._open is not None:
            if self._goes_on(record):
                self._lines.append(record.text)
                if self._complete:
                    self.close()
                return
            self.close()
        text = record.text
        if record.level in ("DEBUG", "INFO", "WARNING") or len(self.raised) >= MOST:
            return
        if text in KILLED:
            self.raised.append(Raised(kind=text, says=f"{text} by the system", line=record.number))
            return
        found = _exception(text)
        if found is not None:
            self._kind, says = found
            self._open, self._lines = record, [says]
            if self._complete:
                self.close()

    def close(self) -> None:
        """End the sentence that is open."""
        if self._open is not None:
            says = _sentence(self._lines)
            self.raised.append(Raised(kind=self._kind, says=says, line=self._open.number))
        self._open, self._lines = None, []

    def refusal(self) -> Refusal | None:
        """The exception that says most: a rule's sentence before torch's, causes before echoes."""
        self.close()
        judged = [(*_weight(one), one.line, one) for one in self.raised]
        if not judged:
            return None
        _, symptom, rule, fix, line, one = min(judged, key=lambda row: (row[0], row[4]))
        return Refusal(sentence=one.says, line=line, symptom=symptom, rule=rule, fix=fix)

    @property
    def tells(self) -> bool:
        """Whether one of the sentences is vLLM's own."""
        self.close()
        return any(one.kind == OWN_CALL or _weight(one)[0] < OTHERS for one in self.raised)

    @property
    def _complete(self) -> bool:
        said = self._lines[-1].rstrip()
        if self._kind == "ValidationError" and VALIDATION.match(self._lines[0]):
            return "[type=" in said or len(self._lines) > MOST_LINES
        return said.endswith(ENDS) or len(self._lines) > MOST_LINES

    def _goes_on(self, record: Record) -> bool:
        """Whether a record belongs to the open sentence: wrapped, or a line of a longer one."""
        opened, text = self._open, record.text
        if opened is None or text.startswith(ASIDE[:3]) or RAISED.match(text):
            return False
        listed = bool(VALIDATION.match(self._lines[0])) or text.startswith("- ")
        if text.startswith(ASIDE) and not listed:
            return False
        if record.level is None and not record.tagged:
            return True
        same = (record.name, record.pid, record.level, record.file)
        return listed and same == (opened.name, opened.pid, opened.level, opened.file)


def _exception(text: str) -> tuple[str, str] | None:
    """The class and the sentence that a line begins with."""
    framed = FRAME.match(text)
    if framed:
        return "ValidationError", text[framed.end() :]
    if "rror" not in text and "Exception" not in text:
        return None
    raised = RAISED.match(text)
    if raised:
        return raised["kind"].rpartition(".")[2], raised["says"] or raised["kind"]
    call = CALLED.match(text)
    if call is None:
        return None
    return (OWN_CALL if text.startswith(OWN_CALLS) else "Error"), call["says"]


def _sentence(pieces: list[str]) -> str:
    """The sentence of an exception, its frame taken off and wrapped lines joined.

    >>> _sentence(["1 validation error for ParallelConfig", "  Value error, Too many. [type=a]"])
    'Too many.'
    """
    if VALIDATION.match(pieces[0]) and len(pieces) > 1:
        said = "\n".join(pieces[1:])
        framed = FRAME.search(said)
        inner = said[framed.end() :] if framed else said.partition("\n")[2] or said
        return PYDANTIC_END.sub("", inner).strip()[:LONGEST]
    joined = pieces[0]
    for piece in pieces[1:]:
        joined += f"\n{piece}" if piece.startswith("- ") else piece
    passed_on = WORKER_SAID.search(joined)
    return PYDANTIC_END.sub("", passed_on["says"] if passed_on else joined).strip()[:LONGEST]


def _weight(one: Raised) -> tuple[int, str, str | None, str | None]:
    """How far a sentence is from the cause, 0 nearest; its symptom, rule and way out."""
    says = " ".join(one.says.split())
    for known in ERRORS:
        if known.match(says):
            far = 5 if known.name in PASSED_ON else 2 if known.name in TORCH else 0
            return far, known.symptom or "start-failed", None, None
    for rule in rule_sentences():
        if rule.pattern.search(says):
            return 1, RULE_SYMPTOMS.get(rule.name, "start-failed"), rule.name, rule.fix
    if one.kind in CONSEQUENCES or one.kind == "KeyboardInterrupt":
        return 6, "start-failed", None, None
    return (OTHERS + (one.kind in KILLED)), "start-failed", None, None


class RuleSentence(NamedTuple):
    """How the sentence of a rule begins, and the rule's way out."""

    name: str
    pattern: re.Pattern[str]
    fix: str


@lru_cache(maxsize=1)
def rule_sentences() -> tuple[RuleSentence, ...]:
    """How the sentence of each rule begins, as a pattern with any text in the place of fields.

    Sentences of types, such as `Input should be greater than 0`, belong to many rules: none.
    """
    spoken = [
        (rule.name, rule.says, rule.advice)
        for rules in (RULES, MEMORY_RULES)
        for rule in rules
        if not rule.bare and not rule.says.startswith("Input should")
    ]
    rows = []
    for name, says, advice in spoken:
        beginning = _beginning(re.split(r"\{[^{}]*\}", " ".join(says.split())))
        if sum(map(len, beginning)) > SHORTEST:
            pattern = re.compile(".{0,200}?".join(map(re.escape, beginning)))
            rows.append(RuleSentence(name=name, pattern=pattern, fix=advice))
    return tuple(rows)


def _beginning(fixed: list[str]) -> list[str]:
    """The words around the first fields of a sentence, enough to know it by."""
    kept: list[str] = []
    for piece in fixed:
        kept.append(piece[:TELLING])
        if sum(map(len, kept)) >= TELLING:
            break
    return [*kept[:-1], kept[-1].rstrip(" (.")]
