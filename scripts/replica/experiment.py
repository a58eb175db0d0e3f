"""The experiment as data: which servers are started, which loads they get, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MODEL = "llama-30m"  # the name it is served under
FOLDER = "./model"  # relative, so that no result names a path of this machine
TRIALS = 5
CONCURRENCIES = (1, 4, 8, 16)
SEQUENCES = 16  # service-wide, the highest concurrency: beyond it requests only queue
SEED = 42
INPUT_TOKENS, OUTPUT_TOKENS = 96, 64
KV_GIB = 1  # VLLM_CPU_KVCACHE_SPACE, of every rank
STARVED_BLOCKS = 20  # 16 requests start with one block each and grow into a second

SHARED = (
    "--served-model-name", MODEL, "--load-format", "dummy", "--dtype", "bfloat16",
    # Traced, not compiled: that needs no C++ compiler. With --enforce-eager the CPU worker makes no
    # buffer for what a pipeline stage receives, and the second stage fails at its first request.
    "-cc.mode=2", "-cc.backend=eager",
    "--max-model-len", "512", "--max-num-batched-tokens", "1024",
    "--no-enable-prefix-caching", "--seed", str(SEED),
)  # fmt: skip
LOAD = (
    "--backend", "openai", "--endpoint", "/v1/completions", "--model", MODEL,
    "--tokenizer", FOLDER, "--dataset-name", "random", "--random-input-len", str(INPUT_TOKENS),
    "--random-output-len", str(OUTPUT_TOKENS), "--num-warmups", "1", "--request-rate", "inf",
    "--temperature", "0", "--ignore-eos", "--seed", str(SEED),
    "--percentile-metrics", "ttft,tpot,itl", "--metric-percentiles", "50,99",
    "--disable-tqdm", "--save-result",
)  # fmt: skip
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
    "VLLM_CPU_KVCACHE_SPACE": str(KV_GIB),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm of the comparison: a layout, the cores its ranks are bound to, its loads."""

    label: str
    flags: tuple[str, ...] = ()
    ranks: int = 2
    engines: int = 1
    metrics_each: bool = False  # a snapshot around every trial, where preemptions are expected

    @property
    def environment(self) -> dict[str, str]:
        """One core for each rank."""
        cores = "|".join(str(core) for core in range(self.ranks))
        return {**ENVIRONMENT, "VLLM_CPU_OMP_THREADS_BIND": cores}

    @property
    def serve(self) -> tuple[str, ...]:
        """The words after `vllm`, without host and port."""
        sequences = ("--max-num-seqs", str(SEQUENCES // self.engines))
        return ("serve", FOLDER, *SHARED, *sequences, *self.flags)


ARMS = (
    Arm(label="tp1", ranks=1),
    Arm(label="tp2", flags=("--tensor-parallel-size", "2")),
    Arm(label="pp2", flags=("--pipeline-parallel-size", "2")),
    Arm(label="dp2", flags=("--data-parallel-size", "2"), engines=2),
    Arm(
        label="tp1-starved",
        flags=("--num-gpu-blocks-override", str(STARVED_BLOCKS)),
        ranks=1,
        metrics_each=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of one server, which answers one trial: starts are what is independent."""

    arm: Arm
    trial: int

    @property
    def stem(self) -> str:
        """What the names of its log and its metrics begin with.

        >>> Start(arm=ARMS[1], trial=1).stem, Start(arm=ARMS[1], trial=2).stem
        ('tp2', 'tp2-s2')
        """
        return self.arm.label if self.trial == 1 else f"{self.arm.label}-s{self.trial}"

    def trial_stem(self, concurrency: int) -> str:
        """What the names of one trial's files begin with.

        >>> Start(arm=ARMS[1], trial=2).trial_stem(8)
        'tp2-c8-r2'
        """
        return f"{self.arm.label}-c{concurrency}-r{self.trial}"

    def bench(self, concurrency: int, began: str) -> tuple[str, ...]:
        """The words after `vllm bench serve`, without the server's address and the file's."""
        return (
            *LOAD, "--num-prompts", str(prompts(concurrency)),
            "--max-concurrency", str(concurrency),
            "--metadata", f"layout={self.arm.label}", f"gpus={self.arm.ranks}", f"began={began}",
        )  # fmt: skip


def prompts(concurrency: int) -> int:
    """Requests of one trial: every slot is filled twice, and never fewer than eight.

    >>> [prompts(concurrency) for concurrency in CONCURRENCIES]
    [8, 8, 16, 32]
    """
    return max(8, 2 * concurrency)


def starts(trials: int) -> Iterator[Start]:
    """Every start: each trial starts every arm once, beginning with another one each time.

    What drifts on the machine while this runs then falls on all arms alike.

    >>> [start.stem for start in starts(2)]  # doctest: +NORMALIZE_WHITESPACE
    ['tp1', 'tp2', 'pp2', 'dp2', 'tp1-starved',
     'tp2-s2', 'pp2-s2', 'dp2-s2', 'tp1-starved-s2', 'tp1-s2']
    """
    for trial in range(1, trials + 1):
        first = (trial - 1) % len(ARMS)
        for arm in ARMS[first:] + ARMS[:first]:
            yield Start(arm=arm, trial=trial)
