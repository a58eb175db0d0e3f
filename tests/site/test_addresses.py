"""Addresses are promises: `addresses.txt` lists every page's, and none disappears.

A new page adds its line, unless it is a model's, which comes of itself; one that moves keeps it,
and gets one in `scripts/site/moved.toml`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from mkdocs.config import load_config

from tests.site.builder import ROOT, Builder
from tests.site.faults import append
from vllm_parallel import model_names

LIST: Final = Path(__file__).with_name("addresses.txt")
PINNED: Final = LIST.read_text(encoding="utf-8").splitlines()


def addresses(site: Path) -> list[str]:
    """Address of every page of a built site, relative to its root, sorted."""
    pages = (page.relative_to(site).as_posix() for page in site.rglob("*.html"))
    return sorted(page if "/" not in page else page.removesuffix("index.html") for page in pages)


def test_the_list_is_in_order() -> None:
    assert sorted(set(PINNED)) == PINNED


@pytest.mark.site
def test_every_page_is_where_it_was(real_site: Path) -> None:
    built = addresses(real_site)
    assert not set(PINNED) - set(built), "pages that have disappeared: moved.toml says where"
    generated = {f"models/{name}/" for name in model_names()}
    assert not set(built) - set(PINNED) - generated, f"pages that {LIST.name} does not list"


@pytest.mark.site
def test_addresses_of_the_small_site(mini: Path, builder: Builder) -> None:
    built = builder.build(mini, mini.with_name("site"))
    assert addresses(built.site) == ["404.html", "api/", "guide/estimate/", "index.html"]


def test_addresses_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = str(ROOT / "mkdocs.yml")
    monkeypatch.delenv("SITE_URL", raising=False)
    monkeypatch.delenv("REPO_URL", raising=False)
    bare = load_config(settings)
    assert (bare.site_url or "", bare.repo_url or "") == ("", "")
    monkeypatch.setenv("SITE_URL", "https://docs.example.org/parallel/")
    monkeypatch.setenv("REPO_URL", "https://github.com/example/parallel")
    given = load_config(settings)
    assert given.site_url == "https://docs.example.org/parallel/"
    assert (given.repo_url, given.repo_name) == ("https://github.com/example/parallel", "GitHub")


@pytest.mark.site
def test_nothing_is_made_up_without_addresses(mini: Path, builder: Builder, tmp_path: Path) -> None:
    page = builder.build(mini, tmp_path / "bare").page("index.html")
    for made_up in ('rel="canonical"', 'rel="edit"', "md-source", 'title="Edit'):
        assert made_up not in page
    append("mkdocs.yml", "repo_url: https://github.com/example/parallel\n")(mini)
    page = builder.build(mini, tmp_path / "given").page("index.html")
    assert 'href="https://github.com/example/parallel/edit/main/docs/index.md"' in page
