"""The notebook comes to a decision for every load of the run that it reads."""

import contextlib
import io
import runpy
from pathlib import Path

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebooks" / "decide.py"


def test_notebook_decides() -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.chdir(NOTEBOOK.parent):
        cells = runpy.run_path(str(NOTEBOOK))
    lines = said.getvalue().splitlines()
    decided = [line for line in lines if line.startswith("at concurrency ")]
    assert len(decided) == len(cells["widths"])
    assert all(line.partition(": ")[2].startswith("tp2") for line in decided)
    assert "tp1-starved" not in cells["candidates"]
