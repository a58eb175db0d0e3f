"""How long answers take: a cold `plan`, questions of a `batch`, a search over layouts.

Run by `make bench`. Times are the best of several rounds, as the machine is shared.
"""

from __future__ import annotations

import compileall
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import vllm_parallel
from vllm_parallel.answers import answer
from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.catalog.rates import load_rates
from vllm_parallel.cluster import Cluster
from vllm_parallel.collectives import EngineBatch
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.price import Pricer

PLAN = "plan llama-3.1-70b -tp 8 --gpu h100-80gb".split()
PACKAGE = Path(vllm_parallel.__file__).parent
SEARCH = "layouts --gpus 64 --gpu h100-80gb --max-model-len 8192".split()
SEARCHED = ("llama-3.1-405b", "qwen3-235b-a22b", "deepseek-r1")
SEARCH_LIMIT = 2.0  # seconds, all three together
COLD_LIMIT = 7.0  # bare interpreter starts
BATCH_LIMIT_MS = 0.3
ALL_LIMIT_MS = 1.0
PRICE_LIMIT_MS = 0.3
ROUNDS = 15
PRICED = {
    "llama-3.1-70b": (Layout(tp=8), Layout(tp=4, pp=2), Layout(tp=4, dp=2)),
    "qwen3-235b-a22b": (Layout(tp=4, dp=2, expert_parallel=True),),
    "deepseek-r1": (Layout(tp=8), Layout(tp=8, dcp=8)),
}
STEPS = (
    EngineBatch(decode=(1000,)),
    EngineBatch(decode=tuple(range(1000, 1064))),
    EngineBatch(prefill=((2048, 0),), decode=tuple(range(2048, 2111))),
)
QUICK = ["verdict", "ranks", "capacity"]
QUESTIONS: Sequence[dict[str, object]] = [
    {
        "model": model,
        "as_bf16": True,
        "gpu": "b200",
        "rank": 0,
        "ask": QUICK,
        "args": {
            "tensor_parallel_size": tp,
            "pipeline_parallel_size": pp,
            "data_parallel_size": dp,
            "max_model_len": 8192,
        },
    }
    for model in ("llama-3.1-70b", "qwen3-235b-a22b", "deepseek-r1", "gpt-oss-120b")
    for tp in (1, 4, 8)
    for pp in (1, 2)
    for dp in (1, 2)
]


def best(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def run(*words: str) -> None:
    """A fresh interpreter, its output thrown away."""
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)


def user_seconds(*words: str) -> float:
    """CPU seconds of a fresh interpreter, the best of three; others may use the machine."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(seconds)


def questions_ms(questions: Sequence[dict[str, object]]) -> float:
    """Milliseconds a question, in one process."""
    return best(lambda: [answer(question) for question in questions]) / len(questions) * 1e3


def prices_ms() -> float:
    """CPU milliseconds of one price, of the deployment that takes longest."""
    cluster = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
    rates = load_rates("h100-80gb")
    slowest = 0.0
    for model, layouts in PRICED.items():
        for layout in layouts:
            deployment = Deployment(model=load_model(model), layout=layout, cluster=cluster)
            pricer = Pricer.of(deployment, rates)
            seconds = min(cpu_seconds(pricer) for _ in range(ROUNDS))
            slowest = max(slowest, seconds / len(STEPS) * 1e3)
    return slowest


def cpu_seconds(pricer: Pricer) -> float:
    """What this process computes for all steps, a mean of 20 times."""
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for _ in range(20):
        for step in STEPS:
            pricer.price(step)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_utime - start) / 20


def line(name: str, value: str, limit: str, *, met: bool) -> None:
    print(f"{name:<44} {value:>10}   at most {limit:<8} {'met' if met else 'NOT MET'}")


def main() -> None:
    compileall.compile_dir(PACKAGE, quiet=1)  # as an installed package is
    command = str(Path(sys.executable).with_name("vllm-parallel"))
    bare = best(lambda: run("-c", "pass"))
    cold = best(lambda: run(command, *PLAN)) / bare
    print(f"bare interpreter start {bare * 1e3:.1f} ms")
    line("cold plan, in bare starts", f"{cold:.1f}", f"{COLD_LIMIT:g}", met=cold <= COLD_LIMIT)
    quick = questions_ms(QUESTIONS)
    line(
        "batch: verdict, one rank, capacity",
        f"{quick:.3f} ms",
        f"{BATCH_LIMIT_MS:g} ms",
        met=quick <= BATCH_LIMIT_MS,
    )
    whole = {"tensor_parallel_size": 8, "pipeline_parallel_size": 4, "data_parallel_size": 2}
    everything = questions_ms([{"model": "deepseek-r1", "as_bf16": True, "args": whole}])
    line(
        "batch: everything, 64 ranks",
        f"{everything:.3f} ms",
        f"{ALL_LIMIT_MS:g} ms",
        met=everything <= ALL_LIMIT_MS,
    )
    search = sum(user_seconds(command, *SEARCH, model) for model in SEARCHED)
    line(
        "layouts of 64 GPUs for 3 models, cold, CPU",
        f"{search:.2f} s",
        f"{SEARCH_LIMIT:g} s",
        met=search <= SEARCH_LIMIT,
    )
    price = prices_ms()
    line(
        "price of a step, up to 64 requests",
        f"{price:.3f} ms",
        f"{PRICE_LIMIT_MS:g} ms",
        met=price <= PRICE_LIMIT_MS,
    )
    million = {"tensor_parallel_size": 8, "data_parallel_size": 131072}
    asked = {"model": "llama-3.1-70b", "args": million, "rank": 999_999}
    print(f"{'one of a million ranks':<44} {questions_ms([asked]):>7.3f} ms")


if __name__ == "__main__":
    main()
