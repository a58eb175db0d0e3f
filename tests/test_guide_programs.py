"""The guide's own programs: standard library, short, and equal to the source's ledger."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from vllm_parallel.review import Script

from guided import guide_layouts  # isort: skip

SNIPPETS: Final = Path(__file__).parents[1] / "snippets" / "guide"
ESTIMATE: Final = SNIPPETS / "estimate.py"
# What the deployment guide prints: weights, KV of a token, pools, tokens in one and in all.
LEDGER: Final = {
    "tp8": ("16.4", "40", "1", "1,368,448", "1,368,448"),
    "tp4 pp2": ("16.4", "40", "1", "1,368,448", "1,368,448"),
    "tp4 dp2": ("32.9", "80", "2", "468,770", "937,540"),
}


def test_estimate_prints_the_ledger_of_the_source() -> None:
    ran = subprocess.run(
        [sys.executable, "-I", ESTIMATE], capture_output=True, text=True, check=True
    )
    rows = ran.stdout.splitlines()[1:]
    assert len(rows) == len(LEDGER)
    for line, (name, figures) in zip(rows, LEDGER.items(), strict=True):
        assert line.startswith(name)
        words = line.removeprefix(name).replace("GiB", "").replace("KiB", "").split()
        assert tuple(words) == figures


def test_estimate_counts_a_head_on_each_rank_at_least() -> None:
    """Beyond the KV heads a rank keeps a copy: half the weights, as many bytes a token."""
    program = runpy.run_path(str(ESTIMATE))
    each = program["kv_bytes_per_token"]
    assert [each(tp, 1) for tp in (1, 2, 4, 8, 16)] == [327680, 163840, 81920, 40960, 40960]
    assert each(8, 2) == each(8, 1) // 2


@pytest.mark.parametrize("path", sorted(SNIPPETS.glob("*.py")), ids=lambda path: path.name)
def test_programs_are_short_and_need_nothing(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 40
    names = [
        name
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize("path", sorted(SNIPPETS.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_read_by_bash(path: Path) -> None:
    ran = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_figures_of_the_guide_are_those_of_its_commands() -> None:
    """Pool and engines of each launch that the page shows, read from the script itself."""
    terms = {"gpu": "h100-80gb", "gpus_per_node": 8}
    reviews = Script.of_file(str(SNIPPETS / "launch.sh")).reviews(terms)
    assert len(reviews) == len(guide_layouts) + 2  # and two independent instances
    for one, review in zip(guide_layouts, reviews, strict=False):
        assert review.verdict is not None
        assert review.question is not None
        assert review.verdict.capacity is not None
        deployment = review.question.deployment
        assert deployment.layout == one.deployment.layout
        assert deployment.in_flight_tokens == one.in_flight * one.deployment.max_num_batched_tokens
        assert review.verdict.capacity.tokens == one.engines * one.tokens
    replica, instances = guide_layouts[-1], reviews[len(guide_layouts) :]
    for instance in instances:
        assert instance.verdict is not None
        assert instance.verdict.capacity is not None
        assert instance.verdict.capacity.tokens == replica.tokens


def test_two_nodes_are_accepted() -> None:
    terms = {"gpu": "h100-80gb", "gpus_per_node": 8, "nodes": 2}
    reviews = Script.of_file(str(SNIPPETS / "two-nodes.sh")).reviews(terms)
    assert len(reviews) == 3
    assert [review.errors for review in reviews] == [()] * 3
    assert all(review.passes for review in reviews)


def test_balancer_stands_between_clients_and_instances() -> None:
    """It listens where the shared flags serve, and knows the instances' ports."""
    launch = (SNIPPETS / "launch.sh").read_text("utf-8")
    balancer = (SNIPPETS / "balancer.conf").read_text("utf-8")
    shared, *instances = re.findall(r"--port (\d+)", launch)
    assert re.findall(r"listen 127\.0\.0\.1:(\d+);", balancer) == [shared]
    assert re.findall(r"server 127\.0\.0\.1:(\d+);", balancer) == instances
    assert balancer.count("{") == balancer.count("}")
