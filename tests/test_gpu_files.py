"""A GPU file with a slip is refused in one line that names it."""

from __future__ import annotations

import json

import pytest

from vllm_parallel.catalog import gpus
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.errors import CatalogError, VllmParallelError


def test_a_provenance_of_no_known_kind() -> None:
    """The kinds that there are stand in the error."""
    entry = {**gpus.gpu_entry("h200"), "provenance": "guess"}
    with pytest.raises(CatalogError, match=r"^mine: provenance is 'guess'; it is one of computed"):
        gpus._gpu(Keys("mine", entry))


def test_a_file_that_is_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comma too many is a line, no traceback."""
    text = json.dumps(dict(gpus.gpu_entry("h200"))).replace("}", ",}").encode()
    monkeypatch.setattr(gpus, "read_beside", lambda *_: text)
    with pytest.raises(VllmParallelError, match=r"^gpus/h200\.json ") as caught:
        gpus.gpu_entry.__wrapped__("h200")
    assert "\n" not in str(caught.value)
