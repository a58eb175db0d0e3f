"""What `layouts` prints for people: the best layouts, how to start the first, what fell out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vllm_parallel.constraints import Violation
from vllm_parallel.deployment import Deployment
from vllm_parallel.outcome import Found, Goal, Outcome, Refused
from vllm_parallel.render.numbers import counted, milliseconds, whole
from vllm_parallel.render.shell import launch_command, node_commands
from vllm_parallel.render.text import table
from vllm_parallel.search import Search, SteadyDecode
from vllm_parallel.starting import node_settings
from vllm_parallel.term import RELEASE

BY: Final = {
    Goal.TPOT: "TPOT, those that hold all requests first",
    Goal.THROUGHPUT: "tokens a second of a GPU",
    Goal.LONGEST_REQUEST: "the longest request, then capacity",
    Goal.CAPACITY: "KV tokens of the service, then the longest request",
}
SHOWN_NODES: Final = 2
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
    """How to start a layout: a command, or those of the first two nodes that it spans."""
    commands = node_commands(deployment, model_word)
    if not commands:
        return (
            f"{_titled(deployment, launch_command(deployment, model_word))}\n  {_over(deployment)}"
        )
    if len(commands) == 1:
        return _titled(deployment, commands[0])
    shown = [
        _titled(deployment, text, f" on node {number}")
        for number, text in enumerate(commands[:SHOWN_NODES])
    ]
    if len(commands) > SHOWN_NODES:
        own = "--node-rank" if "--node-rank" in commands[1] else "--data-parallel-start-rank"
        last = len(commands) - 1
        others = f"nodes {SHOWN_NODES} to {last}" if last > SHOWN_NODES else f"node {last}"
        shown.append(f"  On {others} as on node 1, with the {own} of each.")
    return "\n".join(shown)


def _titled(deployment: Deployment, command: str, place: str = "") -> str:
    return f"Launch {deployment.layout}{place}\n  " + command.replace("\n", "\n  ")


def _over(deployment: Deployment) -> str:
    """What vLLM says to a layout that no commands start over its nodes."""
    nodes = node_settings(deployment)
    assert isinstance(nodes, Violation)
    places = f"Over nodes of {deployment.cluster.gpus_per_node}"
    return f"{places} it does not start: {nodes.message} Way out: {nodes.fix}."


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
        cells[0:0] = [milliseconds(figures.tpot_seconds, 2), running, f"{rate:,.1f}"]
    return [str(found.layout), *cells]
