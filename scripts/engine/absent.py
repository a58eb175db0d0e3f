"""Modules and operators of a CUDA build: they import, and raise when something calls them."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

import torch

# By their full names, each with all that lies below it.
MODULES = (
    "vllm._C_stable_libtorch",
    "vllm._moe_C_stable_libtorch",
    "vllm._flashmla_C",
    "vllm._flashmla_extension_C",
    "vllm.vllm_flash_attn._vllm_fa2_C",
    "vllm.vllm_flash_attn._vllm_fa3_C",
    "vllm.third_party.flashmla.flash_mla_interface",
    "deep_gemm",
    "triton_kernels",
)
# What `torch.ops` is asked for.
OPERATORS = frozenset(
    {
        "_C",
        "_C_cache_ops",
        "_C_cuda_utils",
        "_C_custom_ar",
        "_flashmla_C",
        "_flashmla_extension_C",
        "_moe_C",
        "_vllm_fa2_C",
        "_vllm_fa3_C",
    }
)
# Operators that tell what CUTLASS has, as on SM90.
SUPPORTED = {
    "cutlass_scaled_mm_supports_fp8": True,
    "cutlass_scaled_mm_supports_block_fp8": True,
    "cutlass_group_gemm_supported": True,
    "cutlass_scaled_mm_supports_fp4": False,
    "mxfp4_experts_quant_supported": False,
}


class AbsentError(RuntimeError):
    """Something was called that only a GPU has."""


class Absent:
    """Has whatever attribute it is asked for, and does nothing when called but raise."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __post_init__(self) -> None:
        """vLLM wraps the one of a class of `triton_kernels`."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise AbsentError(f"{self.__name__} needs a GPU")


class Driver(Absent):
    """Triton's driver, which is asked what it compiles for."""

    def __init__(self, target: object) -> None:
        super().__init__("triton.driver")
        self.target = target

    def get_current_target(self) -> object:
        """The kind of GPU."""
        return self.target

    def get_current_device(self) -> int:
        """The first GPU."""
        return 0


class AbsentModule(ModuleType):
    """A module that has whatever class it is asked for."""

    __file__ = "absent"

    def __getattr__(self, name: str) -> type[Absent]:
        if name.startswith("__"):
            raise AttributeError(name)
        found = type(name, (Absent,), {"__module__": self.__name__})
        setattr(self, name, found)
        return found


class Finder(MetaPathFinder, Loader):
    """Finds the modules of a CUDA build."""

    def find_spec(
        self, fullname: str, _path: object = None, _target: object = None
    ) -> ModuleSpec | None:
        """The module's spec, if a CUDA build has it."""
        below = tuple(f"{name}." for name in MODULES)
        if fullname in MODULES or fullname.startswith(below):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The stand-in."""
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: there is no code."""


def install() -> None:
    """Lets modules be found and operators be looked up, and leaves these without fakes."""
    sys.meta_path.insert(0, Finder())
    namespace = type(torch.ops._C)  # noqa: SLF001
    present, register = namespace.__getattr__, torch.library.register_fake

    def look_up(self: torch._ops._OpNamespace, name: str) -> object:
        try:
            return present(self, name)
        except AttributeError:
            if name.startswith("__") or self.name not in OPERATORS:
                raise
        if name in SUPPORTED:
            return lambda *_: SUPPORTED[name]
        return Absent(f"torch.ops.{self.name}.{name}")

    def register_present(name: object, *words: object, **named: object) -> object:
        if isinstance(name, str) and name.split("::")[0] in OPERATORS:
            return lambda function: function
        return register(name, *words, **named)

    namespace.__getattr__ = look_up
    torch.library.register_fake = register_present
