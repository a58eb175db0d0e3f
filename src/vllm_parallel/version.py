"""Which version of the package this is; what one promises is a page of the site."""

from __future__ import annotations

__version__ = "0.1.0"
