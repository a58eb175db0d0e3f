"""Packed integers: AutoAWQ and GPTQModel."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.quantisation import layouts, packed_experts
from vllm_parallel.catalog.quantisation.keys import ASK_FOR_TWIN, truth, whole_number, words
from vllm_parallel.catalog.quantisation.method import (
    Method,
    Module,
    Refused,
    agreed,
    skipped,
)
from vllm_parallel.dtype import HALVES
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.scheme import Quantisation, Scheme

Override = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Awq:
    """AutoAWQ.

    Source: vllm/model_executor/layers/quantization/auto_awq.py, AutoAWQConfig (v0.32.0)
    """

    group: int
    zero_points: bool
    quantises_head: bool
    ignored: tuple[str, ...]

    @property
    def facts(self) -> Quantisation:
        """float16 or bfloat16."""
        return Quantisation(method="auto_awq", checkpoint="awq", dtypes=HALVES)

    def linear(self, module: Module) -> Scheme | None:
        """Quantised unless its name holds an ignored one."""
        if skipped(module, self.ignored, substring=True):
            return None
        return layouts.awq(self.group, zero_points=self.zero_points)

    def head(self, module: Module) -> Scheme | None:
        """As a linear layer, if the config says so."""
        return self.linear(module) if self.quantises_head else None

    def experts(self, module: Module) -> Scheme | None:
        """Quantised unless their name holds an ignored one."""
        if any(entry in module.prefix for entry in self.ignored):
            return None
        return packed_experts.awq(self.group, module.hidden, zero_points=self.zero_points)

    def cache(self, *, latent: bool) -> Scheme | None:  # noqa: ARG002
        """None."""
        return None


def read_awq(keys: Keys) -> Method:
    """The method of an AWQ config.

    Raises:
        Refused: vLLM does not take it.
    """
    bits = whole_number(keys, "w_bit", "bits")
    group = whole_number(keys, "q_group_size", "group_size")
    zero_points = truth(keys, "zero_point")
    if bits != 4:
        raise Refused(
            f"Unsupported num_bits = {bits}. Supported: 4. For 8-bit AWQ, use Marlin backend by "
            "setting backend='awq:marlin' or backend='marlin'."
        )
    return Awq(
        group=_group(keys, group),
        zero_points=zero_points,
        quantises_head=keys.flag("lm_head"),
        ignored=words(keys, "modules_to_not_convert"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gptq:
    """GPTQModel, with its rules for single modules.

    Source: vllm/model_executor/layers/quantization/auto_gptq.py, AutoGPTQConfig (v0.32.0)
    """

    bits: int
    group: int
    symmetric: bool
    quantises_head: bool
    quantised: tuple[str, ...]  # names of which one has to be part of a layer's; empty: all
    rules: tuple[tuple[str, Override], ...]

    @property
    def facts(self) -> Quantisation:
        """float16 or bfloat16."""
        return Quantisation(method="auto_gptq", checkpoint="gptq", dtypes=HALVES)

    def linear(self, module: Module) -> Scheme | None:
        """Quantised if listed, or if there is no list, as the first rule for it says."""
        own = self._for(module)
        if own is None or not self._lists(module):
            return None
        return layouts.gptq(own.bits, own.group)

    def head(self, module: Module) -> Scheme | None:
        """As a linear layer, if the config says so."""
        return self.linear(module) if self.quantises_head else None

    def experts(self, module: Module) -> Scheme | None:
        """As the first rule for them says."""
        own = self._for(module)
        if own is None:
            return packed_experts.gptq_left_out(self.bits, self.group, module.hidden)
        if (own.bits, own.group) != (self.bits, self.group):
            raise CatalogError(
                subject=module.prefix,
                problem="has a dynamic rule of its own, which is not modelled for experts",
                fix=ASK_FOR_TWIN,
            )
        return packed_experts.gptq(self.bits, self.group, module.hidden)

    def cache(self, *, latent: bool) -> Scheme | None:  # noqa: ARG002
        """None."""
        return None

    def _for(self, module: Module) -> Gptq | None:
        """The method with the module's own numbers, None if a rule leaves it out."""
        for pattern, override in self.rules:
            if re.match(pattern.removeprefix("-:").removeprefix("+:"), module.prefix):
                return None if pattern.startswith("-:") else self._overridden(override)
        return self

    def _overridden(self, override: Override) -> Gptq:
        bits, group, symmetric = (
            override.get(key, own)
            for key, own in (
                ("bits", self.bits),
                ("group_size", self.group),
                ("sym", self.symmetric),
            )
        )
        own = replace(
            self,
            bits=bits if isinstance(bits, int) else self.bits,
            group=group if isinstance(group, int) else self.group,
            symmetric=symmetric if isinstance(symmetric, bool) else self.symmetric,
        )
        _refuse_type(own.bits, symmetric=own.symmetric)
        return own

    def _lists(self, module: Module) -> bool:
        if not self.quantised:
            return True
        names = module.shards or [module.prefix]
        found = [any(entry in name for entry in self.quantised) for name in names]
        return agreed(found, module)


def read_gptq(keys: Keys) -> Method:
    """The method of a GPTQ config.

    Raises:
        Refused: vLLM does not take it.
    """
    rules = keys.nested("dynamic")
    dynamic = tuple(rules.values.items()) if rules is not None else ()
    bits, group = whole_number(keys, "bits"), whole_number(keys, "group_size")
    ordered, symmetric = truth(keys, "desc_act"), truth(keys, "sym")
    _refuse_order(group, dynamic, ordered=ordered)
    _refuse_type(bits, symmetric=symmetric)
    return Gptq(
        bits=bits,
        group=_group(keys, group),
        symmetric=symmetric,
        quantises_head=keys.flag("lm_head"),
        quantised=_listed(keys),
        rules=tuple((p, o if isinstance(o, Mapping) else {}) for p, o in dynamic),
    )


def _group(keys: Keys, group: int) -> int:
    if group < 1 and group != layouts.ALL:
        raise CatalogError(
            subject=keys.name, problem=f"has groups of {group}", fix="give -1, or a positive size"
        )
    return group


def _listed(keys: Keys) -> tuple[str, ...]:
    """`modules_in_block_to_quantize`, a list or a list of lists."""
    entries = keys.items("modules_in_block_to_quantize") or []
    flat = [name for entry in entries for name in (entry if isinstance(entry, list) else [entry])]
    return words(
        Keys(keys.name, {"modules_in_block_to_quantize": flat}), "modules_in_block_to_quantize"
    )


def _refuse_order(group: int, rules: tuple[tuple[str, object], ...], *, ordered: bool) -> None:
    """Source: vllm/model_executor/layers/quantization/utils/gptq_utils.py (v0.32.0)."""
    if ordered and group != layouts.ALL:
        raise Refused(
            "GPTQ group activation ordering (desc_act=True) is no longer supported. Use a "
            "checkpoint with static activation ordering or desc_act=False."
        )
    for pattern, override in rules:
        if pattern.startswith("-:") or not isinstance(override, Mapping):
            continue
        if override.get("desc_act", ordered) and override.get("group_size", group) != layouts.ALL:
            raise Refused(
                "GPTQ group activation ordering (desc_act=True) is no longer supported, but is "
                f"enabled by dynamic rule {pattern!r}. Use a checkpoint with static activation "
                "ordering or desc_act=False."
            )


def _refuse_type(bits: int, *, symmetric: bool) -> None:
    if bits not in (4, 8) or not symmetric:
        raise Refused(f"Unsupported quantization config: bits={bits}, sym={symmetric}")
