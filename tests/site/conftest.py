"""One build server a session; a fresh copy of the small site a test; the real site once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.builder import ROOT, Builder, Built, build_server, copy_mini


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
def real_site(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return builder.build(ROOT, tmp_path_factory.mktemp("real") / "site")
