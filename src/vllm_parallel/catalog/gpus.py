"""GPUs by catalog name.

`runtime_memory_gib` of `gpus.json` is what the CUDA or HIP runtime reports as total and vLLM
multiplies by the utilization: less than nvidia-smi's total, as the driver keeps some for itself.
The facts are JSON, since parsing TOML took a tenth of a cold answer's time.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.cluster import Gpu
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.files import read_beside
from vllm_parallel.provenance import Provenance
from vllm_parallel.units import GIB, MIB

SMI_KEY: Final = "smi_memory_mib"


@lru_cache(maxsize=1)
def _entries() -> dict[str, JsonObject]:
    entries: dict[str, JsonObject] = json.loads(read_beside(__file__, "gpus.json"))
    return entries


def _gpu(keys: Keys) -> Gpu:
    return Gpu(
        name=keys.name,
        label=keys.text("label"),
        runtime_memory_bytes=round(keys.number("runtime_memory_gib") * GIB),
        smi_memory_bytes=keys.size(SMI_KEY) * MIB if keys.has(SMI_KEY) else None,
        architecture=keys.text("architecture"),
        provenance=Provenance(keys.text("provenance")),
        source=keys.text("source"),
    )


def gpu_names() -> list[str]:
    """The GPUs of the catalog, by name.

    >>> "h100-80gb" in gpu_names()
    True
    """
    return list(_entries())


@lru_cache(maxsize=32)
def load_gpu(name: str) -> Gpu:
    """A GPU by its catalog name.

    Raises:
        CatalogError: no such GPU.

    >>> load_gpu("h100-80gb").label
    'H100 80GB SXM'
    """
    entry = _entries().get(name)
    if entry is None:
        raise CatalogError(
            subject=f"GPU {shortened(name)}",
            problem="is not in the catalog",
            fix=f"it has {', '.join(_entries())}",
        )
    return _gpu(Keys(name, entry))
