"""What differs between two recordings: options, then answers, grouped with an example each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from recordings import FILES, Answers, Recording, Row

# An option's columns as `flags.py` writes them, and what they are called here.
COLUMNS = {
    "names": "names",
    "kind": "type",
    "default": "default",
    "choices": "choices",
    "keys": "keys",
    "nargs": "values",
    "required": "required",
    "optional": "None allowed",
    "folded": "spelling folded",
    "group": "group",
}
LISTS = ("names", "choices", "keys")


def compared(before: Recording, after: Recording) -> Row:
    """How much was compared, and how much each recording holds."""
    commands = before.flags.keys() & after.flags.keys()
    pairs = [pair for command in commands for pair in paired(before, after, command)]
    counts: Row = {
        "options": sum(None not in pair for pair in pairs),
        "commands": len(commands),
    }
    for name in FILES:
        counts[name] = len(list(shared(before, after, name)))
    pairs_built = shared(before, after, "builds")
    counts["built by both"] = sum(
        not (refusal_of(old)[0] or refusal_of(new)[0]) for old, new in pairs_built
    )
    return counts


def held(recording: Recording) -> Row:
    """How much a recording holds."""
    counts: Row = {"options": sum(map(len, recording.flags.values()))}
    for name in FILES:
        counts[name] = len(recording.answers[name])
    return counts | {"left out": sum(map(len, recording.left_out.values()))}


def paired(
    before: Recording, after: Recording, command: str
) -> Iterator[tuple[Row | None, Row | None]]:
    """The options of a command, old and new side by side; a renamed one shares a name."""
    old, new = before.flags.get(command, []), after.flags.get(command, [])
    left = {row["dest"]: row for row in old}
    fresh = []
    for row in new:
        if row["dest"] in left:
            yield left.pop(row["dest"]), row
        else:
            fresh.append(row)
    for row in fresh:
        names = set(row["names"])
        twin = next((dest for dest, was in left.items() if names & set(was["names"])), None)
        yield (left.pop(twin) if twin else None), row
    yield from ((row, None) for row in left.values())


def flag_changes(before: Recording, after: Recording) -> Iterator[Row]:
    """Options added, removed and changed, by command."""
    for command in sorted(before.flags.keys() | after.flags.keys()):
        for old, new in paired(before, after, command):
            row = new or old
            if row is None:
                continue
            fields = list(field_changes(old, new)) if old and new else []
            change = "changed" if old and new else "added" if new else "removed"
            if change == "changed" and not fields:
                continue
            names = list(dict.fromkeys([*row["names"], *(old or row)["names"]]))
            about: Row = {"command": command, "change": change, "dest": row["dest"]}
            about |= {"names": names, "group": row.get("group")}
            yield about | ({"fields": fields} if fields else {})


def field_changes(old: Row, new: Row) -> Iterator[Row]:
    """The columns in which an option differs; of lists, what came and what went."""
    for column, title in COLUMNS.items():
        was, now = old.get(column), new.get(column)
        if was == now:
            continue
        if column in LISTS:
            gone = [item for item in was or () if item not in (now or ())]
            came = [item for item in now or () if item not in (was or ())]
            if gone or came:  # else only their order
                yield {"what": title, "gone": gone, "came": came}
        else:
            yield {"what": title, "before": was, "after": now}


def shape(message: str | None) -> str:
    """A message without its numbers.

    >>> shape("tp_size=8 must be divisible by dcp_size=3; use 1, 2, 4.")
    'tp_size=# must be divisible by dcp_size=#; use #.'
    """
    return re.sub(r"#(, #)+", "#", re.sub(r"-?\d+(\.\d+)?", "#", message or ""))


def grouped(found: Iterable[Row], key: Callable[[Row], tuple[str, ...]]) -> Iterator[list[Row]]:
    """Rows that are alike, the one with the shortest question first."""

    def order(row: Row) -> tuple[tuple[str, ...], int, str]:
        text = json.dumps(row, sort_keys=True)
        return key(row), len(json.dumps(row["example"])), text

    for _, members in groupby(sorted(found, key=order), key=key):
        yield list(members)


def shared(before: Recording, after: Recording, name: str) -> Iterator[tuple[Row, Row]]:
    """The answers of both recordings to the same questions, about models that are the same."""
    old, new = before.answers[name], after.answers[name]
    for key in sorted(old.keys() & new.keys()):
        model = new[key]["model"]
        if before.models.get(model) == after.models.get(model):
            yield old[key], new[key]


def question_of(row: Mapping[str, Any]) -> Row:
    """The model, arguments and budget that a row answers."""
    return {part: row[part] for part in ("model", "args", "available_kv_bytes") if row.get(part)}


def refusal_of(row: Row) -> tuple[str, str]:
    """Where a row's deployment is refused, and in which words; empty if it is not."""
    if row.get("accepted", True):
        return "", ""
    return row.get("stage") or "config", row.get("message") or ""


def message_change(old: Row, new: Row) -> str | None:
    """How a refusal differs, None if it does not."""
    was, now = refusal_of(old), refusal_of(new)
    if was == now:
        return None
    if not was[0] or not now[0]:
        return "refused now" if now[0] else "accepted now"
    return "another message" if was[0] == now[0] else "another stage"


def answer_changes(before: Recording, after: Recording) -> Iterator[Row]:
    """Verdicts and messages that differ, grouped by their sentences."""
    found = []
    for name in FILES:
        for old, new in shared(before, after, name):
            change = message_change(old, new)
            if change:
                (stage_was, was), (stage, now) = refusal_of(old), refusal_of(new)
                row: Row = {"file": name, "change": change, "stages": [stage_was, stage]}
                row |= {"before": was, "after": now, "example": question_of(new)}
                found.append(row | {"family": after.families.get(new["model"], new["model"])})

    def alike(row: Row) -> tuple[str, ...]:
        return (
            row["change"], row["file"], *row["stages"], shape(row["before"]), shape(row["after"])
        )  # fmt: skip

    for members in grouped(found, alike):
        names = sorted({member["family"] for member in members})
        args = sorted({arg for member in members for arg in member["example"].get("args", ())})
        first = {key: value for key, value in members[0].items() if key != "family"}
        yield first | {"count": len(members), "families": names, "asked": args}


def values_of(row: Row) -> Iterator[tuple[str, int | None, object]]:
    """Every recorded value of an accepted row: its name, the rank or None, and itself."""
    for rank in row.get("ranks") or ():
        for name, value in rank.items():
            if name != "rank":
                yield name, rank["rank"], value
    for name, value in (row.get("capacity") or {}).items():
        yield name, None, value
    for axis, ranks in (row.get("groups") or {}).items():
        yield f"{axis} group", None, ranks


def value_changes(before: Recording, after: Recording) -> Iterator[Row]:
    """Bytes, blocks, tokens and groups that differ, by value and model family."""
    found = []
    for name in FILES:
        for old, new in shared(before, after, name):
            if refusal_of(old)[0] or refusal_of(new)[0]:
                continue
            family = after.families.get(new["model"], new["model"])
            for what, rank, was, now in unequal(old, new):
                row: Row = {"file": name, "what": what, "family": family}
                row |= {"example": question_of(new), "rank": rank, "before": was, "after": now}
                found.append(row)
    for members in grouped(found, lambda row: (row["file"], row["what"], row["family"])):
        asked = len({json.dumps(member["example"], sort_keys=True) for member in members})
        yield members[0] | {"count": asked}


def unequal(old: Row, new: Row) -> Iterator[tuple[str, int | None, object, object]]:
    """The values in which two accepted rows differ."""
    was = {(what, rank): value for what, rank, value in values_of(old)}
    now = {(what, rank): value for what, rank, value in values_of(new)}
    for what, rank in sorted(was.keys() | now.keys(), key=str):
        pair = was.get((what, rank)), now.get((what, rank))
        if pair[0] != pair[1]:
            yield what, rank, *pair


def one_sided(before: Recording, after: Recording) -> Iterator[Row]:
    """Questions that one release answered and the other did not, by what that one said."""
    sides = ((before, after), (after, before))
    found: list[Row] = []
    for silent, other in sides:
        for name in FILES:
            known: Answers = other.answers[name]
            for key, said in silent.left_out[name].items():
                if key in known:
                    row: Row = {"release": silent.release, "file": name, "said": said}
                    found.append(row | {"example": question_of(known[key])})
    for members in grouped(found, lambda row: (row["release"], row["file"], shape(row["said"]))):
        yield members[0] | {"count": len(members)}


def differ(before: Recording, after: Recording) -> Row:
    """How many answers of each kind differ in anything that was compared."""
    return {
        name: sum(
            refusal_of(old) != refusal_of(new) or any(True for _ in unequal(old, new))
            for old, new in shared(before, after, name)
        )
        for name in FILES
    }


def differences(before: Recording, after: Recording) -> Row:
    """The summary of what differs, and of what was compared."""
    return {
        "from": before.release,
        "to": after.release,
        "made": "scripts/engine/diff.py, from two recordings of scripts/engine/record.py",
        "compared": compared(before, after),
        "differ": differ(before, after),
        "recorded": {"from": held(before), "to": held(after)},
        "commands": {
            "added": sorted(after.flags.keys() - before.flags.keys()),
            "removed": sorted(before.flags.keys() - after.flags.keys()),
        },
        "flags": list(flag_changes(before, after)),
        "answers": list(answer_changes(before, after)),
        "values": list(value_changes(before, after)),
        "unanswered": list(one_sided(before, after)),
    }
