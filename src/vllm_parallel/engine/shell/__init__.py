"""Shell text, as far as commands are found in it: words, variables, loops, functions."""

from __future__ import annotations

from vllm_parallel.engine.shell.runner import Shell
from vllm_parallel.engine.shell.words import Word

__all__ = ["Shell", "Word"]
