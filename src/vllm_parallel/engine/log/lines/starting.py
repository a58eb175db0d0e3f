"""Lines of a start: the release, what was asked for, how ranks and layers were placed."""

from __future__ import annotations

from typing import Final

from vllm_parallel.engine.log.lines.line import KnownLine

RANK: Final = (
    r"rank (?P<rank>\d+) in world size (?P<world>\d+) is assigned as DP rank (?P<dp>\d+), "
    r"PP rank (?P<pp>\d+)(?:, PCP rank (?P<pcp>\d+))?, TP rank (?P<tp>\d+)"
)
API: Final = "API server"
ONCE: Final = "once"
WORKER: Final = "worker"
EACH: Final = "every worker"

STARTING: Final[tuple[KnownLine, ...]] = (
    KnownLine(
        name="version-banner",
        says=" ${o}▄▄${r} ${b}▄█${r} ${w}█     █     █ ▀▄▀ █${r}  version ${w}%s${r}",
        by=API,
        often="once a start, also with several API servers",
        check="The release: figures of another are printed and computed differently",
        source="vllm/entrypoints/serve/utils/api_utils.py, log_version_and_model",
        pattern=r".*█ +version (?P<version>\S+)",
        words=("▄▄", "▄█", "█"),
    ),
    KnownLine(
        name="version",
        says="vLLM server version %s, serving model %s",
        by=API,
        often="instead of the banner, with `VLLM_DISABLE_LOG_LOGO` or another formatter",
        check="As the banner",
        source="vllm/entrypoints/serve/utils/api_utils.py, log_version_and_model",
        pattern=r"vLLM server version (?P<version>\S+?),? serving model (?P<model>\S+)",
    ),
    KnownLine(
        name="model-banner",
        says="  ${o}█${r}${b}▄█▀${r} ${w}█     █     █     █${r}  model   ${w}%s${r}",
        by=API,
        often="once a start",
        check="The model that is served",
        source="vllm/entrypoints/serve/utils/api_utils.py, log_version_and_model",
        pattern=r".*█ +model +(?P<model>\S+)",
        words=("█▄█▀",),
    ),
    KnownLine(
        name="non-default-args",
        says="non-default args: %s",
        by=API,
        often=ONCE,
        check="What vLLM understood of the command: an option that is missing here was not taken",
        source="vllm/entrypoints/serve/utils/api_utils.py, log_non_default_args",
        pattern=r"non-default args: (?P<args>\{.*\})\s*$",
        marker="non-default args: {",
    ),
    KnownLine(
        name="api-server-count",
        says="Defaulting api_server_count to data_parallel_size (%d).",
        by=API,
        often="once, with internal data parallelism",
        check="More than one turns the stats line off",
        source="vllm/entrypoints/cli/serve.py, ServeSubcommand.cmd",
        pattern=r"Defaulting api_server_count to data_parallel_size(?:_local)? \((?P<count>\d+)\)",
    ),
    KnownLine(
        name="headless-workers",
        says="Launching vLLM (v%s) headless multiproc executor, with head node address %s for "
        "torch.distributed process group.",
        by="headless node",
        often="once on each node but the first of a replica",
        check="The node's ranks belong to the engine on the head node",
        source="vllm/entrypoints/cli/serve.py, run_headless",
        pattern=r"Launching vLLM \(v(?P<version>\S+)\) headless",
        words=("Launching",),
    ),
    KnownLine(
        name="headless-engines",
        says="Launching %d data parallel engine(s) in headless mode, with head node address %s.",
        by="headless node",
        often="once on each node but the first",
        check="How many engines this node adds",
        source="vllm/entrypoints/cli/serve.py, run_headless",
        pattern=r"Launching (?P<engines>\d+) data parallel engine\(s\) in headless mode",
        words=("Launching",),
    ),
    KnownLine(
        name="architecture",
        says="Resolved architecture: %s",
        by=API,
        often="once by each API server",
        check="The class that builds the model",
        source="vllm/config/model.py, ModelConfig.__post_init__",
        pattern=r"Resolved architecture: (?P<architecture>\S+)",
    ),
    KnownLine(
        name="max-model-len",
        says="Using max model len %s",
        by=API,
        often="once by each API server",
        check="The length that a full request has in the concurrency that is printed",
        source="vllm/config/model.py, ModelConfig.get_and_verify_max_len",
        pattern=r"Using max model len (?P<len>\d+)",
    ),
    KnownLine(
        name="batched-tokens",
        says="Chunked prefill is enabled with max_num_batched_tokens=%d.",
        by=API,
        often="once by each API server",
        check="The tokens of one step, which size the activations; per engine",
        source="vllm/config/scheduler.py, SchedulerConfig.__post_init__",
        pattern=r"Chunked prefill is enabled with max_num_batched_tokens=(?P<tokens>\d+)\.",
    ),
    KnownLine(
        name="enforce-eager",
        says="Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup.",
        by=API,
        often="once by each process that makes the config",
        level="WARNING",
        check="No graphs: steps at low concurrency are slower",
        source="vllm/config/vllm.py, VllmConfig.__post_init__",
        pattern=r"Enforce eager set, disabling torch\.compile",
        symptom="graphs-off",
    ),
    KnownLine(
        name="engine-config",
        says="Initializing a V1 LLM engine (v%s) with config: %s",
        by="engine core",
        often="once by the first engine",
        check="`dtype`, `quantization`, `kv_cache_dtype` and the widths, as the engine has them",
        source="vllm/v1/engine/core.py, EngineCore.__init__",
        pattern=r"Initializing a V1 LLM engine \(v(?P<version>[^)\s]+)\) with config: "
        r"(?P<config>.*)",
    ),
    KnownLine(
        name="world",
        says="world_size=%d rank=%d local_rank=%d distributed_init_method=%s backend=%s",
        by=EACH,
        often=ONCE,
        check="How many ranks the process group has, and over what it talks",
        source="vllm/distributed/parallel_state.py, init_distributed_environment",
        pattern=r"world_size=(?P<world>\d+) rank=(?P<rank>\d+) local_rank=(?P<local>\d+) ",
        words=("world_size=",),
    ),
    KnownLine(
        name="rank-assigned",
        says="rank %s in world size %s is assigned as DP rank %s, PP rank %s, PCP rank %s, TP rank "
        "%s, ETP rank %s, EP rank %s, EPLB rank %s",
        by=WORKER,
        often="once by each node's first worker",
        check="The coordinates of a rank: a width that did not take shows here",
        source="vllm/distributed/parallel_state.py, initialize_model_parallel",
        pattern=RANK,
    ),
    KnownLine(
        name="nccl-version",
        says="vLLM is using nccl==%s",
        by=WORKER,
        often="once a node",
        check="The NCCL that carries the collectives",
        source="vllm/distributed/device_communicators/pynccl.py, PyNcclCommunicator.__init__",
        pattern=r"vLLM is using nccl==(?P<nccl>\S+)",
    ),
    KnownLine(
        name="custom-allreduce-no-peer",
        says="Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P "
        "test failed. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        by=EACH,
        often=ONCE,
        level="WARNING",
        check="GPUs of a TP group cannot reach each other directly",
        source="vllm/distributed/device_communicators/custom_all_reduce.py, CustomAllreduce",
        words=("Custom",),
        symptom="no-peer-access",
    ),
    KnownLine(
        name="custom-allreduce-pcie",
        says="Custom allreduce is disabled because it's not supported on more than two PCIe-only "
        "GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        by=EACH,
        often=ONCE,
        level="WARNING",
        check="A TP group of more than two GPUs has no NVLink",
        source="vllm/distributed/device_communicators/custom_all_reduce.py, CustomAllreduce",
        words=("Custom",),
        symptom="no-peer-access",
    ),
    KnownLine(
        name="all2all-manager",
        says="Using %s all2all manager.",
        by=WORKER,
        often="once, with expert parallelism",
        check="The back end that carries tokens to experts",
        source="vllm/distributed/device_communicators/cuda_communicator.py, CudaCommunicator",
        pattern=r"Using (?P<manager>\S+) all2all manager\.",
    ),
    KnownLine(
        name="expert-parallel",
        says="[EP Rank %s/%s] Expert parallelism is enabled. Expert placement strategy: %s. "
        "Local/global number of experts: %s/%s. Experts local to global index map: %s.",
        by=WORKER,
        often="once by each node's first worker",
        check="How many experts this rank holds, and where they begin",
        source="vllm/model_executor/layers/fused_moe/expert_map_manager.py, ExpertMapManager",
        pattern=r"\[EP Rank (?P<rank>\d+)/(?P<ranks>\d+)\] Expert parallelism is enabled\. Expert "
        r"placement strategy: (?P<placement>\w+)\. Local/global number of experts: "
        r"(?P<local>\d+)/(?P<all>\d+)\.",
        marker="Expert parallelism is enabled.",
    ),
    KnownLine(
        name="attention-back-end",
        says="Using %s attention backend out of potential backends: %s.",
        by=WORKER,
        often="once a node",
        check="The back end that runs, and with it the block size and whether DCP can",
        source="vllm/platforms/cuda.py, CudaPlatformBase.get_attn_backend_cls",
        pattern=r"Using (?P<backend>\S+) attention backend out of potential backends: ",
    ),
    KnownLine(
        name="layer-split",
        says="Hidden layers were unevenly partitioned: [%s]. This can be manually overridden using "
        "the VLLM_PP_LAYER_PARTITION environment variable",
        by=EACH,
        often="only where the layers do not divide by the stages",
        check="The layers of each stage",
        source="vllm/distributed/utils.py, get_pp_indices",
        pattern=r"Hidden layers were unevenly partitioned: \[(?P<split>\d+(?:, ?\d+)*)\]",
        symptom="stages-uneven",
        marker="Hidden layers were unevenly partitioned",
    ),
    KnownLine(
        name="model-runner",
        says="Using V2 Model Runner",
        by=WORKER,
        often="once a node",
        check="The runner: V2 prints the loading line on every worker, V1 on the first",
        source="vllm/v1/worker/gpu_worker.py, Worker.init_device",
    ),
    KnownLine(
        name="model-runner-v1",
        says="Model Runner V2 does not yet support %s; using the V1 model runner instead.",
        by="every process",
        often=ONCE,
        level="WARNING",
        check="A feature that turns the older runner on",
        source="vllm/config/vllm.py, VllmConfig.use_v2_model_runner",
    ),
    KnownLine(
        name="ray-exceeds-gpus",
        says="Tensor parallel size (%d) exceeds available GPUs (%d). This may result in Ray "
        "placement group allocation failures.",
        by="engine core",
        often="once, with Ray",
        level="WARNING",
        check="Nothing over several nodes: the number is tp times pp times pcp, not tp",
        source="vllm/v1/executor/ray_utils.py, initialize_ray_cluster",
        pattern=r"Tensor parallel size \((?P<world>\d+)\) exceeds available GPUs",
    ),
    KnownLine(
        name="server-ready",
        says="Application startup complete.",
        by=f"{API} (uvicorn)",
        often="once by each API server",
        check="Without it the start failed, whatever memory lines stand above",
        source="uvicorn",
        pattern=r"(?:INFO: +)?Application startup complete\.",
        words=("INFO:", "Application"),
    ),
)
