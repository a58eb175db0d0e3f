"""Write every `model_type` that vLLM knows: its own, those of transformers and of code it expects.

Runs inside the engine's venv, from the root of the checkout:

    "$engine" scripts/engine/model_types.py > src/vllm_parallel/catalog/families/model_types.json
"""

from __future__ import annotations

import json

from asking import claim_stdout


def main() -> None:
    """Write the list."""
    stream = claim_stdout()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES  # noqa: PLC0415
    from vllm.config.model import MODEL_ARCH_CONFIG_CONVERTORS  # noqa: PLC0415
    from vllm.transformers_utils.config import _CONFIG_REGISTRY  # noqa: PLC0415

    types = {*CONFIG_MAPPING_NAMES, *_CONFIG_REGISTRY, *MODEL_ARCH_CONFIG_CONVERTORS}
    print(json.dumps(sorted(types)), file=stream)


if __name__ == "__main__":
    main()
