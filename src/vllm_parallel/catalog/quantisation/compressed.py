"""compressed-tensors: groups of targets, each with its own numbers."""

from __future__ import annotations

import re
from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.quantisation import layouts
from vllm_parallel.catalog.quantisation.keys import words
from vllm_parallel.catalog.quantisation.method import Method, Module, Refused
from vllm_parallel.catalog.quantisation.schemes import expert_scheme, linear_scheme
from vllm_parallel.catalog.quantisation.strategy import Args, Target
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import dataclass
from vllm_parallel.scheme import Quantisation, Scheme

REGEX: Final = "re:"
DTYPES: Final = (Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedTensors:
    """What each target means, in the config's order.

    Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py,
    CompressedTensorsConfig (v0.32.0)
    """

    targets: tuple[tuple[str, Target], ...]
    ignored: tuple[str, ...]
    cache_strategy: str | None  # of the scales of the KV cache, None without a scheme
    refused_cache: str | None  # vLLM's sentence on that scheme

    @property
    def facts(self) -> Quantisation:
        """Any dtype; a scheme for the cache makes that fp8."""
        return Quantisation(
            method="compressed-tensors",
            checkpoint="compressed-tensors",
            dtypes=DTYPES,
            kv_cache_dtype=None if self.cache_strategy is None else "fp8",
        )

    def linear(self, module: Module) -> Scheme | None:
        """By the first target that matches its name, those of its shards, or linear layers."""
        target = self._target(module, module.prefix, "Linear")
        return None if target is None else linear_scheme(target, module.prefix)

    def head(self, module: Module) -> Scheme | None:
        """By a target that matches its name; linear layers do not mean it."""
        target = self._target(module, module.prefix, "ParallelLMHead")
        return None if target is None else linear_scheme(target, module.prefix)

    def experts(self, module: Module) -> Scheme | None:
        """By the target of an expert's projections, which have to agree."""
        names = [f"{module.prefix}.0.{projection}" for projection in module.projections]
        targets = [self._target(module, name, "RoutedExperts") for name in names]
        if any(target != targets[-1] for target in targets):
            raise Refused(
                "All MoE projections need to have same quantization scheme but found multiple"
            )
        return None if targets[-1] is None else expert_scheme(targets[-1])

    def cache(self, *, latent: bool) -> Scheme | None:
        """Scales and zero points, of attention that is not latent."""
        if latent:
            return None
        if self.refused_cache is not None:
            raise Refused(self.refused_cache)
        return layouts.cache_scales_and_zeros(heads=self.cache_strategy == "attn_head")

    def _target(self, module: Module, name: str, kind: str) -> Target | None:
        shards = module.shards if name == module.prefix else []
        if _left_out(name, shards, self.ignored):
            return None
        entries = [entry for entry, _ in self.targets]
        found = next((entry for entry in entries if _matches(entry, name)), None)
        found = found or _of_shards(shards, entries) or _of_class(kind, entries)
        return None if found is None else dict(self.targets)[found]


def read_compressed(keys: Keys) -> Method:
    """The method of a compressed-tensors config.

    Raises:
        Refused: vLLM does not take it.
    """
    for key in ("sparsity_config", "transform_config"):
        nested = keys.nested(key)
        if nested is not None and nested.values:
            raise CatalogError(
                subject=keys.name, problem=f"has a {key}, which is not modelled", fix="leave it out"
            )
    targets: dict[str, Target] = {}
    config_groups = keys.nested("config_groups")
    for name in () if config_groups is None else config_groups.values:
        group = config_groups.nested(name) if config_groups is not None else None
        if group is not None:
            targets |= _group(group, keys.text("format", default=""))
    strategy, refused = _cache(keys.nested("kv_cache_scheme"))
    return CompressedTensors(
        targets=tuple(targets.items()),
        ignored=words(keys, "ignore"),
        cache_strategy=strategy,
        refused_cache=refused,
    )


def _group(group: Keys, outer_format: str) -> dict[str, Target]:
    """The targets of a group; quantised attention is a matter of the cache."""
    names = words(group, "targets")
    if len(names) == 1 and names[0].endswith("Attention"):
        return {}
    if not names:
        raise CatalogError(subject=group.name, problem="has no targets", fix="name some")
    weights, inputs, outputs = (
        group.nested(key) for key in ("weights", "input_activations", "output_activations")
    )
    if weights is None:
        raise CatalogError(
            subject=group.name, problem="has no weights", fix="say how they are quantised"
        )
    if outputs is not None:
        raise CatalogError(
            subject=group.name, problem="quantises outputs, which is not modelled", fix="drop it"
        )
    target = Target(
        weights=Args.of(weights),
        inputs=None if inputs is None else Args.of(inputs),
        format=group.text("format", default=outer_format),
    )
    if target.weights.ordered:
        raise Refused(
            "Compressed-tensors group/dynamic activation ordering "
            f"(actorder={target.weights.ordered!r}) is no longer supported. Use a checkpoint with "
            "static/weight activation ordering or without activation ordering."
        )
    for name in names:
        _refuse_pattern(group, name)
    return dict.fromkeys(names, target)


def _cache(scheme: Keys | None) -> tuple[str | None, str | None]:
    """The strategy of the cache's scales, and what vLLM has against it."""
    if scheme is None:
        return None, None
    kind, bits = scheme.values.get("type"), scheme.values.get("num_bits")
    strategy = scheme.text("strategy", default="tensor")
    if kind != "float" or bits != 8:
        says = f"num_bits=8, type=float, however received num_bits={bits}, type={kind}"
        return strategy, f"Currently supported kv cache quantization is {says}"
    if strategy not in ("tensor", "attn_head"):
        return strategy, "Invalid strategy for compressed-tensors KV cache."
    if not scheme.flag("symmetric"):
        symmetric = scheme.values.get("symmetric")
        says = f"However found symmetric: {symmetric}"
        return strategy, (
            f"Only support symmetric scaling factor for compressed-tensors KV cache. {says}"
        )
    return strategy, None


def _refuse_pattern(keys: Keys, entry: str) -> None:
    if not entry.startswith(REGEX):
        return
    try:
        re.compile(entry.removeprefix(REGEX))
    except re.error as error:
        raise CatalogError(
            subject=keys.name,
            problem=f"has the pattern {shortened(entry)} ({error})",
            fix="give a regular expression",
        ) from error


def _matches(entry: str, name: str) -> bool:
    """Whether an entry is the name, or a regular expression of its start."""
    if entry.startswith(REGEX):
        return re.match(entry.removeprefix(REGEX), name) is not None
    return entry == name


def _left_out(name: str, shards: list[str], ignored: tuple[str, ...]) -> bool:
    """Source: compressed_tensors/utils.py, should_ignore_layer (v0.32.0)."""
    if any(_matches(entry, name) for entry in ignored):
        return True
    of_shards = [any(_matches(entry, shard) for entry in ignored) for shard in shards]
    if any(of_shards) and not all(of_shards):
        raise Refused(
            f"Found different quantization schemes for the shards of {name}. vLLM requires all to "
            "use the same scheme."
        )
    return bool(of_shards) and all(of_shards)


def _of_shards(shards: list[str], entries: list[str]) -> str | None:
    """The entry of the first shard, if every shard has one."""
    found = [next((e for e in entries if _matches(e, shard)), None) for shard in shards]
    return found[0] if found and all(found) else None


def _of_class(kind: str, entries: list[str]) -> str | None:
    """The entry that names the class; linear layers stand for experts too."""
    if kind == "RoutedExperts" and kind not in entries and "Linear" in entries:
        return "Linear"
    return next(
        (
            entry
            for entry in entries
            if (re.match(entry.removeprefix(REGEX), kind) if entry.startswith(REGEX) else None)
            or (not entry.startswith(REGEX) and entry.lower() in kind.lower())
        ),
        None,
    )
