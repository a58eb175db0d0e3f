"""The guide's own commands, as its pages show them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "snippets" / "guide"
LAUNCHES: Final = FOLDER / "launch.sh"
LOAD: Final = FOLDER / "benchmark.sh"
LONG_CONTEXT: Final = FOLDER / "dcp.sh"


def section(path: Path, name: str) -> str:
    """What stands between the marks of a section."""
    marked = rf"^# --8<-- \[start:{name}\]\n(.*?)^# --8<-- \[end:{name}\]"
    (text,) = re.findall(marked, path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert isinstance(text, str)
    return text
