"""What towers are put together from: linear layers, norms, convolutions."""

from __future__ import annotations

from vllm_parallel.tower import Matrix, Plain, Span, Spread


def column(name: str, into: int, out: int, *, bias: bool = True) -> Matrix:
    """A layer that is cut along what comes out."""
    return Matrix(name=name, out=(Span(out),), into=Span(into), bias=bias)


def row(name: str, into: int, out: int, *, bias: bool = True) -> Matrix:
    """A layer that is cut along what goes in."""
    return Matrix(name=name, out=(Span(out),), into=Span(into), row=True, bias=bias)


def copied(name: str, into: int, out: int, *, bias: bool = True) -> Matrix:
    """A layer that every rank holds whole."""
    return Matrix(name=name, out=(Span(out),), into=Span(into), spread=Spread.WHOLE, bias=bias)


def gate_up(name: str, into: int, width: int, *, bias: bool = True) -> Matrix:
    """Gate and up projection at once."""
    return Matrix(name=name, out=(Span(width),) * 2, into=Span(into), bias=bias)


def qkv(name: str, hidden: int, heads: int, *, bias: bool = True) -> Matrix:
    """Queries, keys and values at once, cut by whole heads."""
    head = Span(heads, hidden // heads)
    return Matrix(name=name, out=(head,) * 3, into=Span(hidden), bias=bias)


def layer_norms(hidden: int, *names: str) -> tuple[Plain, ...]:
    """Norms with a weight and a bias."""
    return tuple(
        Plain(f"{name}.{part}", (hidden,)) for name in names for part in ("weight", "bias")
    )


def rms_norms(hidden: int, *names: str) -> tuple[Plain, ...]:
    """Norms with a weight alone."""
    return tuple(Plain(f"{name}.weight", (hidden,)) for name in names)


def convolution(name: str, shape: tuple[int, ...], *, bias: bool = True) -> tuple[Plain, ...]:
    """The kernel that makes patches, and its bias."""
    weight = Plain(f"{name}.weight", shape)
    return (weight, Plain(f"{name}.bias", shape[:1])) if bias else (weight,)


def projector(name: str, into: int, out: int, *, bias: bool = True) -> tuple[Matrix, Matrix]:
    """Two layers into the language model, always cut over tp.

    Source: vllm/model_executor/models/llava.py, LlavaMultiModalProjector (v0.32.0)
    """
    return (
        Matrix(name=f"{name}.linear_1", out=(Span(out),), into=Span(into),
               spread=Spread.TENSOR, bias=bias),
        Matrix(name=f"{name}.linear_2", out=(Span(out),), into=Span(out),
               spread=Spread.TENSOR, row=True, bias=bias),
    )  # fmt: skip
