"""Rules that a quantisation brings: which method, and what its config may say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from vllm_parallel.constraints.constraint import Constraint, RuleRow, raised_at_config
from vllm_parallel.deployment import Deployment
from vllm_parallel.methods import ALIASES, DEPRECATED, DEPRECATION, METHODS, WITHOUT_CONFIG

if TYPE_CHECKING:
    from vllm_parallel.scheme import Quantisation

VERIFY: Final = "vllm/config/model.py, _verify_quantization"
QUANTIZATION: Final = "vllm/config/vllm.py, _get_quantization_config"


def when_quantised(
    test: Callable[[Deployment, Quantisation], bool],
) -> Callable[[Deployment], bool]:
    """A test that only quantised models bring."""

    def broken(d: Deployment) -> bool:
        return d.model.quantisation is not None and test(d, d.model.quantisation)

    return broken


def dtypes(d: Deployment) -> str:
    """The dtypes that the method takes, as vLLM lists them."""
    taken = d.model.quantisation.dtypes if d.model.quantisation is not None else ()
    return f"[{', '.join(f'torch.{dtype}' for dtype in taken)}]"


config_rule: RuleRow = partial(raised_at_config, source=QUANTIZATION)


def mismatched(d: Deployment) -> bool:
    """Whether `--quantization` names another method than the checkpoint's."""
    asked, quantisation = d.settings.quantization, d.model.quantisation
    if asked is None or quantisation is None or not quantisation.checkpoint:
        return False
    checkpoint = quantisation.checkpoint
    return not quantisation.insists and asked not in ALIASES.get(checkpoint, (checkpoint,))


def takes_method(quantisation: Quantisation) -> bool:
    """Whether vLLM still takes checkpoints of this method; it asks before it reads their config."""
    return quantisation.checkpoint in METHODS and quantisation.checkpoint not in DEPRECATED


def asks_alone(d: Deployment) -> str | None:
    """A word of `--quantization` that no checkpoint backs and that quantises nothing by itself."""
    asked = d.settings.quantization
    return asked if d.model.quantisation is None else None


def without_config(d: Deployment) -> str:
    """What vLLM says where it finds no config for a method."""
    asked = d.settings.quantization or ""
    return WITHOUT_CONFIG.get(asked, f"Cannot find the config file for {asked}")


# Tested as soon as the model's config is made.
QUANTIZATION_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    config_rule(
        name="quantization-matches",
        broken=mismatched,
        says="Quantization method specified in the model config ({model.quantisation.checkpoint}) "
        "does not match the quantization method specified in the `quantization` argument "
        "({settings.quantization}).",
        fix="drop --quantization",
        source=VERIFY,
    ),
    config_rule(
        name="quantization-known",
        broken=lambda d: (asks_alone(d) or METHODS[0]) not in METHODS,
        says=f"Unknown quantization method: {{settings.quantization}}. Must be one of "
        f"{list(METHODS)}.",
        fix="drop --quantization",
        source=VERIFY,
    ),
    config_rule(
        name="quantization-deprecated",
        broken=lambda d: asks_alone(d) in DEPRECATED,
        says=f"({DEPRECATION!r}, '{{settings.quantization}}')",
        fix="drop --quantization",
        source=VERIFY,
    ),
    config_rule(
        name="quantised-by-a-method-that-is-taken",
        broken=when_quantised(lambda _, q: q.refused_at_config is not None and not takes_method(q)),
        says="{model.quantisation.refused_at_config}",
        fix="use a checkpoint with another quantization_config",
        source=VERIFY,
    ),
)
QUANTISED_CONFIG_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    config_rule(
        name="quantization-config",
        broken=when_quantised(lambda _, q: q.refused_at_config is not None and takes_method(q)),
        says="{model.quantisation.refused_at_config}",
        fix="use a checkpoint with another quantization_config",
    ),
    config_rule(
        name="quantization-without-config",
        broken=lambda d: asks_alone(d) is not None,
        says="{options}",
        options=without_config,
        fix="drop --quantization, or use a checkpoint that is quantised so",
        source="vllm/model_executor/model_loader/weight_utils.py, get_quant_config",
    ),
    config_rule(
        name="quantization-dtype",
        broken=when_quantised(lambda d, q: d.model.dtype not in q.dtypes),
        says="torch.{model.dtype} is not supported for quantization method "
        "{model.quantisation.method}. Supported dtypes: {options}",
        options=dtypes,
        fix="use a --dtype of {options}",
    ),
)
