"""What the launch page quotes beside the guide's layouts: downloads, and the model of two nodes."""

from __future__ import annotations

from figure import assumed, measured
from guided import GPU, GPU_SEEN, INPUT, MODEL, OUTPUT, RESTS, SEQUENCES
from vllm_parallel import Cluster, Deployment, Layout, Settings, Shard, Verdict, load_model
from vllm_parallel.layout import pipeline_split
from vllm_parallel.ledger import budgets_on
from vllm_parallel.render.numbers import gib

BIG = load_model("llama-3.1-405b")
TWO_NODES = Deployment(
    model=BIG,
    layout=Layout(tp=8, pp=2),
    settings=Settings(max_model_len=8192, max_num_seqs=SEQUENCES),
    cluster=Cluster(gpu=GPU, gpus_per_node=8, nodes=2),
)


def billions(deployment: Deployment) -> str:
    """The weights of one whole model, in the decimal gigabytes of a download."""
    return f"{Shard.of(deployment, 0).loaded_weight_bytes / 1e9:,.0f} GB"


sequences = SEQUENCES
download = billions(Deployment(model=MODEL, layout=Layout()))
big_download = billions(Deployment(model=BIG, layout=Layout()))
big_weights = gib(max(budget.ledger.terms[0].bytes for budget in budgets_on(TWO_NODES, GPU)))
big_ranks = TWO_NODES.layout.ranks
default_utilization = Settings().gpu_memory_utilization
totals_apart = measured(
    gib((GPU.smi_memory_bytes or 0) - GPU.runtime_memory_bytes),
    GPU_SEEN,
)
input_tokens, output_tokens = INPUT, OUTPUT

capacity = Verdict.of(TWO_NODES).capacity
big_pool = assumed(0 if capacity is None else capacity.pool.tokens, RESTS)
uneven_layers, uneven_stages = load_model("deepseek-r1", as_bf16=True).layers, 4
uneven_line = (
    f"Hidden layers were unevenly partitioned: "
    f"[{','.join(map(str, pipeline_split(uneven_layers, uneven_stages)))}]. This can be manually "
    "overridden using the VLLM_PP_LAYER_PARTITION environment variable"
)
