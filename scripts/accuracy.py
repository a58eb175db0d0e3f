"""How near the package comes to launches and speeds that were measured.

    python scripts/accuracy.py [FILE] [CONFIGS]

FILE holds a JSON line for each launch or each speed, CONFIGS the model configs they name (`configs`
beside FILE unless given). Without FILE both of `results/` are judged. Exits with 1 if a bound is
missed, with 2 if the file cannot be read.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts" / "site"))

import speeds  # noqa: E402  # found by the line above
from fit import held_out  # noqa: E402
from launches import FOLDER, Launch, Unread, read  # noqa: E402
from scores import Score, Summary, judged  # noqa: E402
from speeds import Point, Unjudged  # noqa: E402
from vllm_parallel.units import GIB  # noqa: E402

WEIGHT_BOUND = 0.0010
POOL_BOUND = 0.01


def main(words: list[str]) -> int:
    """Print every row and the summary; 1 if a bound is missed."""
    if not words:
        memory = judge_file(FOLDER / "launches.jsonl", FOLDER / "configs")
        print()
        return max(memory, judge_file(speeds.FOLDER / "points.jsonl", speeds.FOLDER / "configs"))
    path = Path(words[0])
    return judge_file(path, Path(words[1]) if len(words) > 1 else path.with_name("configs"))


def judge_file(path: Path, configs: Path) -> int:
    """The rows of one file: speeds have a load, launches have workers."""
    try:
        if '"input_tokens"' in path.read_text("utf-8"):
            return judge_speeds(speeds.read(path, configs))
        rows = read(path, configs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error.__class__.__name__
        print(f"FILE {path} cannot be read ({reason}): give JSON lines, one launch a line")
        return 2
    return judge_launches(rows, kept=path.parent == FOLDER)


def judge_launches(rows: list[Launch | Unread], *, kept: bool) -> int:
    """Memory: weights, blocks and pools."""
    scores, unread = judged(rows)
    print("weights GiB: computed, printed, error | blocks | pool: computed, measured, error | run")
    for one in scores:
        print(line(one))
    for row in unread:
        print(f"not judged: {row.id}: {row.reason}")
    if not scores:
        print("no launch is judged")
        return 1
    print(f"judged: {len(scores)} of {len(rows)} rows")
    if kept:
        print(left_out(held_out([one.launch for one in scores])))
    return judge(Summary.of(scores))


def judge_speeds(rows: list[Point | Unjudged]) -> int:
    """Time: TPOT and throughput of loads, with and without pinned rates."""
    found, bare = (speeds.priced(rows, pinned=pinned) for pinned in (True, False))
    counted = {one.point.id for one in speeds.counting(found)}
    print("time between tokens, ms: computed, measured, error, without pins | throughput | point")
    for one, without in zip(found, bare, strict=True):
        mark = "" if one.point.id in counted else "  (a rate is pinned on it, not counted)"
        print(
            f"{one.seconds * 1e3:7.2f} {one.point.seconds * 1e3:7.2f} {one.error:+7.1%} "
            f"{without.error:+7.1%} | {one.throughput_error:+7.1%} | {one.point.id} "
            f"{one.point.group}, {one.point.deployment.layout}{mark}"
        )
    for row in rows:
        if isinstance(row, Unjudged):
            print(f"not judged: {row.id}: {row.reason}")
    if not counted:
        print("no speed is judged")
        return 1
    print(f"judged: {len(found)} of {len(rows)} rows, {len(counted)} counted")
    plain = speeds.limits([one for one in bare if one.point.id in counted])
    bounds = speeds.limits(found)
    for bound, before in zip(bounds, plain, strict=True):
        print(
            f"{'held' if bound.held else 'MISSED'}: {bound.what} {bound.found:+.1%}, at most "
            f"{bound.at_most:.0%} (without pinned rates {before.found:+.1%})"
        )
    return 0 if all(bound.held for bound in bounds) else 1


def left_out(scores: list[Score]) -> str:
    """How pools come out for a model that the fit has not seen."""
    errors = [(abs(one.pool_error), one.launch.id) for one in scores if one.pool_error is not None]
    worst, name = max(errors)
    mean = sum(error for error, _ in errors) / len(errors)
    return f"pool of a model left out of the fit: off by {mean:.3%}, at most {worst:.3%} ({name})"


def line(one: Score) -> str:
    """A launch in one line; of several stages the one that is farthest off."""
    weights = " " * 24
    if one.weights:
        computed, measured = one.farthest
        weights = f"{computed / GIB:8.3f} {measured / GIB:6.2f} {computed / measured - 1:+8.3%}"
    blocks = {True: "exact", False: "NOT", None: "unsaid"}[one.blocks_lie]
    pool = "" if one.pool is None else f"{one.pool[0]:>7} {one.pool[1]:>7}"
    error = "" if one.pool_error is None else f"{one.pool_error:+8.3%}"
    return f"{weights} | {blocks:6} | {pool:15} {error:8} | {one.launch.id}"


def judge(summary: Summary) -> int:
    """Print the summary against its bounds."""
    exact, counted = summary.blocks
    weights, pool = summary.weight_error, summary.pool_error
    bounds = [
        (weights <= WEIGHT_BOUND, f"weights: off by {weights:.3%}, at most {WEIGHT_BOUND:.2%}"),
        (exact == counted, f"blocks: {exact} of {counted} exact given the printed budget"),
    ]
    if pool is not None:
        text = f"pool without a log: off by {pool:.3%}, at most {POOL_BOUND:.0%}"
        bounds.append((pool <= POOL_BOUND, text))
    for held, text in bounds:
        print(f"{'held' if held else 'MISSED'}: {text}")
    return 0 if all(held for held, _ in bounds) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
