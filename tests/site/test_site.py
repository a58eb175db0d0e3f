"""The small site as it should be, and the real one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.builder import Builder, Built
from tests.site.faults import append, run

pytestmark = pytest.mark.site

# Oracle for "no other host": plain patterns over the built text, none of the hook's code.
FETCHING_TAG = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|track|image|use|input)\b[^>]*?"
    r"""\s(?:src|srcset|data|href|xlink:href|poster)\s*=\s*["']?\s*(?:https?:)?//[^>]*""",
    re.IGNORECASE,
)
FETCHING_LINK = re.compile(
    r"""<link\b(?![^>]*rel=["']?(?:canonical|prev|next))[^>]*href=["']?(?:https?:)?//[^>]*""",
    re.IGNORECASE,
)
FETCHING_STYLE = re.compile(
    r"""(?:url\(\s*|@import\s+)["']?(?:https?:)?//[^\s"')]*""", re.IGNORECASE
)


@pytest.fixture
def clean(mini: Path, builder: Builder, tmp_path: Path) -> Built:
    built = builder.build(mini, tmp_path / "site")
    assert built.code == 0, built.output
    return built


def test_clean_site_is_marked_whole(clean: Built) -> None:
    assert (clean.site / "build-complete").read_text(encoding="utf-8") == "3 pages\n"


def test_values_show_the_figures_module(clean: Built) -> None:
    page = clean.page("index.html")
    assert (
        '<data class="computed" data-name="tp8.tokens" title="computed: tp8.tokens" '
        'value="1368448">1,368,448</data>' in page
    )
    assert ">12.5%</data>" in page
    assert "<code>{= tp8.tokens =}</code>" in page


def test_page_shows_code_result_and_snippet_but_no_reason(clean: Built) -> None:
    page = clean.page("guide/estimate/index.html")
    assert '<td style="text-align: right;">4</td>' in page
    assert "An example sees the same 1,368,448 tokens." in page
    assert "--tensor-parallel-size" in page
    assert "[start:tp2]" not in page
    assert "needs a GPU" not in page
    assert "markdown-exec" not in page


def test_pages_link_to_anchors_of_generated_html(
    mini: Path, builder: Builder, tmp_path: Path
) -> None:
    """MkDocs itself sees the anchors of Markdown only."""
    made = run("print('<p id=\"made\">A row of a table.</p>')")
    append("docs/guide/estimate.md", f"\n{made}\n")(mini)
    append("docs/index.md", "\n[a row](guide/estimate.md#made)\n")(mini)
    built = builder.build(mini, tmp_path / "site")
    assert built.code == 0, built.output
    assert 'href="guide/estimate/#made"' in built.page("index.html")


def test_published_address_is_no_external_asset(
    mini: Path, builder: Builder, tmp_path: Path
) -> None:
    append("mkdocs.yml", "site_url: https://example.org/under/here/\n")(mini)
    built = builder.build(mini, tmp_path / "site")
    assert built.code == 0, built.output
    assert '<link rel="canonical" href="https://example.org/under/here/">' in built.page(
        "index.html"
    )


def test_doctest_of_a_docstring_is_shown_as_code(clean: Built) -> None:
    page = clean.page("api/index.html")
    assert '<span class="gp">&gt;&gt;&gt; </span>' in page
    assert "<blockquote>" not in page


def test_warning_withholds_the_marker_even_when_not_strict(
    mini: Path, builder: Builder, tmp_path: Path
) -> None:
    (mini / "docs" / "stray.md").write_text("# Not in the navigation\n", encoding="utf-8")
    built = builder.build(mini, tmp_path / "site", "--no-strict")
    assert built.code == 0, built.output
    assert not (built.site / "build-complete").exists()


def test_second_build_of_one_process_shows_the_edited_package(mini: Path) -> None:
    """`mkdocs serve` rebuilds in one process: the package must not be the one of its start."""
    package = mini / "src" / "vllm_parallel"
    package.mkdir()
    (package / "__init__.py").write_text("TOKENS = 111\n", encoding="utf-8")
    figures = mini / "scripts" / "site" / "figures.py"
    figures.write_text(
        "from types import SimpleNamespace\n\nfrom vllm_parallel import TOKENS\n\n"
        "tp8 = SimpleNamespace(tokens=TOKENS, share=0.5)\n",
        encoding="utf-8",
    )
    program = (
        "import logging, pathlib, sys\n"
        "sys.dont_write_bytecode = True\n"
        "sys.path.insert(0, 'src')\n"
        "from mkdocs.commands.build import build\n"
        "from mkdocs.config import load_config\n"
        "logging.getLogger('mkdocs').setLevel(logging.INFO)\n"
        "def once():\n"
        "    build(load_config('mkdocs.yml', site_dir='built'))\n"
        "    return pathlib.Path('built/index.html').read_text()\n"
        "first = once()\n"
        "pathlib.Path('src/vllm_parallel/__init__.py').write_text('TOKENS = 2222')\n"
        "second = once()\n"
        "print('>111<' in first, '>2,222<' in second)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=mini, capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines()[-1:] == ["True True"], ran.stdout + ran.stderr


def test_real_site_is_whole(real_site: Path) -> None:
    assert (real_site / "build-complete").is_file()


def test_real_site_fetches_from_no_other_host(real_site: Path) -> None:
    for path in real_site.rglob("*"):
        if path.suffix in {".html", ".css", ".svg"}:
            text = path.read_text(encoding="utf-8")
            for pattern in (FETCHING_TAG, FETCHING_LINK, FETCHING_STYLE):
                match = pattern.search(text)
                assert match is None, f"{path.name}: {match}"
