"""vLLM's own formats: engine arguments, options and commands in, nouns out.

What reads and writes commands is imported from its own module: an answer needs none of it.
"""

from __future__ import annotations

from vllm_parallel.engine.arguments import Arguments
from vllm_parallel.engine.options import Option, nearest, options

__all__ = ["Arguments", "Option", "nearest", "options"]
