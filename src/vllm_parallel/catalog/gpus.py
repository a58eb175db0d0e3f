"""GPUs by catalog name, one file each in `gpus/`.

`runtime_memory_gib` is what the CUDA or HIP runtime reports as total and vLLM
multiplies by the utilization: less than nvidia-smi's total, as the driver keeps some for itself.
The facts are JSON, since parsing TOML took a tenth of a cold answer's time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.catalog.models import parse_config
from vllm_parallel.cluster import Gpu
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.files import named_beside, read_beside
from vllm_parallel.provenance import Provenance
from vllm_parallel.units import GIB, MIB

SMI_KEY: Final = "smi_memory_mib"


def _gpu(keys: Keys) -> Gpu:
    return Gpu(
        name=keys.name,
        label=keys.text("label"),
        runtime_memory_bytes=round(keys.number("runtime_memory_gib") * GIB),
        smi_memory_bytes=keys.size(SMI_KEY) * MIB if keys.has(SMI_KEY) else None,
        architecture=keys.text("architecture"),
        provenance=_provenance(keys),
        source=keys.text("source"),
    )


def _provenance(keys: Keys) -> Provenance:
    word = keys.text("provenance")
    if word not in (known := [one.value for one in Provenance]):
        raise CatalogError(
            subject=f"{keys.name}: provenance",
            problem=f"is {shortened(word)}",
            fix=f"it is one of {', '.join(known)}",
        )
    return Provenance(word)


def gpu_names() -> list[str]:
    """The GPUs of the catalog, by name.

    >>> "h100-80gb" in gpu_names()
    True
    """
    return named_beside(__file__, "gpus")


@lru_cache(maxsize=32)
def gpu_entry(name: str) -> JsonObject:
    """What the catalog's file says of a GPU.

    Raises:
        CatalogError: no such GPU.
    """
    if name not in gpu_names():
        raise CatalogError(
            subject=f"GPU {shortened(name)}",
            problem="is not in the catalog",
            fix=f"it has {', '.join(gpu_names())}",
        )
    place = f"gpus/{name}.json"
    return parse_config(read_beside(__file__, place), place)


@lru_cache(maxsize=32)
def load_gpu(name: str) -> Gpu:
    """A GPU by its catalog name.

    Raises:
        CatalogError: no such GPU.

    >>> load_gpu("h100-80gb").label
    'H100 80GB SXM'
    """
    return _gpu(Keys(name, gpu_entry(name)))
