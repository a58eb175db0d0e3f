"""Rules of a model against a layout, worded as in vLLM's `config/model.py`."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case, llama, without_pipeline

MODEL_CASES: Final = (
    Case(
        rule="heads-divide-by-tp",
        model="llama-3.1-70b",
        fails={"tp": 6},
        passes=({"tp": 8}, {"tp": 64}),
        says="Total number of attention heads (64) must be divisible by tensor parallel size (6).",
        fix="use a --tensor-parallel-size of 1, 2, 4, 8, 16, 32, 64",
    ),
    Case(
        rule="heads-divide-by-tp",
        model="deepseek-v2-lite",
        fails={"tp": 32},
        passes=({"tp": 16},),
        says="Total number of attention heads (16) must be divisible by tensor parallel size (32).",
        fix="use a --tensor-parallel-size of 1, 2, 4, 8, 16",
    ),
    Case(
        rule="ep-needs-experts",
        model="llama-3.1-70b",
        fails={"tp": 8, "ep": True},
        passes=({"tp": 8}, {"tp": 8, "ep": False}),
        says="Number of experts in the model must be greater than 0 when expert parallelism is "
        "enabled.",
        fix="drop --enable-expert-parallel: llama-3.1-70b is dense",
    ),
    Case(
        rule="pp-supported",
        model=without_pipeline(),
        fails={"pp": 2},
        passes=({"pp": 1}, {"tp": 2}),
        says="Pipeline parallelism is not supported for this model. Supported models implement "
        "the `SupportsPP` interface.",
        fix="use --pipeline-parallel-size 1",
    ),
    Case(
        rule="dcp-needs-tp-above-kv-heads",
        model="llama-3.1-70b",
        fails={"tp": 8, "dcp": 2},
        passes=({"tp": 8, "dcp": 1}, {"tp": 16, "dcp": 2}),
        says="Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (8) to be "
        "greater than the model's total number of KV heads (8). Increase "
        "`--tensor-parallel-size` or set `--decode-context-parallel-size 1`.",
        fix="drop --decode-context-parallel-size: no KV head is held twice at tp=8",
    ),
    Case(
        rule="dcp-at-most-copies",
        model="llama-3.1-70b",
        fails={"tp": 16, "dcp": 4},
        passes=({"tp": 16, "dcp": 2}, {"tp": 32, "dcp": 4}),
        says="`--decode-context-parallel-size` (4) exceeds the maximum supported value (2) for "
        "`--tensor-parallel-size` (16) and 8 model KV heads.",
        fix="use a --decode-context-parallel-size of at most 2",
    ),
    Case(
        rule="queries-divide-by-dcp",
        model=llama("six-queries"),
        fails={"tp": 48, "dcp": 4},
        passes=({"tp": 48, "dcp": 6}, {"tp": 48, "dcp": 3}),
        says="The model's number of query heads per KV head (6) must be divisible by "
        "`--decode-context-parallel-size` (4) for GQA/MQA.",
        fix="use a --decode-context-parallel-size of 1, 2, 3, 6",
    ),
)
