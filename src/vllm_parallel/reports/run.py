"""The commands `run check`, `record` and `init`: of a folder with a measured run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.errors import on_one_line
from vllm_parallel.render.numbers import counted
from vllm_parallel.reports.progress import Progress
from vllm_parallel.reports.record import print_record
from vllm_parallel.runs import SEAL, Check, Redaction, redact, sealed, write_draft

IN_PLACE: Final = ""
Json = dict[str, object]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|record|init")
    shows = "print the guide's record table of a folder of results"
    record = actions.add_parser("record", help=shows, description=shows, allow_abbrev=False)
    record.add_argument("folder", metavar="DIR", help="folder of results, with a run.toml or not")
    record.add_argument("--json", action="store_true", help="print the answer as JSON")
    writes = "write a run.toml for a folder of results; what they do not say stays empty"
    init = actions.add_parser("init", help=writes, description=writes, allow_abbrev=False)
    init.add_argument("folder", metavar="DIR", help="folder of results without a run.toml")
    says = "find what is missing, what disagrees and what must not be published"
    check = actions.add_parser("check", help=says, description=says, allow_abbrev=False)
    check.add_argument("folder", metavar="DIR", help="folder with a run.toml")
    check.add_argument(
        "--redact",
        nargs="?",
        const=IN_PLACE,
        metavar="COPY",
        help="replace hosts, users, home folders, addresses and tokens in a copy, or in place: "
        "then DIR.originals keeps the files as they were",
    )
    what = "a name that must not be published either, such as the host's; may be repeated"
    check.add_argument("--word", action="append", default=[], metavar="NAME", help=what)
    check.add_argument("--seal", action="store_true", help=f"write checksums of all files, {SEAL}")
    check.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(given: argparse.Namespace) -> int:
    """Print what was found; 1 if a run that is checked is not consistent."""
    folder = Path(given.folder)
    if given.action == "record":
        return print_record(folder, as_json=given.json)
    if given.action == "init":
        written = on_one_line(str(write_draft(folder)))
        sys.stdout.write(f"{written}: fill what is empty, then run check\n")
        return 0
    done = None
    if given.redact is not None:
        done = redact(folder, Path(given.redact) if given.redact else None, given.word)
        folder = done.folder
    with Progress() as progress:
        check = Check.of(folder, given.word, progress.follow)
    seals = given.seal and check.consistent
    if seals:
        (folder / SEAL).write_text(sealed(folder), "utf-8")
    text = json.dumps(answer(check, done)) if given.json else report(check, done)
    sys.stdout.write(text + "\n")
    if seals and not given.json:
        sys.stdout.write(f"Sealed: {on_one_line(str(folder / SEAL))}\n")
    return 0 if check.consistent else 1


def answer(check: Check, done: Redaction | None) -> Json:
    """The answer as JSON."""
    replaced: Json | None = None
    if done is not None:
        replaced = {
            "folder": str(done.folder),
            "originals": str(done.originals),
            "files": {name: dict(counts) for name, counts in done.files.items()},
        }
    return {
        "run": check.run.name,
        "consistent": check.consistent,
        "findings": [
            {
                "sort": str(one.sort),
                "file": one.file,
                "line": one.line,
                "says": one.says,
                "fix": one.fix,
            }
            for one in check.findings
        ],
        "redacted": replaced,
    }


def report(check: Check, done: Redaction | None) -> str:
    """What was replaced, what was found, and whether the run is consistent."""
    lines = [] if done is None else list(_replaced(done))
    lines += [on_one_line(str(one)) for one in check.findings]
    run = check.run
    trials = sum(1 for _ in run.trials())
    what = f"{counted(len(run.layouts), 'layout')}, {counted(trials, 'trial')}"
    state = "is consistent" if check.consistent else "is not consistent"
    lines.append(
        f"{on_one_line(run.name)} {state}: {what}, {counted(len(check.findings), 'finding')}"
    )
    return "\n".join(lines)


def _replaced(done: Redaction) -> Iterator[str]:
    for name, counts in done.files.items():
        kinds = ", ".join(counted(number, kind) for kind, number in counts.items())
        yield on_one_line(f"replaced in {name}: {kinds}")
    if not done.files:
        yield "nothing was found to replace"
    elif done.originals != done.folder:
        yield f"the files as they were: {on_one_line(str(done.originals))}"
