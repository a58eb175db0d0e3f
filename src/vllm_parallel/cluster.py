"""The machines: a GPU, how many a node has, how many nodes there are."""

from __future__ import annotations

from vllm_parallel.frozen import dataclass
from vllm_parallel.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU as vLLM sees it.

    `runtime_memory_bytes` is the total that the runtime reports and vLLM multiplies by the
    utilization; `smi_memory_bytes` what `nvidia-smi` shows, None where nobody wrote it down.
    `architecture` is NVIDIA's compute capability times ten, or AMD's `gfx` name.

    Source: vllm/utils/mem_utils.py, MemorySnapshot (v0.32.0)
    """

    name: str
    label: str
    runtime_memory_bytes: int
    smi_memory_bytes: int | None
    architecture: str
    provenance: Provenance
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes of equal GPUs. Without `gpus_per_node` nothing is known of nodes.

    >>> Cluster(gpus_per_node=8, nodes=2).node_of(11)
    1
    """

    gpu: Gpu | None = None
    gpus_per_node: int | None = None
    nodes: int = 1

    def node_of(self, rank: int) -> int | None:
        """Node of a rank, from 0, nodes filled one after the other; None if unknown."""
        return None if self.gpus_per_node is None else rank // self.gpus_per_node
