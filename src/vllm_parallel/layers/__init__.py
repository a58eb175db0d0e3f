"""The weights of each part of a block, named and shaped as vLLM's own parameters.

`layers.mixer` is imported when a model has one, not before.
"""

from vllm_parallel.layers.attention import attention_weights, latent_copies
from vllm_parallel.layers.mlp import mlp_weights
from vllm_parallel.layers.norms import norm_weights
from vllm_parallel.layers.storage import Storage

__all__ = [
    "Storage",
    "attention_weights",
    "latent_copies",
    "mlp_weights",
    "norm_weights",
]
