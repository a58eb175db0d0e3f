"""The Chromium of this machine, and the built site that it looks at."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SITE: Final = Path(os.environ.get("SITE", ROOT / "site"))
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str | None:
    """The browser that `CHROMIUM` names, or the first on the path; None where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
