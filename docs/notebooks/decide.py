# %% [markdown]
# # From a log and a sweep to a decision
#
# CPU times say nothing about GPUs; the way from files to a decision is the same. This notebook reads
# [the run on two CPU cores](../../results/replica/), whose files have the names and the contents that
# yours have after the guide's [launch](../../guide/launch/) and [benchmark](../../guide/benchmark/).
# Set `RUN` to your own folder and run it again.

# %%
from pathlib import Path

import numpy as np

from vllm_parallel import Deployment, Layout, Pool, Settings, load_model
from vllm_parallel.compare import Findings, Measured, Metric
from vllm_parallel.engine.log import read_file
from vllm_parallel.units import GIB

NAME = "results/2026-11-30-cpu-replica"
ABOVE = (Path.cwd(), *Path.cwd().parents)
RUN = next(folder / NAME for folder in ABOVE if (folder / NAME).is_dir())
BASELINE = "tp2"
measured = Measured.of(RUN)
print(measured.run.title)
print(measured.run.note)

# %% [markdown]
# ## Did vLLM start what was meant?
#
# The log names the pool of every engine. The kernel computes the same from the model's `config.json`,
# the layout and the budget of a rank. On a GPU the budget is the printed *Available KV cache memory*;
# on a CPU it is set before the start.

# %%
MEANT = {
    "tp1": Layout(),
    "tp2": Layout(tp=2),
    "pp2": Layout(pp=2),
    "dp2": Layout(dp=2),
}
SETTINGS = Settings(max_model_len=512, block_size=128)  # a CPU's blocks; a GPU's are smaller
BUDGET = GIB  # bytes of a rank

model = load_model(str(RUN / "config.json"))
print(f"{'layout':8} {'engine':>8} {'printed':>10} {'computed':>10}")
for name, layout in MEANT.items():
    log = read_file(RUN / f"{name}-serve.log")
    deployment = Deployment(model=model, layout=layout, settings=SETTINGS)
    pool = Pool.of(deployment, (BUDGET,) * layout.pp)
    for engine in log.engines:
        print(f"{name:8} {engine.engine:8} {engine.kv_tokens:10,} {pool.tokens:10,}")
        assert engine.kv_tokens == pool.tokens, "see guide/check: a flag or a dtype did not take"

# %% [markdown]
# Every pool is the computed one, so the layouts are what their names say. Where yours differs,
# [check after launch](../../guide/check/) says which line to look at.
#
# ## What does the sweep say?
#
# An array with a place for each layout, concurrency and server start. Its median is the figure, its
# spread over starts is the noise that every claim has to beat.

# %%
names = [layout.name for layout in measured.run.layouts]
widths = list(measured.run.load.concurrencies)
trials = measured.run.load.trials


def swept(metric: Metric) -> np.ndarray:
    """A metric of every layout, concurrency and trial."""
    found = np.full((len(names), len(widths), trials), np.nan)
    for row in measured.sweep.rows:
        place = names.index(row.label), widths.index(row.load.max_concurrency), row.trial - 1
        found[place] = metric.of(row)
    return found


def shown(figures: np.ndarray, spec: str) -> None:
    """A row a layout, a column a concurrency."""
    print(f"{'':12}" + "".join(f"{f'at {width}':>10}" for width in widths))
    for name, row in zip(names, figures, strict=True):
        print(f"{name:12}" + "".join(f"{figure:>10{spec}}" for figure in row))


output, tpot = swept(Metric.OUTPUT_THROUGHPUT), swept(Metric.TPOT_MS)
assert not np.isnan(output).any(), "a trial is missing"
print("output tokens a second, median over starts")
shown(np.median(output, axis=2), ".1f")
print("\nspread over starts, from least to most")
shown(np.ptp(output, axis=2) / np.median(output, axis=2), ".0%")
print("\nTPOT in ms, median over starts")
shown(np.median(tpot, axis=2), ".1f")

# %% [markdown]
# ## Was anything short of KV cache?
#
# A preempted request computes its prompt again, so a row with preemptions measures the shortage, not the
# layout.

# %%
findings = Findings.of(measured, BASELINE, Metric.OUTPUT_THROUGHPUT)
for name in names:
    print(f"{name:12} {findings.pressure.layouts[name]:5} preemptions")
candidates = [name for name in names if not findings.pressure.preempted(name)]
print("compared are", ", ".join(candidates))

# %% [markdown]
# ## Which differences are more than noise?
#
# Ratios to the baseline, with intervals over server starts that hold for the whole comparison. An
# interval that holds 1 decides nothing.

# %%
for level in findings.comparison.levels:
    for standing in level.standings:
        ratio, name = standing.ratio, standing.pair.cell.label
        if name in candidates:
            bounds = f"{ratio.value:.2f}× {ratio.low:.2f} to {ratio.high:.2f}"
            print(f"at {level.concurrency:2} {name:5} {bounds} {standing.verdict}")

# %% [markdown]
# ## The decision
#
# It needs a goal. Here: the most output among layouts whose TPOT stays under a bound. A layout that is
# inconclusive beside the best one cannot be ruled out; measure more starts, or let other things decide,
# such as memory for longer contexts, or what happens when one replica fails.

# %%
BOUND_MS = 60.0


def decision(width: int) -> str:
    """The layouts to run at a concurrency, in words."""
    column = widths.index(width)
    middle = {name: np.median(tpot[names.index(name), column]) for name in candidates}
    allowed = [name for name in candidates if middle[name] <= BOUND_MS]
    if not allowed:
        return "no layout stays under the bound"
    best = max(allowed, key=lambda name: np.median(output[names.index(name), column]))
    if len(allowed) == 1:
        return f"{best}, alone under the bound"
    beside = Findings.of(measured, best, Metric.OUTPUT_THROUGHPUT).comparison
    level = next(one for one in beside.levels if one.concurrency == width)
    verdicts = {one.pair.cell.label: one.verdict for one in level.standings}
    equal = [name for name in allowed if name != best and verdicts[name] != "slower"]
    return f"{best}" + (f", or {' or '.join(equal)}: no more than noise apart" if equal else "")


print(f"{measured.run.load.in_words()}; TPOT at most {BOUND_MS:g} ms")
for width in widths:
    print(f"at concurrency {width}: {decision(width)}")

# %% [markdown]
# Write the conclusion down with its load, as above. Another prompt length or another output length is
# another question: [what to expect](../../guide/hypotheses/) says which way each term moves.
