"""The `step` of a question: an engine's batch, or what one rank sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.collectives import Batch, EngineBatch, Exchange
from vllm_parallel.dtype import Dtype
from vllm_parallel.engine import nearest
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.layout import Layout
from vllm_parallel.price.step import PARTS, StepPrice

Json = Mapping[str, object]
OF_ENGINE: Final = ("prefill", "decode")
OF_RANK: Final = (
    "tokens", "sampled", "decode_tokens", "tokens_across_dp", "any_request_has_context",
    "moe_kernel", "dispatch_dtype",
)  # fmt: skip
KERNELS: Final = ("modular", "monolithic")
MAX_TOKENS: Final = 2**40


def read_step(step: object, layout: Layout) -> EngineBatch | Batch:
    """What is in the step that a question asks about.

    Raises:
        ParseError: a key, a type or a range is wrong.

    >>> read_step({"tokens": 8}, Layout()).sampled
    8
    >>> read_step({"prefill": [[512, 0]], "decode": [1000, 2000]}, Layout()).tokens
    514
    """
    if not isinstance(step, Mapping):
        raise _wrong("step", step, "an object")
    for key in step:
        if key not in (*OF_ENGINE, *OF_RANK):
            raise ParseError(
                place=f"step: {shortened(key)}",
                problem="is not part of a step",
                fix=nearest(str(key), [*OF_ENGINE, *OF_RANK]),
            )
    of_engine = [key for key in OF_ENGINE if key in step]
    of_rank = [key for key in OF_RANK if key in step]
    if of_engine and of_rank:
        raise ParseError(
            place="step",
            problem=f"has {of_engine[0]!r} of an engine beside {of_rank[0]!r} of a rank",
            fix="give either",
        )
    return _engine(step) if of_engine else _rank(step, layout)


def share(step: EngineBatch | Batch, layout: Layout) -> Batch:
    """What the rank that is asked about sees."""
    return step.share(layout) if isinstance(step, EngineBatch) else step


def exchange_rows(exchanges: tuple[Exchange, ...]) -> list[dict[str, object]]:
    """The calls of every stage, a row each."""
    return [
        {
            "stage": exchange.stage,
            "group": call.group.value,
            "kind": call.kind.value,
            "count": call.count,
            "bytes": call.bytes,
            "dtype": call.dtype.value,
            "shape": list(call.shape),
            "device": call.device.value,
            "where": call.where,
        }
        for exchange in exchanges
        for call in exchange.calls
    ]


def price_row(price: StepPrice) -> dict[str, object]:
    """The seconds of each part, all together, and the part that binds."""
    row: dict[str, object] = {part: getattr(price, part) for part in PARTS}
    return row | {"total": price.total, "bound_by": price.bound_by}


def _engine(step: Json) -> EngineBatch:
    pairs = []
    for pair in _list(step, "prefill"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise _wrong("step: prefill", pair, "pairs of new and cached tokens")
        pairs.append((_whole("step: prefill", pair[0], least=1), _whole("step: prefill", pair[1])))
    decode = [_whole("step: decode", context, least=1) for context in _list(step, "decode")]
    return EngineBatch(prefill=tuple(pairs), decode=tuple(decode))


def _rank(step: Json, layout: Layout) -> Batch:
    if "tokens" not in step:
        raise _wrong("step: tokens", None, "given, or prefill and decode")
    tokens = _whole("step: tokens", step["tokens"])
    kernel = step.get("moe_kernel", KERNELS[0])
    if kernel not in KERNELS:
        raise _wrong("step: moe_kernel", kernel, " or ".join(KERNELS))
    return Batch(
        tokens=tokens,
        sampled=_whole("step: sampled", step.get("sampled", tokens)),
        decode_tokens=_at_most(tokens, step.get("decode_tokens", tokens)),
        tokens_across_dp=_across(step, tokens, layout),
        any_request_has_context=_flag("any_request_has_context", step),
        monolithic_experts=kernel == "monolithic",
        dispatch_dtype=_dtype(step.get("dispatch_dtype")),
    )


def _across(step: Json, tokens: int, layout: Layout) -> tuple[int, ...]:
    """Tokens of every engine; the asking one is among them."""
    if step.get("tokens_across_dp") is None:
        return ()
    place = "step: tokens_across_dp"
    across = tuple(_whole(place, entry) for entry in _list(step, "tokens_across_dp"))
    if len(across) != layout.dp:
        raise _wrong(place, list(across), f"one number for each of {layout.dp} engines")
    if tokens not in across:
        raise _wrong(place, list(across), f"with the {tokens} tokens of this engine among them")
    return across


def _dtype(word: object) -> Dtype | None:
    if word is None:
        return None
    known = [dtype.value for dtype in Dtype]
    if word not in known:
        raise _wrong("step: dispatch_dtype", word, f"one of {', '.join(known)}")
    return Dtype(word)


def _at_most(tokens: int, value: object) -> int:
    decodes = _whole("step: decode_tokens", value)
    if decodes > tokens:
        raise _wrong("step: decode_tokens", value, f"at most the {tokens} tokens of the step")
    return decodes


def _flag(key: str, step: Json) -> bool:
    value = step.get(key, True)
    if not isinstance(value, bool):
        raise _wrong(f"step: {key}", value, "true or false")
    return value


def _list(step: Json, key: str) -> list[object]:
    value = step.get(key, [])
    if not isinstance(value, list):
        raise _wrong(f"step: {key}", value, "a list")
    return value


def _whole(place: str, value: object, *, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < MAX_TOKENS:
        raise _wrong(place, value, f"a whole number from {least} to {MAX_TOKENS - 1}")
    return value


def _wrong(place: str, value: object, wanted: str) -> ParseError:
    problem = "is missing" if value is None else f"is {shortened(value)}"
    return ParseError(place=place, problem=problem, fix=f"it should be {wanted}")
