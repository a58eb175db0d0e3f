"""The answer format's question: a JSON object in, a deployment and what is asked of it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.catalog import load_gpu, load_model, with_dtype, with_quantization
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine import Arguments, nearest
from vllm_parallel.engine.arguments import MAX_NUMBER
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass

Json = Mapping[str, object]
KEYS: Final[Mapping[str, str]] = {
    "id": "anything; copied into the answer",
    "model": "catalog name, path of a config.json or its folder, or the config itself",
    "args": "vLLM's engine arguments by name: tensor_parallel_size, max_model_len, ...",
    "available_kv_bytes": "KV budget of every rank; else it comes from the GPU",
    "gpu": "GPU of the catalog",
    "gpus_per_node": "GPUs that a node has; without it no node is known",
    "nodes": "nodes of the cluster; 1 if not given",
    "ask": "list of the answer's keys that are wanted; all if not given",
    "rank": "only this rank, numbered from 0",
    "as_bf16": "true: the unquantised twin",
    "step": "one engine's batch, or what one rank sees of it; for collectives and seconds",
}
PARTS: Final[Mapping[str, str]] = {
    "verdict": "accepted, stage and message: the first refusal, in vLLM's words",
    "groups": "lists of ranks on each axis: tp pp dp pcp dcp ep",
    "ranks": "what each rank holds; null if refused before memory",
    "capacity": "blocks, tokens and concurrency of one engine, and how many engines there are",
    "collectives": "what one rank of each stage calls in the step",
    "seconds": "the price of the step for the rank that it waits for",
}
ASKABLE: Final = tuple(PARTS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Question:
    """A deployment, a budget, and which parts of the answer are wanted."""

    deployment: Deployment
    available_kv_bytes: int | None = None
    ask: frozenset[str] = frozenset(ASKABLE)
    rank: int | None = None
    step: object = None  # read where it is asked about

    @classmethod
    def of(cls, question: Json) -> Question:
        """The question that a JSON object asks.

        Raises:
            ParseError: a key, type or range is wrong.
            CatalogError: the model or GPU cannot be read.

        >>> asked = {"model": "llama-3.1-8b", "args": {"tensor_parallel_size": 2}}
        >>> str(Question.of(asked).deployment.layout)
        'tp2'
        """
        for key in question:
            if key not in KEYS:
                raise ParseError(
                    place=f"key {shortened(key)}",
                    problem="is not part of a question",
                    fix=nearest(key, list(KEYS)),
                )
        arguments = Arguments.of(_object(question, "args"))
        model = load_model(_model(question), as_bf16=_flag(question, "as_bf16"))
        deployment = Deployment(
            model=with_quantization(
                with_dtype(model, arguments.settings.dtype), arguments.settings.quantization
            ),
            layout=arguments.layout,
            settings=arguments.settings,
            cluster=_cluster(question),
        )
        rank = _whole(question, "rank", least=0)
        if rank is not None and rank >= max(deployment.layout.ranks, 1):
            raise ParseError(
                place="rank",
                problem=f"is {rank} of {deployment.layout.ranks} ranks",
                fix="ranks are numbered from 0",
            )
        return cls(
            deployment=deployment,
            available_kv_bytes=_whole(question, "available_kv_bytes"),
            ask=_ask(question),
            rank=rank,
            step=question.get("step"),
        )


def _model(question: Json) -> str | Json:
    model = question.get("model")
    if isinstance(model, str) and model:
        return model
    if isinstance(model, Mapping):
        return model
    raise ParseError(
        place="model",
        problem="is missing" if model is None else f"is {shortened(model)}",
        fix="give a catalog name, a path or a config",
    )


def _cluster(question: Json) -> Cluster:
    gpu = question.get("gpu")
    if gpu is not None and not isinstance(gpu, str):
        raise ParseError(place="gpu", problem=f"is {shortened(gpu)}", fix="give a catalog name")
    return Cluster(
        gpu=None if gpu is None else load_gpu(gpu),
        gpus_per_node=_whole(question, "gpus_per_node", least=1),
        nodes=_whole(question, "nodes", least=1) or 1,
    )


def _ask(question: Json) -> frozenset[str]:
    """The parts that are wanted; by default all, those of a step only where one is given."""
    ask = question.get("ask")
    if ask is None:
        return frozenset(ASKABLE[:-2] if question.get("step") is None else ASKABLE)
    if not isinstance(ask, list) or not all(isinstance(name, str) for name in ask):
        raise ParseError(place="ask", problem=f"is {shortened(ask)}", fix="give a list of keys")
    for name in ask:
        if name not in ASKABLE:
            raise ParseError(
                place=f"ask: {shortened(name)}",
                problem="is no part of an answer",
                fix=f"parts are {', '.join(ASKABLE)}",
            )
    return frozenset(ask)


def _object(question: Json, key: str) -> Json:
    value = question.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ParseError(place=key, problem=f"is {shortened(value)}", fix="give an object")
    return value


def _flag(question: Json, key: str) -> bool:
    value = question.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ParseError(place=key, problem=f"is {shortened(value)}", fix="give true or false")


def _whole(question: Json, key: str, *, least: int = -MAX_NUMBER) -> int | None:
    value = question.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < MAX_NUMBER:
        bound = "" if least < 0 else f" of at least {least}"
        raise ParseError(
            place=key, problem=f"is {shortened(value)}", fix=f"give a whole number{bound}"
        )
    return value
