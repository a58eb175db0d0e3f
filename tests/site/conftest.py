"""One build server a session; a fresh copy of the small site a test; the real site as built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.chromium import SITE
from tests.site.builder import Builder, build_server, copy_mini


@pytest.fixture(scope="session")
def builder() -> Iterator[Builder]:
    with build_server() as server:
        yield server


@pytest.fixture
def mini(tmp_path: Path) -> Path:
    folder = tmp_path / "mini"
    copy_mini(folder)
    return folder


@pytest.fixture(scope="session")
def real_site() -> Path:
    """The site of this checkout as `make site` has built it: in `site/`, or in `SITE`."""
    assert (SITE / "build-complete").is_file(), f"no whole site at {SITE.name}: run make site"
    return SITE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the whole site is run where there is one, by `make test-pages`."""
    for item in items:
        if isinstance(item, pytest.Function) and "real_site" in item.fixturenames:
            item.add_marker("pages")
