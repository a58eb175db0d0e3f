"""Whether vLLM accepts a layout, and in which words it does not."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path

from vllm.config import VllmConfig
from vllm.engine.arg_utils import EngineArgs

from children import Refusal, attempt
from questions import Question, QuestionError, Row, write_config
from reach import ON_CUDA, check_config, check_refusal

KNOWN = frozenset(field.name for field in dataclasses.fields(EngineArgs))
FIXED: Row = {
    "skip_tokenizer_init": True,
    "load_format": "dummy",
    "enforce_eager": True,
}
# CUDA's default for most back ends; the CPU's is 128.
BLOCK_SIZE = 16


def engine_config(question: Question, root: Path) -> VllmConfig | Refusal:
    """vLLM's own config for a question, or its refusal.

    Raises:
        QuestionError: An argument is not vLLM's, the model's config cannot be read, or only CUDA
            can answer.
    """
    unknown = sorted(set(question.args) - KNOWN)
    if unknown:
        close = ", ".join(difflib.get_close_matches(unknown[0], KNOWN)) or "none"
        raise QuestionError(f"unknown argument {unknown[0]!r}; close: {close}")
    dtype = {"dtype": "bfloat16"} if question.as_bf16 else {}
    block = {} if ON_CUDA else {"block_size": BLOCK_SIZE}
    args = (
        FIXED | block | dtype | question.args | {"model": str(write_config(question.config, root))}
    )
    config = attempt(lambda: EngineArgs(**args).create_engine_config(), "config")
    if isinstance(config, Refusal):
        check_refusal(question, config)
    else:
        check_config(question, config)
    if not (ON_CUDA or isinstance(config, Refusal)):
        undo_cpu_choices(config, args)
    return config


def undo_cpu_choices(config: VllmConfig, args: Row) -> None:
    """Gives back what the CPU platform takes from every config and CUDA leaves as asked."""
    config.cache_config.block_size = args["block_size"]
    # Decides how many batches are in flight, so how many blocks a window layer needs.
    config.scheduler_config.async_scheduling = args.get("async_scheduling") is not False


def verdict(question: Question, root: Path) -> list[Row]:
    """The row of `verdicts.jsonl`."""
    config = engine_config(question, root)
    if isinstance(config, Refusal):
        return [{"accepted": False, "message": config.message}]
    return [{"accepted": True, "message": None}]
