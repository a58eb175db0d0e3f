"""The parts of the overhead, by arithmetic written out; batches as the measured launches had."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final

import pytest

from vllm_parallel.block import DenseMlp
from vllm_parallel.catalog import load_gpu, load_model
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Budget, Ledger
from vllm_parallel.overhead import COEFFICIENTS, overhead_spans, overhead_terms
from vllm_parallel.overhead.coefficients import V19, V32
from vllm_parallel.overhead.encoder import held_bytes, tower_peak
from vllm_parallel.overhead.graphs import capture_sizes, graph_bytes
from vllm_parallel.overhead.parts import communication
from vllm_parallel.overhead.peaks import (
    expert_scratch,
    forward_peak,
    sampler_peak,
    sampler_state,
    stage_buffers,
)
from vllm_parallel.overhead.repacking import repacked_bytes
from vllm_parallel.overhead.rounding import rounding_bytes, sizes_of
from vllm_parallel.overhead.segments import allocated_bytes, tensors_of
from vllm_parallel.provenance import Provenance
from vllm_parallel.settings import Settings
from vllm_parallel.shard import Shard
from vllm_parallel.term import Span, Term
from vllm_parallel.units import GIB, KIB, MIB

T: Final = 8192
S: Final = 1024
BATCH: Final = Settings(max_num_batched_tokens=T, max_num_seqs=S, max_model_len=8192)
H100: Final = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
SAMPLER_REST: Final = 42_949_673  # 0.040 GiB
FORWARD_REST: Final = 15_032_386  # 0.014 GiB


def shard(name: str, layout: Layout, rank: int = 0, settings: Settings = BATCH) -> Shard:
    model = load_model(name, as_bf16=True)
    deployment = Deployment(model=model, layout=layout, settings=settings, cluster=H100)
    return Shard.of(deployment, rank)


@pytest.mark.parametrize(
    "name, layout, rank, expected",
    [
        # Hidden states of T and of S tokens, logits in BF16 and three times in fp32, 132 rows.
        (
            "llama-3.1-8b", Layout(), 0,
            (T + S) * 4096 * 2 + S * 128256 * (2 + 3 * 4) + 132 * 128256 * 4,
        ),
        ("llama-3.1-8b", Layout(pp=2), 0, None),  # tokens are drawn on the last stage only
        (
            "llama-3.1-8b", Layout(pp=2), 1,
            (T + S) * 4096 * 2 + S * 128256 * (2 + 3 * 4) + 132 * 128256 * 4,
        ),
        (
            "mixtral-8x7b", Layout(tp=2), 1,
            (T + S) * 4096 * 2 + S * 32000 * (2 + 3 * 4) + 132 * 32000 * 4,
        ),
    ],
)  # fmt: skip
def test_sampler_of_0_19(name: str, layout: Layout, rank: int, expected: int | None) -> None:
    found = sampler_peak(shard(name, layout, rank), V19)
    assert found == Span.exactly(0 if expected is None else expected + SAMPLER_REST)


@pytest.mark.parametrize(
    "layout, likely, most",
    [
        (Layout(), 2, 2 + 4),  # the logits alone; at most once more in fp32
        (Layout(tp=2), 1 + 2 + 2, 2 + 4),  # a half, both halves, both in order
        (Layout(tp=8), 0.25 + 2 + 2, 2 + 4),
    ],
)
def test_sampler_of_0_32(layout: Layout, likely: float, most: int) -> None:
    """Bytes for each logit; profiling samples no request that needs fp32 logits."""
    logits, held = S * 128256, (T + S) * 4096 * 2 + SAMPLER_REST
    found = sampler_peak(shard("llama-3.1-8b", layout), V32)
    assert found.likely == found.least == held + round(logits * likely)
    assert found.most == held + logits * most


@pytest.mark.parametrize(
    "name, layout, rank, words",
    [
        # A count and two bits for each token of the vocabulary, then the lists' places.
        ("llama-3.1-8b", Layout(tp=2), 0, 128256 + 2 * 4008 + 3 * 1024 + 128 + 1024 + 129),
        ("llama-3.1-8b", Layout(pp=2), 0, 0),
        ("mixtral-8x7b", Layout(pp=2), 1, 32000 + 2 * 1000 + 3 * 1024 + 128 + 1024 + 129),
    ],
)
def test_sampler_state(name: str, layout: Layout, rank: int, words: int) -> None:
    """On the last stage of 0.32.0, for all S sequences in int32; 0.19.0 keeps none."""
    one = shard(name, layout, rank)
    assert sampler_state(one) == S * words * 4
    kept = {
        release: term.bytes
        for release, known in COEFFICIENTS.items()
        for term in overhead_terms(overhead_spans(one, known), known)
        if term.name == "sampler state"
    }
    assert kept == {"0.19.0": 0, "0.32.0": S * words * 4}


@pytest.mark.parametrize(
    "name, layout, row",
    [
        ("llama-3.1-8b", Layout(), 3 * 14336 + 4 * 4096),
        ("llama-3.1-8b", Layout(tp=4), 3 * 3584 + 4 * 4096),
        ("mixtral-8x7b", Layout(tp=2), 4 * 4096),  # only routed experts, which have scratch
        ("deepseek-v2-lite", Layout(tp=2), 3 * 5472 + 4 * 2048),  # its one dense layer
        ("deepseek-v2-lite", Layout(pp=3), 3 * 10944 + 4 * 2048),
        ("glm-4.5", Layout(pp=4), 3 * 12288 + 4 * 5120),  # three dense layers on the first stage
    ],
)
def test_forward(name: str, layout: Layout, row: int) -> None:
    assert forward_peak(shard(name, layout), V19) == T * row * 2 + FORWARD_REST


def test_forward_without_a_gate() -> None:
    """Llama's widths with one matrix up, as Phi's."""
    gated = load_model("llama-3.1-8b")
    block = replace(gated.kinds[0], mlp=DenseMlp(intermediate=14336, gated=False))
    deployment = Deployment(
        model=replace(gated, kinds=(block,)), layout=Layout(), settings=BATCH, cluster=H100
    )
    found = forward_peak(Shard.of(deployment, 0), V19)
    assert found == T * (2 * 14336 + 4 * 4096) * 2 + FORWARD_REST


def test_forward_of_shared_experts() -> None:
    """Stage 1 of 3 has no dense layer: two shared experts of 1408 columns."""
    found = forward_peak(shard("deepseek-v2-lite", Layout(pp=3), 1), V19)
    assert found == T * (3 * 2816 + 4 * 2048) * 2 + FORWARD_REST


@pytest.mark.parametrize(
    "name, layout, rows, width",
    [
        ("llama-3.1-8b", Layout(), 0, 0),
        ("mixtral-8x7b", Layout(tp=2), T * 2, 7168 + 2 * 7168),
        ("mixtral-8x7b", Layout(tp=8), T * 2, 4096 + 4096),  # narrower than the hidden size
        ("mixtral-8x7b", Layout(tp=2, expert_parallel=True), T * 2, 14336 + 2 * 14336),
        ("mixtral-8x7b", Layout(tp=2, dp=2), 2 * T * 2, 4096 + 2 * 3584),  # tokens of both replicas
        ("deepseek-v2-lite", Layout(), T * 6, 2048 + 2 * 1408),
    ],
)
def test_expert_scratch(name: str, layout: Layout, rows: int, width: int) -> None:
    assert expert_scratch(shard(name, layout)) == rows * width * 2


@pytest.mark.parametrize(
    "layout, width, packed",
    [
        (Layout(), 2880, (1440, 1472)),
        (Layout(tp=2), 1472, (736, 768)),  # 1440 columns in whole 64
        (Layout(tp=8), 384, (192, 192)),
        (Layout(tp=8, dp=2), 192, (96, 128)),
    ],
)
def test_repacked_experts(layout: Layout, width: int, packed: tuple[int, int]) -> None:
    """36 layers of gpt-oss: 128 experts, 2880 wide, two numbers a byte and a scale for 32."""
    deployment = Deployment(
        model=load_model("gpt-oss-120b"), layout=layout, settings=BATCH, cluster=H100
    )
    one = Shard.of(deployment, 0)
    up, down = 128 * 2 * width, 128 * 2880  # rows of both matrices
    values = up * (1472 - 1440) + down * (packed[1] - packed[0])
    biases = (up + down) * 2
    scales = up * 90 + down * (width // 32)
    padding = up * 2 + down * (-(width // 32) % 4)  # 90 scales in whole 4
    assert repacked_bytes(one, V19) == 36 * (values + biases + scales)
    assert repacked_bytes(one, V32) == 36 * (values + biases + padding)
    assert expert_scratch(one) == 0


def test_nothing_else_is_repacked() -> None:
    for name in ("mixtral-8x7b", "gpt-oss-120b"):  # the latter as its BF16 twin
        assert repacked_bytes(shard(name, Layout(tp=2)), V19) == 0
        assert expert_scratch(shard(name, Layout(tp=2))) > 0


@pytest.mark.parametrize(
    "layout, rank, tensors", [(Layout(), 0, 0), (Layout(pp=4), 0, 3), (Layout(pp=4), 3, 2)]
)
def test_stage_buffers(layout: Layout, rank: int, tensors: int) -> None:
    assert stage_buffers(shard("llama-3.1-8b", layout, rank)) == tensors * T * 4096 * 2


@pytest.mark.parametrize(
    "tensors, kept, segments",
    [
        ([224 * MIB], 0, 0),
        ([231 * MIB], MIB, MIB),  # 1 MiB left stays with its tensor
        ([231 * MIB - 512], 0, MIB + 512),  # more than that is free again
        ([11 * MIB + 512 * KIB], 512 * KIB, 512 * KIB),
        ([3 * MIB, 5 * MIB], 0, 12 * MIB),  # both in one segment of 20 MiB
        ([8 * KIB] * 3, 0, 2 * MIB - 24 * KIB),
    ],
)
def test_rounding(tensors: list[int], kept: int, segments: int) -> None:
    """What torch counts as allocated, and what the GPU has no more."""
    assert allocated_bytes(tensors) - sum(tensors) == kept
    assert sizes_of(tensors).rounding == segments


def placed_slowly(tensors: list[int]) -> int:
    """Every free block looked at for each tensor, segments kept as lists of what is in them."""
    blocks: list[list[int]] = []  # size, kind, taken
    total = 0
    for tensor in tensors:
        size = -(-tensor // 512) * 512
        kind = 0 if size <= MIB else 1
        fitting = [b for b in blocks if b[1] == kind and not b[2] and b[0] >= size]
        if not fitting:
            whole = 2 * MIB if kind == 0 else max(20 * MIB, size) if size < 10 * MIB else 0
            fitting = [[whole or -(-size // (2 * MIB)) * 2 * MIB, kind, 0]]
            blocks += fitting
        block = min(fitting, key=lambda one: one[0])
        block[2] = 1
        if block[0] - size >= (512 if kind == 0 else MIB + 1):
            blocks.append([block[0] - size, kind, 0])
            block[0] = size
        total += block[0]
    return total


@pytest.mark.parametrize("seed", range(8))
def test_allocator_against_a_slow_one(seed: int) -> None:
    dice = random.Random(seed)
    tensors = [dice.choice((dice.randrange(1, 3 * MIB), dice.randrange(1, 40 * MIB)))
               for _ in range(400)]  # fmt: skip
    assert allocated_bytes(tensors) == placed_slowly(tensors)


def test_rounding_of_a_rank() -> None:
    """Mixtral tp 2: only its table of 32000 halves, 125 MiB, is no whole number of 2 MiB."""
    ends = 2 * MIB  # embedding and head
    assert rounding_bytes(shard("mixtral-8x7b", Layout(tp=2)), whole_segments=False) == ends
    table, router, norms = 8 * MIB, 32 * 8 * 4096 * 2, 65 * 4096 * 2
    segments = rounding_bytes(shard("mixtral-8x7b", Layout(tp=2)), whole_segments=True)
    assert segments == ends + (-table % (20 * MIB)) + (-(router + norms) % (2 * MIB))


@pytest.mark.parametrize(
    "name, layout, likely, most",
    [
        ("llama-3.1-8b", Layout(), 0.25, 0.5),
        ("llama-3.1-8b", Layout(dp=2), 0.25, 0.5),  # two engines that exchange nothing
        ("llama-3.1-8b", Layout(pp=2), 0.07, 0.25),
        ("llama-3.1-8b", Layout(tp=2), 0.07 + 2.01, 0.25 + 2.3),
        ("llama-3.1-8b", Layout(tp=4, pp=2), 0.07 + 2.10, 0.25 + 2.5),
        ("llama-3.1-8b", Layout(tp=8), 0.07 + 2.10, 0.25 + 2.5 + 0.49),
        ("mixtral-8x7b", Layout(dp=2), 0.07 + 2.01, 0.25 + 2.3),
    ],
)
def test_communication(name: str, layout: Layout, likely: float, most: float) -> None:
    found = communication(shard(name, layout), V32)
    assert found.likely == pytest.approx(likely * GIB, abs=2)
    assert found.most == pytest.approx(most * GIB, abs=4)


@pytest.mark.parametrize(
    "settings, count, largest",
    [
        (BATCH, 51, 512),
        (Settings(max_num_batched_tokens=T, max_num_seqs=128), 35, 256),
        (Settings(max_num_batched_tokens=T, max_num_seqs=1), 2, 2),
        (Settings(max_num_batched_tokens=300, max_num_seqs=256), 38, 300),
        (Settings(max_num_batched_tokens=T, enforce_eager=True), 0, None),
    ],
)
def test_capture_sizes(settings: Settings, count: int, largest: int | None) -> None:
    found = capture_sizes(shard("llama-3.1-8b", Layout(), settings=settings).deployment)
    assert (len(found), found[-1] if found else None) == (count, largest)


def test_capture_sizes_of_gpt_oss() -> None:
    """Up to 1024, though twelve sequences need none of them."""
    few = Settings(max_num_batched_tokens=T, max_num_seqs=12)
    found = capture_sizes(shard("gpt-oss-120b", Layout(), settings=few).deployment)
    assert (len(found), found[-1]) == (83, 1024)


def test_graphs() -> None:
    """32 layers over 51 sizes, and 32 splits of 32 heads of 128 for the largest batch."""
    assert V32.graphs is not None
    found = graph_bytes(shard("llama-3.1-8b", Layout()), V32.graphs)
    assert found.likely == round(0.14 * GIB) + 32 * 16 * MIB + 512 * 32 * 128 * 32 * 4
    experts = graph_bytes(shard("mixtral-8x7b", Layout(tp=2)), V32.graphs)
    assert experts.likely == round(0.14 * GIB) + 64 * 16 * MIB + 512 * 16 * 128 * 32 * 4
    eager = shard("mixtral-8x7b", Layout(), settings=Settings(enforce_eager=True))
    assert graph_bytes(eager, V32.graphs) == Span.exactly(0)


def test_terms_say_what_they_are() -> None:
    """Every release has the same terms; only those of 0.19.0 were measured."""
    names = [
        "repacked experts", "allocator rounding", "sampler or forward peak", "sampler state",
        "images", "expert scratch", "pipeline buffers", "communication and runtime", "CUDA graphs",
    ]  # fmt: skip
    one = shard("mixtral-8x7b", Layout(tp=2, pp=2))
    for release, known in COEFFICIENTS.items():
        terms = overhead_terms(overhead_spans(one, known), known)
        assert [term.name for term in terms] == names
        assert {term.release for term in terms} == {release}
        assert all(known.standing in term.source for term in terms)
        for term in terms:
            assert term.range.least <= term.bytes == term.range.likely <= term.range.most
    last = {term.name: term.provenance for term in overhead_terms(overhead_spans(one, V32), V32)}
    assert last["communication and runtime"] is last["CUDA graphs"] is Provenance.ASSUMED
    assert V32.standing == "computed, no 0.32 GPU launch behind it"
    assert (
        overhead_terms(overhead_spans(one, V19), V19)[-1].bytes == 0
    )  # 0.19 captures outside the budget


def test_peak_is_the_larger_one() -> None:
    """The first of two stages draws no tokens; the last holds more for its logits."""
    for rank, peak in ((0, forward_peak), (1, sampler_peak)):
        one = shard("llama-3.1-8b", Layout(pp=2), rank)
        term = overhead_terms(overhead_spans(one, V19), V19)[2]
        found = peak(one, V19)
        assert term.bytes == (found if isinstance(found, int) else found.likely)


def test_range_of_a_budget() -> None:
    """Least is left where every term takes most."""
    budget = Budget.of(Ledger.of(shard("llama-3.1-8b", Layout(tp=2))), load_gpu("h100-80gb"))
    terms = [term.range for term in budget.ledger.terms]
    assert budget.available == Span(
        least=budget.requested_bytes - sum(one.most for one in terms),
        likely=budget.available_kv_bytes,
        most=budget.requested_bytes - sum(one.least for one in terms),
    )
    assert budget.available.least < budget.available.likely < budget.available.most


def test_term_without_a_range() -> None:
    term = Term(name="weights", bytes=7, provenance=Provenance.COMPUTED, source="this test")
    assert term.range == Span(least=7, likely=7, most=7)
    assert Span(least=1, likely=2, most=9).or_more(Span.exactly(4)) == Span(
        least=4, likely=4, most=9
    )


@pytest.mark.parametrize(
    "name, layout, rank, held, peak",
    [
        # 3 x 14 x 14 numbers a patch; the tower's outputs replace what it needed.
        ("gemma-3-4b", Layout(), 0, 2560 + 16 * 588, 16 * (2 * 4304 + 4 * 1152) - 2560),
        ("gemma-3-4b", Layout(tp=2), 0, 2560 + 16 * 588, 16 * (4304 + 4 * 1152) - 2560),
        # Two frames a patch; gate, up and their product.
        ("qwen2.5-vl-7b", Layout(), 0, 3584 + 4 * 1176, 4 * (3 * 3420 + 4 * 1280) - 3584),
        ("qwen2.5-vl-7b", Layout(pp=2), 1, 0, 0),  # images go through the first stage
        ("llama-3.1-8b", Layout(), 0, 0, 0),
    ],
)
def test_images(name: str, layout: Layout, rank: int, held: int, peak: int) -> None:
    one = shard(name, layout, rank)
    assert held_bytes(one) == T * held * 2
    assert tower_peak(one) == Span(least=0, likely=T * peak * 2, most=T * peak * 3)


def test_tensors_of_a_rank() -> None:
    """All of them, each as often as the rank holds it."""
    one = shard("deepseek-v2-lite", Layout(tp=2, pp=3), 4)
    placed = sorted(tensors_of(one))
    weights = [
        weight.bytes(one.cut)
        for layer, count in one.layers.items()
        for weight in (*layer.weights, *layer.copies, *layer.buffers)
        for _ in range(count)
    ]
    assert placed == sorted([*weights, 163840 * 64 * 2])
