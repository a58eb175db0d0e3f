"""The lists of metrics and of result fields: as vLLM has them, each on its page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from vllm_parallel.engine.bench_results.written import METRICS, WRITTEN
from vllm_parallel.engine.metrics.registered import metrics, served_names
from vllm_parallel.engine.metrics.snapshot import READ
from vllm_parallel.render import bench_fields
from vllm_parallel.render import metrics as metrics_page
from vllm_parallel.term import RELEASE

ROOT: Final = Path(__file__).parents[1]
RECORDED: Final = ROOT / "tests" / "oracle" / "recorded" / "bench_fields.json"
REGISTERED: Final = ROOT / "src" / "vllm_parallel" / "engine" / "metrics" / "registered.json"
OURS: Final = {"layout", "gpus", "trial", "run_number"}  # not the client's
OLD: Final = {"vllm:gpu_cache_usage_perc"}
RAYS: Final = {"vllm:num_preemptions", "vllm:generation_tokens", "vllm:prompt_tokens"}


def test_the_release() -> None:
    assert json.loads(REGISTERED.read_text("utf-8"))["release"] == RELEASE


def test_what_is_read_is_registered() -> None:
    """Every name that the reader knows is one of this release, or an older one on purpose."""
    assert READ - served_names() == OLD | RAYS


def test_every_metric_has_a_place() -> None:
    page = metrics_page.reference()
    anchors = [metrics_page.anchor(metric) for metric in metrics().values()]
    assert len(set(anchors)) == len(anchors) > 100
    for metric, anchor in zip(metrics().values(), anchors, strict=True):
        assert f'<h3 id="{anchor}"><code>{metric.name}</code>' in page
    headings = re.findall(r"^## .*\{#(.+)\}$", page, re.MULTILINE)
    assert len(set(headings)) == len(headings)


def expanded(name: str) -> set[str]:
    """A name in the source, with each metric's in the place that waits for it."""
    if "{metric_attribute_name}" not in name:
        return {name}
    name = name.replace("{p_word}", "{P}")
    return {name.replace("{metric_attribute_name}", metric) for metric, *_ in METRICS}


def test_every_field_is_written() -> None:
    """The table has the names that vLLM's source has, and no others."""
    recorded = json.loads(RECORDED.read_text("utf-8"))
    names = [row.name for row in WRITTEN]
    assert len(set(names)) == len(names)
    assert set(names) - OURS == set().union(*map(expanded, recorded))


def test_every_field_has_a_place() -> None:
    page = bench_fields.reference()
    anchors = [row.anchor for row in WRITTEN]
    assert len(set(anchors)) == len(anchors)
    for row in WRITTEN:
        assert f'<h3 id="{row.anchor}"><code>{row.name}</code>' in page
