"""A run without what it must not publish; the files as they were are kept."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.sweep import Follow
from vllm_parallel.errors import ParseError, on_one_line
from vllm_parallel.frozen import dataclass, field
from vllm_parallel.runs.finding import Finding, Sort
from vllm_parallel.runs.reader import ORIGINALS
from vllm_parallel.runs.seal import SEAL, broken, checksum, files_of, sealed
from vllm_parallel.runs.secrets import Secret, secrets
from vllm_parallel.runs.text import pieces

REDACTED: Final = "redacted.json"  # what was replaced, file by file
MOST: Final = 20  # findings of a file that are listed one by one
SHORT: Final = 1024  # characters of a line that is remembered
REMEMBERED: Final = 2**14  # lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What was replaced: for each file how often, by kind; and where the originals are."""

    files: Mapping[str, Mapping[str, int]]
    folder: Path  # that was redacted
    originals: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholders:
    """One placeholder for each secret of a run, alike in all of its files.

    >>> names = Placeholders()
    >>> [names.of(found) for found in secrets("10.0.0.1 10.0.0.2 10.0.0.1")]
    ['<address-1>', '<address-2>', '<address-1>']
    """

    given: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, secret: Secret) -> str:
        """The placeholder of a secret."""
        count = sum(kind == secret.kind for kind, _ in self.given)
        return self.given.setdefault((secret.kind, secret.text), f"<{secret.kind}-{count + 1}>")

    def replaced(self, line: str, found: Sequence[Secret]) -> str:
        """A line with placeholders."""
        parts, end = [], 0
        for secret in found:
            parts += [line[end : secret.start], self.of(secret)]
            end = secret.end
        return "".join([*parts, line[end:]])


def exposed(
    folder: Path, words: Sequence[str] = (), follow: Follow | None = None
) -> Iterator[Finding]:
    """Every secret of a run, with the line that it is in."""
    harmless: set[str] = set()  # most lines of a run occur in several of its files
    for name in files_of(folder):
        count, path = 0, folder / name
        for piece in pieces(path, None if follow is None else follow(path)):
            if piece.text in harmless:
                continue
            found = secrets(piece.text, words)
            if not found and len(piece.text) < SHORT and len(harmless) < REMEMBERED:
                harmless.add(piece.text)
            for secret in found:
                count += 1
                if count <= MOST:
                    yield _finding(name, piece.line, f"has the {secret.kind} {secret.shown}")
        if count > MOST:
            yield _finding(name, None, f"has {count - MOST} more")


def redact(folder: Path, into: Path | None, words: Sequence[str] = ()) -> Redaction:
    """Replace the secrets of a run: in a copy `into`, or in place with the originals kept beside.

    Raises:
        ParseError: the place for the copy or the originals is taken, or a sealed file was changed.
    """
    for finding in broken(folder):
        problem, fix = finding.says, "a changed run is not redacted"
        raise ParseError(place=on_one_line(finding.file), problem=problem, fix=fix)
    folder = folder.resolve()
    kept = folder.with_name(f"{folder.name}{ORIGINALS}") if into is None else folder
    target = folder if into is None else into
    _refuse_taken(kept if into is None else target)
    shutil.copytree(folder, kept if into is None else target)
    files = _rewritten(target, words)
    if files:
        _note(target, files, kept)
        if (target / SEAL).exists():
            (target / SEAL).write_text(sealed(target), "utf-8")
    elif into is None:
        shutil.rmtree(kept)  # nothing was replaced: the copy is the run itself
    return Redaction(files=files, folder=target, originals=kept)


def _rewritten(folder: Path, words: Sequence[str]) -> dict[str, dict[str, int]]:
    names = Placeholders()
    files: dict[str, dict[str, int]] = {}
    for name in files_of(folder):
        path, counts = folder / name, Counter[str]()
        if not any(secrets(piece.text, words) for piece in pieces(path)):
            continue
        fresh = path.with_name(f"{path.name}.redacting")
        with fresh.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            for piece in pieces(path):
                found = secrets(piece.text, words)
                counts.update(str(secret.kind) for secret in found)
                file.write(names.replaced(piece.text, found))
        fresh.replace(path)
        files[name] = dict(sorted(counts.items()))
    return files


def _note(folder: Path, files: Mapping[str, Mapping[str, int]], originals: Path) -> None:
    """Write down what was replaced, beside what earlier redactions replaced."""
    path = folder / REDACTED
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    row = {
        name: {"replaced": counts, "sha256_before": checksum(originals / name)}
        for name, counts in files.items()
    }
    text = json.dumps(before | row, indent=1, sort_keys=True)
    path.write_text(text + "\n", "utf-8")


def _refuse_taken(place: Path) -> None:
    if place.exists():
        fix = "move it away, or name another place"
        raise ParseError(place=on_one_line(str(place)), problem="is there already", fix=fix)


def _finding(name: str, line: int | None, says: str) -> Finding:
    fix = "replace it with run check --redact"
    return Finding(sort=Sort.SECRET, file=name, line=line, says=says, fix=fix)
