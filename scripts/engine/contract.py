"""Makes a recorded release the contract: what the tests hold the package against.

    python scripts/engine/contract.py 0.33.0

Takes `build/record/<version>/`, as `make record` wrote it, and keeps the contract until now under
`contracts/<its release>/`, in the same form. Rows of tests/oracle that were asked by other means
are dropped where they quote a sentence that the new release has no more: they speak of the older.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Set
from pathlib import Path

from diff import SUMMARY, written
from differences import differences, shape
from recordings import (
    CONTRACT,
    CONTRACT_FLAGS,
    CONTRACT_METRICS,
    KEPT,
    OTHERS,
    ROOT,
    Recording,
    configs,
    rows,
)
from touched import with_touched

TERM = ROOT / "src" / "vllm_parallel" / "term.py"
DATA = (
    "verdicts.jsonl", "builds.jsonl", "groups.jsonl", "wide_groups.jsonl", "configs.jsonl",
    "deployed_builds.jsonl", "deployed_configs.jsonl", "bench_fields.json",
)  # fmt: skip
PLACES = {
    "flags.json": CONTRACT_FLAGS,
    "metrics.json": CONTRACT_METRICS,
    **{name: CONTRACT / name for name in DATA},
}
ENOUGH = 0.9  # of the contract's rows; some answers depend on the machine


def complaints(folder: Path, release: str) -> Iterator[str]:
    """What a record lacks to be the contract."""
    missing = [name for name in PLACES if not (folder / name).is_file()]
    if missing:
        names = ", ".join(missing)
        yield f"the record of {release} has no {names}; run make record VERSION={release}"
        return
    for name in ("flags.json", "metrics.json"):
        said = json.loads((folder / name).read_text("utf-8"))["release"]
        if said != release:
            yield f"{name} is of {said}, not of {release}"
    for name in ("verdicts.jsonl", "builds.jsonl", "groups.jsonl"):
        found, wanted = (len(list(rows(place / name))) for place in (folder, CONTRACT))
        if found < ENOUGH * wanted:
            yield f"{name} has {found} rows, the contract {wanted}: a sample is no contract"


def adopt(folder: Path, release: str) -> Iterator[str]:
    """Keep the contract under its release and put the record in its place; says what was done."""
    before = Recording.of(CONTRACT, CONTRACT_FLAGS)
    after = Recording.of(folder, folder / "flags.json")
    summary = with_touched(differences(before, after), configs(after.models))
    kept = KEPT / before.release
    kept.mkdir(parents=True)
    for name, place in PLACES.items():
        shutil.move(place, kept / name)
        shutil.copyfile(folder / name, place)
    line = 'RELEASE: Final = "{}"'
    text = TERM.read_text("utf-8")
    TERM.write_text(text.replace(line.format(before.release), line.format(release)), "utf-8")
    written(summary, SUMMARY)
    where = kept.relative_to(ROOT)
    yield f"The contract is vLLM {release}; that of {before.release} is kept in {where}/."
    gone = {shape(change["before"]) for change in summary["answers"] if change["before"]}
    for path in sorted(CONTRACT.parent.glob("*.jsonl")):
        dropped = drop(path, gone)
        if dropped:
            yield f"{path.name}: {dropped} rows dropped, whose sentence {release} has no more"


def drop(path: Path, gone: Set[str]) -> int:
    """Take the rows out that quote a sentence of another release; how many there were."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if shape(json.loads(line).get("message")) not in gone]
    if len(kept) < len(lines):
        path.write_text("".join(kept), "utf-8")
    return len(lines) - len(kept)


def main() -> None:
    """Refuses a record that is not whole, else adopts it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release", help="the release whose record is the contract from now on")
    parser.add_argument("--records", type=Path, default=OTHERS, help="where records lie")
    given = parser.parse_args()
    folder, release = given.records / given.release, given.release
    found = list(complaints(folder, release))
    if found:
        raise SystemExit("\n".join(found))
    for line in adopt(folder, release):
        print(line)


if __name__ == "__main__":
    main()
