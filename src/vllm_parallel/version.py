"""Which version of the package this is; what one promises is a page of the site."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
