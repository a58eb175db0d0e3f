"""Faults in a notebook: MkDocs checks nothing of what one becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.site.builder import Builder, Built
from tests.site.faults import refused, replace

pytestmark = pytest.mark.site

NOTEBOOK: Final = "notebooks/decide.py"
GOOD: Final = """# %% [markdown]
# # Which layout?
#
# See [the estimate](../../guide/estimate/#the-table).

# %%
print(sum([number for number in (2, 3)]))
"""


def built(mini: Path, builder: Builder, text: str) -> Built:
    target = mini / "docs" / NOTEBOOK
    target.parent.mkdir()
    target.write_text(text, encoding="utf-8")
    replace("mkdocs.yml", "api.md]", f"api.md, {NOTEBOOK}]")(mini)
    return builder.build(mini, mini.with_name("site"))


def test_a_notebook_is_run(mini: Path, builder: Builder) -> None:
    done = built(mini, builder, GOOD)
    assert done.code == 0, done.output
    assert "<pre>5\n</pre>" in done.page("notebooks/decide/index.html")


def test_a_cell_that_fails_ends_the_build(mini: Path, builder: Builder) -> None:
    refused(built(mini, builder, f"{GOOD}\n# %%\n1 / 0\n"), 1, "ZeroDivisionError")


def test_links_anchors_and_ids_are_checked(mini: Path, builder: Builder) -> None:
    faults = (
        "\n# %% [markdown]\n# [a](../guide/estimate.md) [b](../../guide/estimate/#gone)\n"
        '# <p id="twice">a</p><p id="twice">b</p>\n'
    )
    refused(
        built(mini, builder, GOOD + faults),
        1,
        f"{NOTEBOOK}: dead link in <a>: '../guide/estimate.md'",
        f"{NOTEBOOK}: dead anchor in <a>: '../../guide/estimate/#gone'",
        f"{NOTEBOOK}: duplicate id: 'twice'",
    )


def test_anchors_into_a_notebook_are_checked(mini: Path, builder: Builder) -> None:
    page = mini / "docs/guide/estimate.md"
    page.write_text(page.read_text("utf-8") + '\n<a href="../../notebooks/decide/#gone">x</a>\n')
    says = "guide/estimate.md: dead anchor in <a>: '../../notebooks/decide/#gone'"
    refused(built(mini, builder, GOOD), 1, says)


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("execute: true", "execute: false", "execute has to be true"),
        ("allow_errors: false", "allow_errors: true", "allow_errors has to be false"),
        ("cache: false", "cache: true", "cache has to be false"),
    ],
)
def test_settings_that_hide_faults_are_refused(
    old: str, new: str, says: str, mini: Path, builder: Builder
) -> None:
    replace("mkdocs.yml", old, new)(mini)
    refused(builder.build(mini, mini.with_name("site")), 1, f"mkdocs-jupyter: {says}")


def test_what_a_cell_prints_in_pieces_is_one_block(mini: Path, builder: Builder) -> None:
    """Where the pieces end is a matter of time."""
    pieces = "print(1, flush=True)\nprint(2, flush=True)\nprint(3)\n"
    done = built(mini, builder, f"# %% [markdown]\n# # Which layout?\n\n# %%\n{pieces}")
    assert done.code == 0, done.output
    page = done.page("notebooks/decide/index.html")
    assert "<pre>1\n2\n3\n</pre>" in page
    assert 'id="cell-id=1"' in page
