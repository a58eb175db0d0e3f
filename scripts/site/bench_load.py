"""The load of the guide's benchmark: its flags beside vLLM's defaults, and how long it takes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from guided import OUTPUT
from prices import CONCURRENCY, LAYOUTS, throughput
from shown import snippet
from vllm_parallel.engine.commands import find
from vllm_parallel.engine.options import SWEEP as SWEEP_COMMAND
from vllm_parallel.engine.options import Option, options
from vllm_parallel.engine.reading import Reading
from vllm_parallel.engine.values import written
from vllm_parallel.render.markdown import code, table

ROOT: Final = Path(__file__).resolve().parents[2]
SCRIPT: Final = ROOT / "snippets" / "guide" / "benchmark.sh"
SWEEP: Final = ROOT / "snippets" / "guide" / "sweep"
PURPOSE: Final = {
    "backend": "which API is spoken",
    "base_url": "where the server listens",
    "endpoint": "the path of that API",
    "model": "the served name",
    "tokenizer": "the model's files: prompts are made and counted with them",
    "dataset_name": "tokens drawn at random, every prompt equally long",
    "random_input_len": "tokens of a prompt",
    "random_output_len": "tokens that a request generates",
    "num_prompts": "requests of a trial: eight rounds of the concurrency, at least 64",
    "num_warmups": "requests before the clock starts; the first prompt, sent again and again",
    "max_concurrency": "requests that are open at a time: the variable of the sweep",
    "request_rate": "no pause: a request that ends makes room for the next",
    "temperature": "greedy",
    "ignore_eos": "outputs keep their full length",
    "seed": "the same prompts for every layout",
    "percentile_metrics": "which latencies get percentiles",
    "metric_percentiles": "which percentiles: fields such as `p99_tpot_ms`",
    "metadata": "fields at the top of the result: layout, GPUs, start, trial",
    "save_result": "write the JSON",
    "result_dir": "where",
    "result_filename": "with the trial in it, so that no repeat overwrites another",
}
ANYWAY: Final = {  # what vLLM fills in where its parser has no default, with the same effect
    "base_url": "the same, from `--host` and `--port`",
    "ignore_eos": "set for random data on this API",
    "percentile_metrics": "the same",
}
WITHOUT: Final = {  # where its parser has no default
    "model": "the first that the server names",
    "tokenizer": "the served name",
    "max_concurrency": "no limit",
    "temperature": "the server's, with a warning",
    "metadata": "none",
    "result_dir": "the working folder",
    "result_filename": "rate, concurrency, model, date",
}
SECONDS_A_MINUTE: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag of the benchmark, what it is given, and whether vLLM would do the same without."""

    option: Option
    value: object
    text: str

    @property
    def redundant(self) -> bool:
        """Whether leaving it out changes nothing."""
        return self.option.dest in ANYWAY or self.value == self.option.default

    @property
    def without(self) -> str:
        """What happens where it is left out."""
        name, default = self.option.dest, self.option.default
        if name in ANYWAY:
            return ANYWAY[name]
        if self.redundant:
            return "the same"
        if not self.option.takes_value:
            return "off"
        return WITHOUT[name] if default is None else code(written(default))


def flags() -> list[Flag]:
    """The flags of the load by hand, in its order."""
    text = "\n".join(line for _, line in snippet(SCRIPT, "manual"))
    command = find(f"MODEL=m\n{text}")[0]  # of every round of its loops
    found = []
    for given in Reading.of(command).given:
        value = given.value
        shown = written(value) if isinstance(value, str | int | float) else ""
        found.append(Flag(option=given.option, value=value, text=shown))
    return found


def flag_table() -> str:
    """Every flag, what it is for, and what happens without it."""
    rows = [(code(flag.option.name), PURPOSE[flag.option.dest], flag.without) for flag in flags()]
    return table(("flag", "what it does", "without it"), rows)


def redundant() -> str:
    """The flags that only repeat a default."""
    names = [code(flag.option.name) for flag in flags() if flag.redundant]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def sweep_file(name: str) -> object:
    """One of the sweep's parameter files, parsed."""
    return json.loads((SWEEP / name).read_text("utf-8"))


def minutes(layout_number: int) -> float:
    """What one trial at all concurrencies takes, by the price of a step."""
    layout = LAYOUTS[layout_number]
    seconds = sum(
        max(64, 8 * width) * OUTPUT / (throughput(layout, width).likely * layout.ranks)
        for width in CONCURRENCY
    )
    return seconds / SECONDS_A_MINUTE


trial_minutes = max(minutes(number) for number in range(len(LAYOUTS)))
redundant_count = sum(flag.redundant for flag in flags())
flag_count = len(flags())
ready_timeout = str(options(SWEEP_COMMAND)["server_ready_timeout"].default)
