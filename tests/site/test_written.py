"""Slips that Markdown, HTML and the theme take without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig

import quoted
from fences import Source
from html_form import Form
from html_tree import parse
from tests.site.builder import ROOT, Builder
from tests.site.faults import OTHER_HOST, PageFault, append, check_page_fault, fence, refused, run
from written import code_problems, table_problems

FAULTS: Final = (
    PageFault(
        name="row with a cell too many",
        markdown="| a | b |\n|---|---|\n| 1 | 2 | 3 |",
        says="a row of 3 cells in a table of 2",
    ),
    PageFault(
        name="address with a blank",
        markdown='<a href="https://example.org/a b">a</a>',
        says="address with a blank in <a>: 'https://example.org/a b'",
    ),
    PageFault(name="tag left open", markdown="<div>", says="<div> in line"),
    PageFault(name="second title", markdown="# Again", says="a page has one title, and here are 2"),
    PageFault(
        name="anchor that moves with every example before it",
        markdown=run("print('## Made here')"),
        says="--made-here' counts the examples of all pages: give its block idprefix",
    ),
    PageFault(name="JSON", markdown=fence("json", '{"a": 1,}'), says="what it shows is no json: "),
    PageFault(name="TOML", markdown=fence("toml", "a = "), says="what it shows is no toml: "),
)


@pytest.mark.site
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_build_refuses(fault: PageFault, mini: Path, builder: Builder) -> None:
    check_page_fault(fault, mini, builder)


@pytest.mark.site
def test_a_page_without_a_title(mini: Path, builder: Builder) -> None:
    """The theme would show its name in the navigation instead."""
    (mini / "docs" / "index.md").write_text("Words.\n", encoding="utf-8")
    built = builder.build(mini, mini.with_name("site"))
    refused(built, 1, "index.md: a page has one title, and here are 0")


@pytest.mark.site
def test_a_script_that_asks_another_host(mini: Path, builder: Builder) -> None:
    append("docs/assets/javascripts/site.js", f'\nfetch("{OTHER_HOST}/a.json")\n')(mini)
    built = builder.build(mini, mini.with_name("site"))
    refused(built, 1, "assets/javascripts/site.js: external address in a script", OTHER_HOST)


@pytest.mark.parametrize(
    "rows",
    [
        "| a | b |\n|---|---|\n| `x|y` | 2 |",
        "| a | b |\n|---|---|\n| x\\|y | |",
        "| a |\n\n| b | c |",
    ],
)
def test_tables_that_are_even(rows: str) -> None:
    assert not list(table_problems(Source.of(rows).prose))


@pytest.mark.parametrize("body", ['{"a": …}', '--8<-- "a.json"', '{"a": 1}', ""])
def test_code_that_is_left_alone(body: str) -> None:
    (block,) = Source.of(fence("json", body)).fences
    assert not list(code_problems(block))


@pytest.mark.parametrize(
    "html",
    ["<p>one<p>two", "<ul><li>a<li>b</ul>", "<svg><path d='m0'/></svg><br>", "<input></div><br/>"],
)
def test_tags_that_match(html: str) -> None:
    assert len(Form.of(html).problems) == ("</div>" in html)


# Settings that nobody misses: what rests on them is only left out.


@pytest.fixture(scope="module")
def settings() -> MkDocsConfig:
    return load_config(str(ROOT / "mkdocs.yml"))


def test_checks_rest_on_settings(settings: MkDocsConfig) -> None:
    """A link, a page or a snippet that is not there is a warning, and a warning ends the build."""
    assert settings.strict, "strict has to be true"
    for name in ("omitted_files", "not_found", "absolute_links", "unrecognized_links"):
        place = settings.validation.nav if name == "omitted_files" else settings.validation.links
        assert place[name] == 30, f"validation: {name} has to be warn"
    snippets = settings.mdx_configs["pymdownx.snippets"]
    assert snippets["check_paths"] is True, "pymdownx.snippets: check_paths has to be true"


def features() -> Iterator[str]:
    """What the theme's templates and scripts ask for by name."""
    spec = find_spec("material")
    assert spec is not None
    assert spec.origin is not None
    templates = Path(spec.origin).parent / "templates"
    for path in (*templates.rglob("*.html"), *templates.rglob("bundle*.js")):
        yield from re.findall(r"""["']([a-z]+(?:\.[a-z]+)+)["']""", path.read_text("utf-8"))


def test_features_are_known_to_the_theme(settings: MkDocsConfig) -> None:
    unknown = set(settings.theme["features"]) - set(features())
    assert not unknown, f"the theme has no {', '.join(sorted(unknown))}"


def test_every_hook_is_called(settings: MkDocsConfig) -> None:
    """A module with a function of MkDocs' name does nothing unless the settings name it."""
    folder = ROOT / "scripts" / "site"
    hooks = {
        path.relative_to(ROOT).as_posix()
        for path in folder.glob("*.py")
        if re.search(r"^def on_(?:[a-z_]+)\(", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(hooks) > 4
    named = [str(name) for name in settings.hooks]
    assert not hooks - set(named), f"hooks that are not called: {hooks - set(named)}"
    assert named[-1].endswith("/checks.py"), "checks.py marks the build as whole: it comes last"


def test_sentences_of_vllm_are_quoted_exactly(tmp_path: Path) -> None:
    said = {"guide/check.md": quoted.sentences("`Model loading took`, `Model loading\nlasted …`")}
    page = '<div class="md-content__inner"><code>Model loading took 3 GiB</code></div>'
    pages = {"reference/log-lines.md": parse(page)}
    assert list(quoted.problems(said, pages, tmp_path)) == [
        "guide/check.md: 'Model loading lasted …' stands in no reference and in no log of a run"
    ]
    log = tmp_path / "run" / "tp1-serve.log"
    log.parent.mkdir()
    log.write_text("INFO Model loading lasted … 3 s", "utf-8")
    assert not list(quoted.problems(said, pages, tmp_path))
    assert not list(quoted.problems(said, {}, tmp_path / "none"))
