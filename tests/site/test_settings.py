"""Faults around the pages: settings, navigation, API, style sheets and how the build is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.builder import Builder
from tests.site.faults import OTHER_HOST, SiteFault, append, refused, replace

pytestmark = pytest.mark.site

SITE_FAULTS = (
    SiteFault(
        name="nav entry missing",
        edit=replace("mkdocs.yml", "api.md]", "api.md, gone.md]"),
        says=("gone.md", "not found"),
    ),
    SiteFault(
        name="page not in nav",
        edit=append("docs/stray.md", "# Stray\n"),
        says=("stray.md", "not included in the"),
    ),
    SiteFault(
        name="setting unknown",
        edit=append("mkdocs.yml", "site_nmae: x\n"),
        says=("site_nmae",),
    ),
    SiteFault(
        name="API object unknown",
        edit=append("docs/api.md", "\n::: tiny.gone\n"),
        says=("api.md", "tiny.gone"),
    ),
    SiteFault(
        name="docstring documents no parameter",
        edit=replace("src/tiny/__init__.py", "number: What", "figure: What"),
        says=("tiny", "figure"),
    ),
    SiteFault(
        name="external address in a style sheet",
        edit=append("docs/assets/stylesheets/site.css", f"a {{ background: url({OTHER_HOST}/a) }}"),
        says=("assets/stylesheets/site.css", f"{OTHER_HOST}/a"),
    ),
    SiteFault(
        name="external import in a style sheet",
        edit=append("docs/assets/stylesheets/site.css", f'@import "{OTHER_HOST}/a.css";'),
        says=("assets/stylesheets/site.css", f"{OTHER_HOST}/a.css"),
    ),
    SiteFault(
        name="external address in a drawing",
        edit=replace(
            "docs/assets/images/square.svg", "<rect", f'<image href="{OTHER_HOST}/a.png"/><rect'
        ),
        says=("assets/images/square.svg", f"external asset in <image>: {OTHER_HOST}/a.png"),
    ),
    SiteFault(
        name="no figures module",
        edit=lambda folder: (folder / "scripts/site/figures.py").unlink(),
        says=("index.md: there is no figures module at figures.py",),
    ),
)


@pytest.mark.parametrize("fault", SITE_FAULTS, ids=str)
def test_build_refuses(fault: SiteFault, mini: Path, builder: Builder) -> None:
    fault.edit(mini)
    refused(builder.build(mini, mini.with_name("site")), 1, *fault.says)


@pytest.mark.parametrize("option", ["-q", "-v"])
def test_quiet_and_verbose_are_refused(option: str, mini: Path, builder: Builder) -> None:
    built = builder.build(mini, mini.with_name("site"), option)
    refused(built, 1, "-q and -v switch strict checks off")
