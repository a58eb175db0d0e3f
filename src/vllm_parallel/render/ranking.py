"""What `layouts` prints for people: the best layouts, how to start the first, what fell out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vllm_parallel.deployment import Deployment
from vllm_parallel.outcome import Found, Goal, Outcome, Refused
from vllm_parallel.render.numbers import counted, whole
from vllm_parallel.render.shell import launch_command
from vllm_parallel.render.text import table
from vllm_parallel.search import Search, SteadyDecode
from vllm_parallel.term import RELEASE

BY: Final = {
    Goal.TPOT: "TPOT, those that hold all requests first",
    Goal.THROUGHPUT: "tokens a second of a GPU",
    Goal.LONGEST_REQUEST: "the longest request, then capacity",
    Goal.CAPACITY: "KV tokens of the service, then the longest request",
}
TIES: Final = "ties by fewer collective calls a step"


def head(search: Search, outcome: Outcome, load: SteadyDecode | None) -> str:
    """The head of the report: what was searched, and how it is ranked.

    >>> from vllm_parallel.catalog import load_gpu, load_model
    >>> from vllm_parallel.cluster import Cluster
    >>> cluster = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
    >>> search = Search(model=load_model("llama-3.1-70b"), gpus=1, cluster=cluster)
    >>> print(head(search, search.run(Goal.CAPACITY), None))  # doctest: +ELLIPSIS
    llama-3.1-70b on 1 × H100 80GB SXM
    vLLM ... starts none of 1 layout.
    """
    gpu, model, found = search.cluster.gpu, search.model, len(outcome.found)
    twin = f", unquantised ({model.left_out} left out)," if model.left_out else ""
    up_to = "at most " if search.fewer else ""
    machines = f"{up_to}{search.gpus} × {gpu.label if gpu else 'GPU'}"
    if search.cluster.nodes > 1:
        machines += f", {search.cluster.gpus_per_node} a node"
    tried = counted(outcome.searched, "layout")
    lines = [f"{model.name}{twin} on {machines}"]
    if not found:
        return "\n".join([*lines, f"vLLM {RELEASE} starts none of {tried}."])
    lines.append(f"vLLM {RELEASE} starts {whole(found)} of {tried}. By {BY[outcome.goal]}; {TIES}.")
    if load is not None:
        requests = counted(load.concurrency, "request")
        lines.append(
            f"Load: {requests} of {whole(load.context)} tokens decode, without prompts and "
            "queueing. Times are computed, not measured."
        )
    return "\n".join(lines)


def best(found: Sequence[Found]) -> str:
    """The best layouts with their figures."""
    timed = found[0].figures is not None
    times_of = ["TPOT", "running", "tokens/s a GPU"] if timed else []
    names = ["", *times_of, "engines", "KV tokens of one", "of all", "longest request"]
    return table([names, *map(_row, found)], right=range(1, len(names)))


def launch(deployment: Deployment, model_word: str) -> str:
    """How to start a layout, and what it needs beside where it spans nodes."""
    command = launch_command(deployment, model_word).replace("\n", "\n  ")
    text = f"Launch {deployment.layout}\n  {command}"
    per_node = deployment.cluster.gpus_per_node
    if per_node is not None and deployment.layout.ranks > per_node:
        text += (
            f"\n  It spans nodes of {per_node}: add --nnodes with --node-rank and --master-addr on "
            "each, or start it under Ray."
        )
    return text


def fell_out(refused: Sequence[Refused]) -> str:
    """What the others broke, by rule, with an example and its way out."""
    rows = [[whole(row.count), row.rule, _way_out(row)] for row in refused]
    return f"Fell out, by the first rule broken\n{table(rows, right=(0,))}"


def _way_out(row: Refused) -> str:
    return f"as {row.example}: {row.fix if row.stage else row.message}"


def _row(found: Found) -> list[str]:
    capacity, pool, figures = found.capacity, found.capacity.pool, found.figures
    cells = [
        str(capacity.engines),
        whole(pool.tokens),
        whole(capacity.tokens),
        whole(found.longest_request),
    ]
    if figures is not None:
        running = str(figures.running)
        if figures.running < figures.asked:
            running += f" of {figures.asked}"
        rate = found.tokens_per_second_per_gpu
        cells[0:0] = [f"{figures.tpot_seconds * 1e3:.2f} ms", running, f"{rate:,.1f}"]
    return [str(found.layout), *cells]
