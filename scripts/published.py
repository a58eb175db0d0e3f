"""Writes down which figures the site shows where, so that none moves unnoticed.

    python -m scripts.published SITE

Run by `make published`. What it writes is committed in `tests/site/published/`: of each page the
figures in its sentences, the rows of its tables and the claims that vLLM contradicts, in order,
under the heading they stand below.
A change of a figure, of its kind, of a column is then a change of these files, old and new.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "site"))

from html_tree import Element, parse  # noqa: E402  # a hook's folder is on no path of its own
from sections import content  # noqa: E402

FOLDER: Final = ROOT / "tests" / "site" / "published"
# Pages that set figures in sentences; the others are lists of the package, held by their own tests.
ROOMS: Final = ("guide", "parallelism", "results", "verification")
PAGES: Final = ("", "reference/hardware", "reference/models")
NOT: Final = ("verification", "verification/coverage")  # counts of what is recorded
ASIDE: Final = frozenset({"foot", "headerlink"})
KINDS: Final = frozenset({"assumed", "measured"})
CARD: Final = "contradicted"  # its figures are typed: the claim and the answer are quoted
HEADING: Final = re.compile(r"h[1-6]")


def pages(site: Path) -> dict[str, list[str]]:
    """The lines of every page that shows figures, by its address."""
    found = [site / page for page in PAGES]
    for room in ROOMS:
        found += [path.parent for path in sorted((site / room).rglob("index.html"))]
    lines = {}
    for folder in found:
        name = folder.relative_to(site).as_posix()
        root = content(parse((folder / "index.html").read_text("utf-8")))
        if root is not None and name not in NOT:
            lines["index" if name == "." else name] = list(shown(root))
    return {name: some for name, some in lines.items() if some}


def shown(root: Element) -> Iterator[str]:
    """Headings, figures in sentences with their names, rows of tables and claims, in page order.

    >>> page = '<h2 id="a">A</h2><p><data class="measured" data-name="x.y">3</data> GiB</p>'
    >>> list(shown(parse(page)))
    ['# a', 'x.y = 3 (measured)']
    """
    for element in root.children:
        if isinstance(element, str) or ASIDE & element.classes:
            continue
        if HEADING.fullmatch(element.tag):
            yield f"# {element.attributes.get('id', '')}"
        elif CARD in element.classes:
            yield cell(element)
        elif element.tag == "tr":
            yield " | ".join(cell(one) for one in element.children if isinstance(one, Element))
        elif "data-name" in element.attributes:
            yield f"{element.attributes['data-name']} = {cell(element)}"
        else:
            yield from shown(element)


def cell(element: Element) -> str:
    """Its text, spaces folded, and what its figures are, unless they are computed."""
    kinds = {kind for one in element.walk() for kind in KINDS & one.classes}
    text = " ".join(element.text(skip=frozenset({"svg", "script"})).split())
    return f"{text} ({', '.join(sorted(kinds))})" if kinds else text


def file_of(name: str) -> Path:
    """Where the lines of a page are kept."""
    return FOLDER / f"{name.replace('/', '-')}.txt"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not (Path(arguments[0]) / "build-complete").is_file():
        print("usage: python -m scripts.published SITE, a whole one", file=sys.stderr)
        return 2
    found = pages(Path(arguments[0]))
    FOLDER.mkdir(exist_ok=True)
    kept = {file_of(name) for name in found}
    for gone in set(FOLDER.glob("*.txt")) - kept:
        gone.unlink()
    for name, lines in found.items():
        file_of(name).write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{sum(map(len, found.values())):,} lines of {len(found)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
