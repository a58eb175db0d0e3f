"""The KV cache: dtypes and back ends, block sizes, what each layer keeps, groups and blocks.

`kv.latent` and `kv.hybrid` are imported when a model has such layers, not before.
"""

from vllm_parallel.kv.cache import KvCache
from vllm_parallel.kv.groups import KvGroup
from vllm_parallel.kv.plan import KvPlan
from vllm_parallel.kv.specs import KvKind, KvSpec

__all__ = ["KvCache", "KvGroup", "KvKind", "KvPlan", "KvSpec"]
