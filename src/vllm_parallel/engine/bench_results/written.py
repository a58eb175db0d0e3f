"""Every field of the result that `vllm bench serve` writes: its unit, and when it is there.

Source: vllm/benchmarks/serve.py, main_async and benchmark (v0.32.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.frozen import dataclass

DETAILED: Final = "with `--save-detailed`"
DRAFTS: Final = "if the server drafts tokens: `--speculative-config`"
DIFFUSION: Final = "of a diffusion model"
PROBES: Final = "with `--probe-request-rate`"
RAMP: Final = "with `--ramp-up-strategy`"
GENERATION: Final = "not of pooling models"
POOLING: Final = "of pooling models"
ALWAYS: Final = "always"


@dataclass(frozen=True, slots=True)
class WrittenField:
    """One field: its name, the unit or kind of its value, when it is there, what it says.

    A name may hold `{P}`, a percentile without needless decimals: 50, 99.9. `when` and `says` are
    Markdown.
    """

    name: str
    unit: str
    when: str
    says: str

    @property
    def anchor(self) -> str:
        """Where the reference has it.

        >>> WrittenField("p{P}_ttft_ms", "ms", "", "").anchor
        'field-pp-ttft-ms'
        """
        letters = self.name.replace("{P}", "p").replace("_", "-")
        return f"field-{letters}".lower()


SETTING: Final = (
    WrittenField("date", "text", ALWAYS, "When it was written: `YYYYMMDD-HHMMSS`, local time"),
    WrittenField("endpoint_type", "text", ALWAYS, "The same as `backend`, for older readers"),
    WrittenField("backend", "text", ALWAYS, "What `--backend` says"),
    WrittenField("label", "text or null", ALWAYS, "What `--label` says; null if not given"),
    WrittenField("model_id", "text", ALWAYS, "`--model`, or the first that the server names"),
    WrittenField(
        "tokenizer_id", "text or null", ALWAYS, "`--tokenizer`; null with `--skip-tokenizer-init`"
    ),
    WrittenField(
        "num_prompts", "requests", ALWAYS, "`--num-prompts`; a small dataset may send fewer"
    ),
    WrittenField(
        "request_rate", 'requests a second, or "inf"', ALWAYS,
        "`--request-rate`; without a limit the text `inf`, not a number",
    ),
    WrittenField("burstiness", "number", ALWAYS, "`--burstiness`; 1 is a Poisson process"),
    WrittenField(
        "max_concurrency", "requests or null", ALWAYS, "`--max-concurrency`; null if not given"
    ),
    WrittenField("ramp_up_strategy", "text", RAMP, "`linear` or `exponential`"),
    WrittenField("ramp_up_start_rps", "requests a second", RAMP, "The rate at the start"),
    WrittenField("ramp_up_end_rps", "requests a second", RAMP, "The rate at the end"),
)  # fmt: skip
OUTCOME: Final = (
    WrittenField("duration", "seconds", ALWAYS, "From the first request sent to the last answer"),
    WrittenField("completed", "requests", ALWAYS, "Those that were answered"),
    WrittenField(
        "failed", "requests", GENERATION,
        "Those that were not. Unless it is 0, the row compares with no other",
    ),
    WrittenField("total_input_tokens", "tokens", ALWAYS, "Prompts of the completed requests"),
    WrittenField("total_output_tokens", "tokens", GENERATION, "Generated, as the server counts"),
    WrittenField("total_input_sequences", "sequences", POOLING, "Inputs of the completed requests"),
    WrittenField("request_throughput", "requests a second", ALWAYS, "`completed` by `duration`"),
    WrittenField(
        "request_goodput", "requests a second or null", GENERATION,
        "Those that met every limit of `--goodput`; null without it. Older releases wrote the "
        "name with a colon at its end",
    ),
    WrittenField(
        "output_throughput", "tokens a second", GENERATION, "`total_output_tokens` by `duration`"
    ),
    WrittenField(
        "total_token_throughput", "tokens a second", ALWAYS, "Input and output together"
    ),
    WrittenField("input_sequence_throughput", "sequences a second", POOLING, "Inputs"),
    WrittenField(
        "max_output_tokens_per_s", "tokens a second", GENERATION, "The best whole second"
    ),
    WrittenField(
        "max_concurrent_requests", "requests", GENERATION,
        "The most in one whole second; it can exceed `max_concurrency`, as a request that ends and "
        "the next that begins share a second",
    ),
    WrittenField("rtfx", "number", GENERATION, "Seconds of audio by `duration`; 0 without audio"),
)  # fmt: skip
PER_REQUEST: Final = (
    WrittenField("latencies", "list of seconds", ALWAYS, "End to end; 0 where one failed"),
    WrittenField("queue_times", "list of seconds", ALWAYS, "Waited in the client for a free slot"),
    WrittenField("input_lens", "list of tokens", DETAILED, "The length of each prompt"),
    WrittenField("output_lens", "list of tokens", DETAILED, "The length of each answer"),
    WrittenField("ttfts", "list of seconds", DETAILED, "Time to the first token of each"),
    WrittenField("itls", "list of lists of seconds", DETAILED, "Between the tokens of each"),
    WrittenField("start_times", "list of seconds", DETAILED, "On a clock of its own"),
    WrittenField("generated_texts", "list of texts", DETAILED, "The answers"),
    WrittenField("errors", "list of texts", DETAILED, "Empty where a request was answered"),
)
METRICS: Final = (
    ("ttft", "Time to first token", "default of `--percentile-metrics`"),
    (
        "tpot",
        "Time per output token: `(latency - ttft) / (tokens - 1)`, requests of one token left out",
        "default of `--percentile-metrics`",
    ),
    ("itl", "Time between two tokens", "default of `--percentile-metrics`"),
    ("e2el", "End-to-end latency", "with `e2el` in `--percentile-metrics`"),
    (
        "client_queue_time",
        "Wait in the client for a free slot",
        "with `client_queue_time` in `--percentile-metrics`, and `--max-concurrency`",
    ),
    (
        "e2el_including_client_queue",
        "End-to-end latency with that wait",
        "with its name in `--percentile-metrics`, `--max-concurrency`, and a `--request-rate`",
    ),
)
STATISTICS: Final = (
    ("mean_{}_ms", "mean"),
    ("median_{}_ms", "median, whatever `--metric-percentiles` asks for"),
    ("std_{}_ms", "standard deviation"),
    ("p{{P}}_{}_ms", "percentiles of `--metric-percentiles`, 99 by default: `p99_{}_ms`"),
)


def _latencies() -> Iterator[WrittenField]:
    for metric, says, when in METRICS:
        for name, statistic in STATISTICS:
            words = f"{says}: {statistic.format(metric)}. All zeros: none was measured"
            yield WrittenField(name.format(metric), "milliseconds", when, words)


LATENCY: Final = tuple(_latencies())
EXTRAS: Final = (
    WrittenField("spec_decode_acceptance_rate", "per cent", DRAFTS, "Drafted tokens accepted"),
    WrittenField(
        "spec_decode_acceptance_length", "tokens", DRAFTS, "Tokens a draft yields, with its own"
    ),
    WrittenField("spec_decode_num_drafts", "drafts", DRAFTS, "How many were made"),
    WrittenField("spec_decode_draft_tokens", "tokens", DRAFTS, "How many were drafted"),
    WrittenField("spec_decode_accepted_tokens", "tokens", DRAFTS, "How many were accepted"),
    WrittenField(
        "spec_decode_per_position_acceptance_rates", "list of shares", DRAFTS,
        "Of each position in a draft",
    ),
    WrittenField(
        "diffusion_committed_throughput", "tokens a second", DIFFUSION, "Tokens that were kept"
    ),
    WrittenField("diffusion_steps_per_canvas", "steps", DIFFUSION, "Denoising steps of a canvas"),
    WrittenField("diffusion_committed_per_step", "tokens", DIFFUSION, "Kept in a denoising step"),
    WrittenField("diffusion_committed_tokens", "tokens", DIFFUSION, "Kept in all"),
    WrittenField("diffusion_denoising_steps", "steps", DIFFUSION, "Without those that commit"),
    WrittenField("diffusion_canvas_positions", "positions", DIFFUSION, "Evaluated in all"),
    WrittenField("probe_completed", "requests", PROBES, "Probes that were answered"),
    WrittenField("probe_failed", "requests", PROBES, "Probes that were not"),
    WrittenField("probe_median_e2el_ms", "milliseconds", PROBES, "Median latency of the probes"),
    WrittenField("probe_p99_e2el_ms", "milliseconds", PROBES, "Their 99th percentile"),
    WrittenField("probe_max_e2el_ms", "milliseconds", PROBES, "The slowest"),
    WrittenField(
        "rps_change_events", "list of objects", RAMP, "`rps` and `timestamp` of each change"
    ),
)  # fmt: skip
# Not the client's own: words of the user's, and what a sweep adds.
ADDED: Final = (
    WrittenField(
        "layout", "text", "with `--metadata layout=…`", "The row's label, as the guide writes it"
    ),
    WrittenField(
        "gpus", "text", "with `--metadata gpus=…`",
        "How many GPUs the layout takes; throughput is divided by it. Metadata are texts",
    ),
    WrittenField("trial", "text", "with `--metadata trial=…`", "Which repetition it is"),
    WrittenField(
        "run_number", "number from 0", "in the tree of `vllm bench sweep serve`",
        "Which repetition it is; every parameter of the combination stands beside it",
    ),
)  # fmt: skip
SECTIONS: Final[tuple[tuple[str, tuple[WrittenField, ...]], ...]] = (
    ("What was asked", SETTING),
    ("What came of it", OUTCOME),
    ("Latencies", LATENCY),
    ("Of each request", PER_REQUEST),
    ("Only sometimes", EXTRAS),
    ("What you and a sweep add", ADDED),
)
WRITTEN: Final = tuple(row for _, rows in SECTIONS for row in rows)
