"""The weights of each part of a block, named and shaped as vLLM's own parameters."""

from vllm_parallel.layers.attention import attention_weights, latent_copies
from vllm_parallel.layers.mixer import mixer_buffers, mixer_weights
from vllm_parallel.layers.mlp import mlp_weights
from vllm_parallel.layers.norms import norm_weights
from vllm_parallel.layers.storage import Storage

__all__ = [
    "Storage",
    "attention_weights",
    "latent_copies",
    "mixer_buffers",
    "mixer_weights",
    "mlp_weights",
    "norm_weights",
]
