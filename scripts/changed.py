"""Changes one input of the catalog in a copy, builds the site again, and looks for old figures.

    python -m scripts.changed SITE

`SITE` is the site built from the inputs as they are. Where a figure of a page has moved, its old
text must be gone from that page: what stays was typed. Run by `make test-changed`.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.copies import ROOT, build_site, copy_project

sys.path.insert(0, str(ROOT / "scripts" / "site"))

from html_tree import Element, parse  # a hook's folder is on no path of its own
from sections import UNSEEN, content

CATALOG: Final = Path("src", "vllm_parallel", "catalog")
# Long enough to be one figure and no other by chance: thousands, or decimals with a unit.
FIGURE: Final = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+\.\d+\s?(?:[KMG]iB|ms|%|×)|\d{5,})(?![\w,]*\d)"
)


# Where a figure may stay, as it is also that of another input: rows of other models and GPUs, and
# launches that were measured, in tables made whole by the package.
OTHERS: Final = (
    "models/",
    "planner/",
    "print/",
    "reference/hardware/",
    "reference/models/",
    "verification/accuracy/",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One input: its file in the catalog, the keys that lead to it, and another value.

    `moves` are inline figures that depend on it: each has to move.
    """

    name: str
    file: str
    keys: tuple[str, ...]
    value: float
    moves: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Write the other value into a copy of the project."""
        path = root / CATALOG / self.file
        document = json.loads(path.read_text(encoding="utf-8"))
        place = document
        for key in self.keys[:-1]:
            place = place[key]
        place[self.keys[-1]] = self.value
        path.write_text(json.dumps(document), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a page shows: its inline figures by name, and how often each figure occurs."""

    inline: dict[str, str]
    counts: Counter[str]

    @classmethod
    def of(cls, root: Element) -> Shown:
        """Figures of a built page, in sentences, tables, code and drawings."""
        said = content(root) or root
        inline = {
            element.attributes["data-name"]: element.text()
            for element in said.walk()
            if "data-name" in element.attributes
        }
        return cls(inline=inline, counts=Counter(FIGURE.findall(said.text(UNSEEN))))


CHANGES: Final = (
    Change(
        name="the memory of a H100",
        file="gpus/h100-80gb.json",
        keys=("runtime_memory_gib",),
        value=90,
        moves=("runtime_memory", "tp8.pool_tokens", "tp4dp2.pool_tokens"),
    ),
    Change(
        name="the layers of Llama-3.1-70B",
        file="models/llama-3.1-70b.json",
        keys=("num_hidden_layers",),
        value=40,
        moves=("tp8.weights", "tp8.layers", "tp8.pool_tokens", "tp8.kv_of_a_token"),
    ),
)


def shown(site: Path) -> dict[str, Shown]:
    """What each page of a built site shows, by its path."""
    return {
        page.relative_to(site).as_posix(): Shown.of(parse(page.read_text(encoding="utf-8")))
        for page in sorted(site.rglob("*.html"))
    }


def complaints(change: Change, before: dict[str, Shown], after: dict[str, Shown]) -> Iterator[str]:
    """Figures that should have moved and did not, and old ones that are still there."""
    for name in change.moves:
        pages = [page for page, one in before.items() if name in one.inline]
        if not pages:
            yield f"no page shows {name}: name another figure in CHANGES"
        for page in pages:
            if before[page].inline[name] == after[page].inline[name]:
                yield f"{page}: {name} is still {after[page].inline[name]}"
    for page, old in before.items():
        if page.startswith(OTHERS):
            continue
        new = after[page].counts
        for text, count in old.counts.items():
            if 0 < new[text] < count:
                yield f"{page}: {text} stood there {count} times and stands there {new[text]} times"


def build(change: Change, folder: Path) -> Path | None:
    """The site of a changed copy; None where the build refuses it, which it has then said."""
    copy, site = folder / "copy", folder / "site"
    copy_project(copy)
    change.apply(copy)
    return site if build_site(copy, site) else None


def main(arguments: list[str]) -> int:
    """Exit code: 0 if every change moves what it should and leaves nothing old."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "build-complete").is_file():
        print("usage: python -m scripts.changed SITE, a whole one", file=sys.stderr)
        return 2
    before = shown(Path(arguments[0]))
    failed = False
    for change in CHANGES:
        print(f"changing {change.name} to {change.value}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            site = build(change, Path(folder))
            found = ["the build refuses it"] if site is None else None
            found = found or list(complaints(change, before, shown(site or Path())))
        failed = failed or bool(found)
        print(
            "\n".join(f"  {text}" for text in found) or "  every figure moved, nothing old is left"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
