"""One build server a session; a fresh copy of the small site a test; the real site once."""

from __future__ import annotations

import fcntl
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
def real_site(
    builder: Builder, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Built:
    """The site of this checkout. Workers of one run share it: the first that asks builds it."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    log, code, site = folder / "real.log", folder / "real.code", folder / "real"
    with (folder / "real.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not code.is_file():
            code.write_text(str(builder.build(ROOT, site).code), encoding="utf-8")
    built = int(code.read_text(encoding="utf-8"))
    return Built(code=built, output=log.read_text(encoding="utf-8"), site=site)
