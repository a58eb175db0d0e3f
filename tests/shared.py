"""Where the evidence that is not part of the checkout lies, if it lies anywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SHARED: Final = Path(os.environ.get("VLLM_PARALLEL_SHARED") or ROOT.parent / "shared")
FIELD: Final = SHARED / "field"

needs_field = pytest.mark.skipif(not FIELD.is_dir(), reason="the field evidence is not here")
