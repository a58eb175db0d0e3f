"""ModelOpt: fp8, NVFP4, MXFP8, one algorithm for all layers."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Final

from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.quantisation import experts, layouts
from vllm_parallel.catalog.quantisation.keys import ASK_FOR_TWIN, words
from vllm_parallel.catalog.quantisation.method import HALVES, Method, Module, Refused, skipped
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass
from vllm_parallel.scheme import Biases, Kind, Quantisation, Scheme

ALGORITHMS: Final = (
    "FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "NVFP4", "W4A16_NVFP4", "MXFP8",
    "MIXED_PRECISION",
)  # fmt: skip
FP8_ALGORITHMS: Final = ALGORITHMS[:3]
NVFP4_ALGORITHMS: Final = ("NVFP4", "W4A16_NVFP4")
NVFP4_DTYPES: Final = (Dtype.BFLOAT16, Dtype.FLOAT16, Dtype.FLOAT8_E4M3)
CACHE_DTYPES: Final = {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}
NEEDED: Final = {
    "modelopt_fp4": ("NVFP4", ("group_size", "kv_cache_quant_algo", "exclude_modules")),
    "modelopt_mxfp8": ("MXFP8", ("kv_cache_quant_algo", "exclude_modules")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOpt:
    """One algorithm for every layer that is not excluded, the head included.

    Source: vllm/model_executor/layers/quantization/modelopt.py, ModelOptQuantConfigBase (v0.32.0)
    """

    algorithm: str
    method: str
    checkpoint: str
    excluded: tuple[str, ...]
    group: int
    cache_dtype: str | None

    @property
    def facts(self) -> Quantisation:
        """bfloat16, mostly float16 too."""
        dtypes: tuple[Dtype, ...] = HALVES
        if self.method == "modelopt_fp4":
            dtypes = NVFP4_DTYPES
        elif self.method == "modelopt_mxfp8":
            dtypes = (Dtype.BFLOAT16,)
        return Quantisation(
            method=self.method,
            checkpoint=self.checkpoint,
            dtypes=dtypes,
            insists=self.algorithm not in FP8_ALGORITHMS[1:],
            kv_cache_dtype=self.cache_dtype,
        )

    def linear(self, module: Module) -> Scheme | None:
        """Quantised unless excluded by name, by a part of it or by a pattern."""
        return None if self._excludes(module) else self._linear()

    def head(self, module: Module) -> Scheme | None:
        """As a linear layer."""
        return self.linear(module)

    def experts(self, module: Module) -> Scheme | None:
        """Quantised unless excluded."""
        if self._excludes(module):
            return None
        if self.algorithm in NVFP4_ALGORITHMS:
            return experts.nvfp4_modelopt(self.group)
        if self.algorithm == "MXFP8":
            return experts.mxfp8(Kind.MXFP8, "ModelOptMxFp8FusedMoE")
        return experts.fp8_tensor(Biases.NONE, static=True, unbalanced="ModelOptFp8MoEMethod")

    def cache(self, *, latent: bool) -> Scheme | None:  # noqa: ARG002
        """Four scales, of latent attention too."""
        return layouts.cache_scales()

    def _linear(self) -> Scheme:
        if self.algorithm in NVFP4_ALGORITHMS:
            return layouts.nvfp4_modelopt(self.group, static=self.algorithm == "NVFP4")
        if self.algorithm == "MXFP8":
            return layouts.mxfp8(Kind.MXFP8)
        if self.algorithm == "FP8_PB_WO":
            return layouts.fp8_weight_blocks()
        if self.algorithm == "FP8_PER_CHANNEL_PER_TOKEN":
            return layouts.fp8_channel(static=False)
        return layouts.fp8_tensor(static=True)

    def _excludes(self, module: Module) -> bool:
        """Source: vllm/model_executor/layers/quantization/modelopt.py, is_layer_excluded."""
        if not self.excluded:
            return False
        if skipped(module, self.excluded, substring=False):
            return True
        name = module.prefix
        bare = name.removeprefix("language_model.")
        parts = any(e != name and (e in name or e in bare) for e in self.excluded)
        return parts or any(fnmatch(name, pattern) for pattern in self.excluded)


def read_modelopt(keys: Keys, checkpoint: str) -> Method:
    """The method of a ModelOpt config, nested under `quantization` or flat.

    Raises:
        Refused: vLLM does not take it.
    """
    nested = keys.nested("quantization")
    inner = nested or keys
    algorithm = inner.text("quant_algo", default="").upper()
    if not algorithm:
        raise Refused("Missing 'quant_algo' in quantization config")
    if algorithm not in ALGORITHMS:
        raise Refused(
            f"ModelOpt currently only supports: {list(ALGORITHMS)} quantizations in vLLM. Please "
            "check the `hf_quant_config.json` file for your model's quant configuration."
        )
    method = _method(algorithm, checkpoint)
    if nested is not None and method in NEEDED:
        name, needed = NEEDED[method]
        missing = [key for key in needed if key not in nested.values]
        if missing:
            raise Refused(
                f"{name} quantization requires the following fields in hf_quant_config.json: "
                f"{missing}"
            )
    if algorithm == "MIXED_PRECISION":
        raise CatalogError(
            subject=keys.name,
            problem="mixes algorithms, which is not modelled",
            fix=ASK_FOR_TWIN,
        )
    return ModelOpt(
        algorithm=algorithm,
        method=method,
        checkpoint=checkpoint,
        excluded=words(inner, "ignore" if nested is None else "exclude_modules"),
        group=inner.size("group_size", default=layouts.NVFP4_GROUP),
        cache_dtype=_cache_dtype(keys.values),
    )


def split_patterns(values: JsonObject) -> dict[str, object]:
    """The config with `module*` in two: the module itself, and what is inside it.

    Source: vllm/model_executor/layers/quantization/modelopt.py, apply_vllm_mapper (v0.32.0)
    """
    found = dict(values)
    nested = values.get("quantization")
    if isinstance(nested, Mapping):
        found["quantization"] = split_patterns(nested)
    for key in ("ignore", "exclude_modules"):
        entries = values.get(key)
        if isinstance(entries, list):
            found[key] = [part for entry in entries for part in _split(entry)]
    return found


def _split(entry: object) -> list[object]:
    if isinstance(entry, str) and len(entry) > 1 and entry[-1] == "*" and entry[-2] != ".":
        return [entry[:-1], f"{entry[:-1]}.*"]
    return [entry]


def _method(algorithm: str, checkpoint: str) -> str:
    """Source: the override_quantization_method of each config class."""
    if algorithm in NVFP4_ALGORITHMS:
        return "modelopt_fp4"
    if algorithm == "MXFP8":
        return "modelopt_mxfp8"
    return "modelopt" if algorithm == "FP8" else checkpoint


def _cache_dtype(config: Mapping[str, object]) -> str | None:
    """Source: vllm/utils/torch_utils.py, get_kv_cache_quant_algo_string (v0.32.0)."""
    nested = config.get("quantization", config)
    inner = nested if isinstance(nested, Mapping) else {}
    found = next(
        (
            where.get(key)
            for key in ("kv_cache_scheme", "kv_cache_quant_algo")
            for where in (inner, config)
            if where.get(key)
        ),
        None,
    )
    if isinstance(found, Mapping):
        kind = (found.get("num_bits"), found.get("type"))
        eight = found.get("dynamic") is False and kind == (8, "float")
        found = "fp8" if eight else "nvfp4" if kind == (4, "float") else None
    return CACHE_DTYPES.get(found.lower()) if isinstance(found, str) else None
