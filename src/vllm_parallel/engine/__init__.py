"""vLLM's own formats: engine arguments and options in, nouns out."""

from __future__ import annotations

from vllm_parallel.engine.arguments import Arguments
from vllm_parallel.engine.options import Option, nearest, options

__all__ = ["Arguments", "Option", "nearest", "options"]
