"""Diagrams, tables and the report: well-formed, escaped, the same every time."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

import pytest
from markdown import Markdown

from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.constraints import RULES, Constraint, Stage
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.provenance import Provenance
from vllm_parallel.render import html, markdown, tables, text
from vllm_parallel.render.report import report
from vllm_parallel.term import RELEASE
from vllm_parallel.verdict import MEMORY_RULES, StageRoom, Verdict

NASTY: Final = "<b>\"&'|`x` ]]> $(rm) \\"

# Tables.


def test_html_escapes() -> None:
    shown = html.table(
        (NASTY, "figure"), [(html.Cell(NASTY), html.computed(NASTY))], caption=NASTY, totals=(0,)
    )
    root = ET.fromstring(shown)
    assert [part.text for part in root.iter() if part.text and part.text.strip()] == [
        NASTY, NASTY, "figure", NASTY, NASTY,
    ]  # fmt: skip
    assert "<b>" not in shown
    assert [part.attrib.get("class") for part in root.iter("th")] == [None, "num"]
    assert [part.attrib.get("class") for part in root.iter("td")] == [None, "num computed"]
    assert [part.attrib.get("class") for part in root.iter("tr")] == [None, "total"]


def test_html_marks_provenance() -> None:
    for provenance in Provenance:
        assert html.Cell("1", provenance).html() == f'<td class="num {provenance.value}">1</td>'
    assert html.Cell("1").html("th") == "<th>1</th>"


def test_markdown_tables() -> None:
    """A bar in a cell is no column; code spans hold any run of backticks."""
    shown = markdown.table(("a", "b|c"), [("1|2", "x"), (NASTY, "")], right=(1,))
    lines = shown.split("\n")
    assert lines[0] == r"| a | b\|c |"
    assert lines[1] == "|---|---:|"
    assert lines[2] == r"| 1\|2 | x |"
    assert all(line.replace(r"\|", "").count("|") == 3 for line in lines)
    assert markdown.code("a") == "`a`"
    assert markdown.code("a`b") == "`` a`b ``"
    assert markdown.code("``") == "``` `` ```"
    assert markdown.code("two\nlines") == "`two lines`"


@pytest.mark.parametrize("cell", ["a|b", "a b", markdown.code("a|b"), markdown.code("*a*|<b>")])
def test_markdown_cells_show_what_they_hold(cell: str) -> None:
    """A cell is one cell, and a code span shows its text."""
    shown = Markdown(extensions=["tables"]).convert(markdown.table(("head",), [(cell,)]))
    cells = list(ET.fromstring(shown).iter("td"))
    assert len(cells) == 1
    assert "".join(cells[0].itertext()) in (cell, cell.strip("`"))
    assert all(part.tag == "code" for part in cells[0])


def test_terminal_tables() -> None:
    rows = [("a", "bbb", ""), ("aaaa", "b", "c")]
    assert text.table(rows, right=(1,), indent=1) == " a     bbb\n aaaa    b  c"


@pytest.mark.parametrize("stage", list(Stage))
def test_tables_of_rules(stage: Stage) -> None:
    """Every rule of a stage once, its sentence escaped, its source named."""
    shown = tables.rules(stage)
    root = ET.fromstring(f"<div>{shown.replace('<br>', '<br/>')}</div>")
    names = [part.attrib["id"] for part in root.iter("h3")]
    rules: list[Constraint[Deployment] | Constraint[StageRoom]] = [*RULES, *MEMORY_RULES]
    assert names == [rule.name for rule in rules if rule.stage is stage]
    for rule in rules:
        if rule.stage is stage:
            assert rule.source in shown
            assert rule.known.value in shown


# The report.

ACCEPTED: Final = f"""\
mixtral-8x7b as tp2 dp2 ep: 4 ranks
vLLM {RELEASE} accepts it.

Memory of the fullest rank of each stage
                                  rank 0
  may use                      72.85 GiB  of H100 80GB SXM, utilization 0.92
  weights                      22.50 GiB  computed
  buffers                       0.01 GiB  computed
  allocator rounding            0.02 GiB  computed
  sampler or forward peak       0.26 GiB  computed, 0.26–0.29
  sampler state                 0.15 GiB  computed
  expert scratch                2.62 GiB  computed
  communication and runtime     2.17 GiB  assumed, 0.53–2.75
  CUDA graphs                   1.26 GiB  assumed, 0.86–2.62
  left for KV                  43.86 GiB  41.90–45.91
  one block                  1,048,576 B  of 16 tokens

KV cache of one engine
  tokens             718,672  in 44,917 blocks, one kept back
  concurrency         21.93×  of 32,768 tokens
  longest request     32,768  tokens
  service          1,437,344  tokens in 2 pools

Groups of rank 0
  tp  2  0, 1  inside a node
  dp  2  0, 2  inside a node
  ep  4  0–3   inside a node

Launch
  vllm serve "$MODEL" \\
    --tensor-parallel-size 2 \\
    --data-parallel-size 2 \\
    --enable-expert-parallel"""
STAGES: Final = f"""\
llama-3.1-8b as tp1 pp3: 3 ranks
vLLM {RELEASE} accepts it.

Memory of the fullest rank of each stage
                                rank 0     rank 1     rank 2
  weights                     5.45 GiB   4.47 GiB   5.04 GiB  computed
  buffers                     0.03 GiB   0.03 GiB   0.03 GiB  computed
  allocator rounding          0.00 GiB   0.00 GiB   0.00 GiB  computed
  sampler or forward peak     0.24 GiB   0.24 GiB   0.24 GiB  computed
  sampler state               0.00 GiB   0.00 GiB   0.13 GiB  computed
  pipeline buffers            0.05 GiB   0.03 GiB   0.03 GiB  computed
  communication and runtime   0.07 GiB   0.07 GiB   0.07 GiB  assumed, 0.05–0.25
  CUDA graphs                 0.56 GiB   0.56 GiB   0.55 GiB  assumed, 0.42–1.09
  one block                  720,896 B  720,896 B  655,360 B  of 16 tokens

Groups of rank 0
  pp  3  0–2  inside a node

Launch
  vllm serve "$MODEL" \\
    --pipeline-parallel-size 3"""
TWIN: Final = f"""\
kimi-k2, unquantised (fp8 left out), as tp8 pp2: 16 ranks
vLLM {RELEASE} refuses it at config: World size (16) is larger than the number of available GPUs \
(8) in this node. If this is intentional and you are using:
- ray, set '--distributed-executor-backend ray'.
- multiprocessing, set '--nnodes' appropriately.
Way out: use at most 8 for tp x pp x pcp, or give --nnodes"""
REFUSED: Final = f"""\
llama-3.1-70b as tp8 dcp3: 8 ranks
vLLM {RELEASE} refuses it at config: tp_size=8 must be divisible by dcp_size=3.
Way out: use a --decode-context-parallel-size of 1, 2, 4, 8"""


@pytest.mark.parametrize(
    "name, layout, gpu, golden",
    [
        ("mixtral-8x7b", Layout(tp=2, dp=2, expert_parallel=True), "h100-80gb", ACCEPTED),
        ("llama-3.1-8b", Layout(pp=3), None, STAGES),
        ("llama-3.1-70b", Layout(tp=8, dcp=3), "h200", REFUSED),
        ("kimi-k2", Layout(tp=8, pp=2), None, TWIN),
    ],
)
def test_report(name: str, layout: Layout, gpu: str | None, golden: str) -> None:
    deployment = Deployment(
        model=load_model(name, as_bf16=True),
        layout=layout,
        cluster=Cluster(gpu=None if gpu is None else load_gpu(gpu), gpus_per_node=8),
    )
    assert report(deployment, Verdict.of(deployment), '"$MODEL"') == golden


def test_report_of_a_deployment_without_room() -> None:
    """Refused for want of memory: the ledger says why, and the command is still there."""
    deployment = Deployment(
        model=load_model("llama-3.1-70b"),
        layout=Layout(),
        cluster=Cluster(gpu=load_gpu("h100-80gb")),
    )
    shown = report(deployment, Verdict.of(deployment), "m")
    assert (
        f"vLLM {RELEASE} refuses it at memory: No available memory for the cache blocks." in shown
    )
    assert "\n  left for KV                 -63.10 GiB  -64.96 to -62.50\n" in shown
    assert "KV cache of one engine" not in shown
    assert shown.endswith("Groups\n  every rank is alone\n\nLaunch\n  vllm serve m")
