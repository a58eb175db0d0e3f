"""What goes wrong in a deployment: the sign, the usual cause, and the way out.

The troubleshooting page shows every row under its name; the commands that read what vLLM wrote
print the fix of those they find. Code stands in backticks, as in Markdown.
"""

from __future__ import annotations

from typing import Final

from vllm_parallel.frozen import dataclass

PAGE: Final = "guide/troubleshoot/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """Something that a user sees; `name` is its anchor on the troubleshooting page.

    >>> SYMPTOM["preemptions"].address()
    'guide/troubleshoot/#preemptions'
    >>> SYMPTOM["preemptions"].address("https://example.org/docs")
    'https://example.org/docs/guide/troubleshoot/#preemptions'
    """

    name: str
    sign: str
    cause: str
    fix: str

    def address(self, site: str = "") -> str:
        """Where the page explains it, below the address of the site."""
        return f"{site.rstrip('/')}/{PAGE}#{self.name}" if site else f"{PAGE}#{self.name}"


SYMPTOMS: Final[tuple[Symptom, ...]] = (
    # What was measured is not what was estimated.
    Symptom(
        name="kv-below-estimate",
        sign="`GPU KV cache size` is far below the estimate",
        cause="Activations or CUDA graphs took more than the estimate allows, another process held "
        "memory, or the dtype or a parallel flag is not what was meant",
        fix="Compare line by line: `Model loading took` with the weights, then `Available KV cache "
        "memory` with the budget less the weights; the first of the two that differs names the "
        "cause",
    ),
    Symptom(
        name="kv-above-estimate",
        sign="`GPU KV cache size` is far above the estimate",
        cause="`--gpu-memory-utilization` is higher, `--max-num-batched-tokens` lower or the "
        "cache's dtype smaller than in the estimate, or the blocks were set by hand",
        fix="Give the estimate the options of the log's `non-default args` line",
    ),
    Symptom(
        name="dtype-differs",
        sign="`Model loading took` is about half, or about twice, the estimated weights",
        cause="The weights have another dtype than meant: a quantised checkpoint, `--dtype`, or "
        "`--quantization` that did not apply",
        fix="Read `dtype=` and `quantization=` in the line `Initializing a V1 LLM engine`, then "
        "set `--dtype` or use the checkpoint that was meant",
    ),
    Symptom(
        name="flag-not-taken",
        sign="`tensor_parallel_size` and the like in the `Initializing a V1 LLM engine` line, or "
        "in the `rank … in world size …` lines, differ from the command",
        cause="The option stands after a broken line continuation, in another variable, or a "
        "config file or a wrapper replaced it",
        fix="Print the command with `set -x`, and compare it with the log's `non-default args`",
    ),
    Symptom(
        name="stages-uneven",
        sign="`Hidden layers were unevenly partitioned`, or stages load different weights",
        cause="The layers do not divide by `--pipeline-parallel-size`; the first stage holds the "
        "embedding and the last the head and the sampler. The tightest stage sets the pool",
        fix="Set `VLLM_PP_LAYER_PARTITION` so that the tightest stage has fewer layers, or use a "
        "`--pipeline-parallel-size` that divides them",
    ),
    Symptom(
        name="graph-memory",
        sign="The CUDA graphs take much more memory than the estimate kept for them: `CUDA graph "
        "pool memory: … (actual), … (estimated)`",
        cause="Graphs are captured after the cache is allocated; vLLM subtracts an estimate of "
        "them beforehand, and the rest comes from outside the budget",
        fix="Lower `--gpu-memory-utilization` by the difference, or capture fewer sizes with "
        "`--max-cudagraph-capture-size`",
    ),
    Symptom(
        name="dcp-reading",
        sign="Blocks times `block_size` in `/metrics` is several times below the log's KV tokens",
        cause="With decode-context parallelism a block of the scheduler is `block_size` times dcp "
        "tokens; the metric counts the tokens of one rank",
        fix="Multiply by `--decode-context-parallel-size`, or read `kv_cache_size_tokens`",
    ),
    Symptom(
        name="nvidia-smi-above-fraction",
        sign="`nvidia-smi` shows more used memory than `--gpu-memory-utilization` allows",
        cause="The CUDA context and NCCL's buffers are allocated before the budget is measured and "
        "stand outside it; graphs can exceed their estimate",
        fix="Leave it if it fits; if the GPU runs out, lower `--gpu-memory-utilization`",
    ),
    # A start that fails.
    Symptom(
        name="no-memory-for-blocks",
        sign="`No available memory for the cache blocks`, or a negative `Available KV cache "
        "memory`",
        cause="Weights, activations and graphs fill the budget: nothing is left for one block",
        fix="Raise `--gpu-memory-utilization` or `--tensor-parallel-size`, lower "
        "`--max-num-batched-tokens` and `--max-num-seqs`, or use a smaller dtype",
    ),
    Symptom(
        name="request-does-not-fit",
        sign="`To serve at least one request with the model's max seq len`",
        cause="The pool of the tightest stage is smaller than one request of `--max-model-len`",
        fix="Lower `--max-model-len` to the length that the message estimates, or make room as for "
        "blocks that do not fit",
    ),
    Symptom(
        name="gpu-in-use",
        sign="`Free memory on device … on startup is less than desired GPU memory utilization`, or "
        "`Error in memory profiling`",
        cause="Another process holds memory of this GPU, often the server stopped just before",
        fix="Wait until `nvidia-smi` shows the memory free, end the process that holds it, or "
        "lower `--gpu-memory-utilization`",
    ),
    Symptom(
        name="out-of-memory",
        sign="`CUDA out of memory` while loading, profiling, warming up or serving",
        cause="Something outside the budget grew: graphs, warm-up of kernels, NCCL with more "
        "ranks, or a stage with more layers and the head",
        fix="See which rank says it and after which line: before `Model loading took` use more "
        "ranks; after `KV cache size` lower `--gpu-memory-utilization`",
    ),
    Symptom(
        name="too-many-ranks",
        sign="`World size (…) is larger than the number of available GPUs`, or `DP adjusted local "
        "rank … is out of bounds`",
        cause="tp times pp times pcp exceeds this node's GPUs, or that times dp does; DCP adds no "
        "ranks, prefill-context parallelism does",
        fix="Lower a width, make more GPUs visible, or name the nodes: `--nnodes` with mp, or "
        "`--distributed-executor-backend ray`",
    ),
    Symptom(
        name="heads-do-not-divide",
        sign="`Total number of attention heads (…) must be divisible by tensor parallel size`",
        cause="Each rank of a TP group holds equally many query heads",
        fix="Use a `--tensor-parallel-size` that divides the heads; fill the GPUs with pp or dp",
    ),
    Symptom(
        name="dcp-needs-tp-above-kv-heads",
        sign="`Decode context parallelism for GQA/MQA requires` …",
        cause="`--tensor-parallel-size` does not exceed the KV heads, so no rank holds a copy that "
        "DCP could remove",
        fix="Leave `--decode-context-parallel-size` out, or raise `--tensor-parallel-size` above "
        "the KV heads",
    ),
    Symptom(
        name="dcp-above-copies",
        sign="`--decode-context-parallel-size (…) exceeds the maximum supported value`",
        cause="DCP can divide only the copies of a KV head, and there are tp / KV heads of them",
        fix="Lower `--decode-context-parallel-size` to the value that the message names",
    ),
    Symptom(
        name="dcp-does-not-divide",
        sign="`tp_size=… must be divisible by dcp_size=…`, or `query heads per KV head (…) must be "
        "divisible by`",
        cause="A DCP group is a run of ranks of one TP group, and each combines equally many query "
        "heads",
        fix="Use a `--decode-context-parallel-size` that divides tp and the query heads per KV "
        "head",
    ),
    Symptom(
        name="dcp-back-end",
        sign="`DCP requires attention implementations to return the softmax LSE`, or `No valid "
        "attention backend found`",
        cause="The attention back end cannot merge partial results, or does not support context "
        "parallelism at all",
        fix="Name another with `--attention-backend`, or run without context parallelism",
    ),
    Symptom(
        name="start-failed",
        sign="`Engine core initialization failed`, `WorkerProc failed to start` or `died "
        "unexpectedly`",
        cause="These lines only pass on that another process died; the cause stands above them, in "
        "the first traceback, and may be on another node",
        fix="Search upwards for the first `ERROR`; on several nodes read the log of each",
    ),
    # A service that runs, but not as meant.
    Symptom(
        name="preemptions",
        sign="`vllm:num_preemptions_total` grows during the load",
        cause="The pool is full: requests give up their blocks and are computed again, which every "
        "latency of this load includes",
        fix="Lower the concurrency, `--max-num-seqs` or `--max-model-len`; hold more tokens with a "
        "larger tp or an 8-bit cache; where KV heads are copied, use DCP",
    ),
    Symptom(
        name="requests-wait",
        sign="`Waiting` stays above 0 while `GPU KV cache usage` is near 100 %, or `Running` "
        "stands at `--max-num-seqs`",
        cause="The pool or the cap on sequences holds requests back; TTFT then measures the queue",
        fix="If usage is near 100 % the pool binds: see preemptions. Otherwise raise "
        "`--max-num-seqs`, or send fewer requests at once",
    ),
    Symptom(
        name="engines-unbalanced",
        sign="One data-parallel engine runs or queues clearly more than the others",
        cause="Lengths differ widely, or whatever spreads the requests does not see the engines' "
        "load",
        fix="Watch `num_requests_running` and `num_requests_waiting` by their `engine` label; with "
        "independent instances change the balancer's policy, for instance to least connections",
    ),
    Symptom(
        name="stats-line-missing",
        sign="No line with `Running:`, `Waiting:` and `KV cache usage` appears under load",
        cause="With several API servers, which data parallelism starts by default, vLLM turns the "
        "line off: `AsyncLLM created with api_server_count more than 1`",
        fix="Pass `--api-server-count 1`, or read `/metrics`, which stays complete",
    ),
    Symptom(
        name="preemptions-not-logged",
        sign="The stats line never has a `Preemptions:` segment",
        cause="v0.32.0 sets the count to zero just before it prints the line",
        fix="Take `vllm:num_preemptions_total` before and after the load, and subtract",
    ),
    Symptom(
        name="pp-slow-at-low-concurrency",
        sign="A layout with pipeline stages is much slower than tensor parallelism at low "
        "concurrency",
        cause="Too few batches are in flight to fill the stages, and each batch reads all of a "
        "stage's weights",
        fix="Within a node prefer a larger `--tensor-parallel-size`; keep stages for crossing "
        "nodes",
    ),
    Symptom(
        name="nccl-over-sockets",
        sign="Several nodes are slower than one, and with `NCCL_DEBUG=INFO` the log has "
        "`NET/Socket` instead of `NET/IB`",
        cause="NCCL found no usable InfiniBand or RoCE, or a container hides the adapters",
        fix="Check `ibstat`, `NCCL_IB_HCA` and `NCCL_SOCKET_IFNAME`, pass `/dev/infiniband` into "
        "the container with unlimited locked memory, and load `nvidia_peermem` for GPUDirect RDMA",
    ),
    Symptom(
        name="no-peer-access",
        sign="`Custom allreduce is disabled because` …, or `nvidia-smi topo -m` shows `PHB`, "
        "`NODE` or `SYS` between GPUs of one TP group",
        cause="These GPUs reach each other over PCIe or between sockets, not over NVLink",
        fix="Keep TP groups where `topo -m` shows `NV…`; choose GPUs with `CUDA_VISIBLE_DEVICES`, "
        "and use pp or dp across the rest",
    ),
    Symptom(
        name="graphs-off",
        sign="`Enforce eager set, disabling torch.compile and CUDAGraphs`, or `Cudagraph is "
        "disabled`",
        cause="`--enforce-eager`, a mode or a back end turns graphs off: each step pays for "
        "launching its kernels, most at low concurrency",
        fix="Leave `--enforce-eager` out for measurements; if memory was the reason, capture fewer "
        "sizes instead",
    ),
    Symptom(
        name="requests-failed",
        sign="`Failed requests` of `vllm bench serve` is not 0",
        cause="The server refused or lost requests; a failed one takes no time and no tokens, so "
        "averages look better than they are",
        fix="Read the server's log, mend the cause and repeat the run; do not compare its row",
    ),
    Symptom(
        name="counter-went-back",
        sign="A counter of `/metrics` is lower after the load than before",
        cause="The server was started anew between the two snapshots, or they are given swapped",
        fix="Give the earlier snapshot first; after a new start take both within one, and repeat "
        "the load",
    ),
    Symptom(
        name="noise",
        sign="Two layouts differ by less than their own trials do",
        cause="Too few trials, other work on the machine, or no warm-up",
        fix="Repeat with at least three trials and, better, several starts; until the interval "
        "leaves 1 out, conclude nothing",
    ),
)
SYMPTOM: Final = {symptom.name: symptom for symptom in SYMPTOMS}
