"""Faults in what a page computes: examples, snippets and quoted figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.builder import Builder
from tests.site.faults import PAGE, PageFault, check_page_fault, fence, refused, run

pytestmark = pytest.mark.site

EXAMPLES = (
    PageFault(
        name="example raises",
        markdown=run("raise ValueError('tp=3 splits nothing')"),
        says="ValueError: tp=3 splits nothing",
    ),
    PageFault(
        name="hidden assert fails",
        markdown=run("assert 1 == 2, 'one is not two'  # markdown-exec: hide"),
        says="AssertionError: one is not two",
    ),
    PageFault(name="example is no Python", markdown=run("print(("), says="SyntaxError"),
    PageFault(
        name="example calls sys.exit(0)",
        markdown=run("import sys", "sys.exit(0)"),
        says="the build ended early",
        code=3,
    ),
    PageFault(
        name="example warns",
        markdown=run("import warnings", "warnings.warn('old name', DeprecationWarning)"),
        says="DeprecationWarning: old name",
    ),
    PageFault(
        name="option mistyped",
        markdown=fence('python exce="on"', "print(1)"),
        says="option 'exce' does not belong on this python block",
    ),
    PageFault(
        name="exec neither on nor off",
        markdown=fence('python exec="onn"', "print(1)"),
        says="option exec='onn' is not one of on",
    ),
    PageFault(
        name="language in capitals",
        markdown=fence('Python exec="on"', "print(1)"),
        says="fence language 'Python' is not one of",
    ),
    PageFault(name="no language", markdown=fence("", "x"), says="fence language '' is not one of"),
    PageFault(
        name="fence never closed",
        markdown='```python exec="on"\nprint(1)',
        says="fence is never closed",
    ),
    PageFault(
        name="fence header unreadable",
        markdown=fence("python exec=on", "print(1)"),
        says="fence header 'python exec=on' is not",
    ),
    PageFault(
        name="unknown source option",
        markdown=fence('python exec="on" source="over"', "print(1)"),
        says="option source='over' is not one of",
    ),
    PageFault(
        name="bash is run",
        markdown=fence('bash exec="on"', "false", "true"),
        says="a bash block is never run",
    ),
    PageFault(
        name="session of another page",
        markdown=fence('python exec="on" session="index"', "print(1)"),
        says='session must be "guide/estimate"',
    ),
    PageFault(
        name="python neither runs nor says why",
        markdown=fence("python", "print(1)"),
        says="python block neither runs",
    ),
    PageFault(
        name="the reason is blank",
        markdown=fence('python why=" "', "print(1)"),
        says="python block neither runs",
    ),
    PageFault(name="code block empty", markdown=fence("text", ""), says="code block is empty"),
    PageFault(name="HTML code block empty", markdown="<pre> </pre>", says="empty code block"),
)

SNIPPETS = (
    PageFault(
        name="snippet missing",
        markdown=fence("bash", '--8<-- "snippets/guide/gone.sh"'),
        says="snippets/guide/gone.sh",
    ),
    PageFault(
        name="snippet section missing",
        markdown=fence("bash", '--8<-- "snippets/guide/launch.sh:gone"'),
        says="gone",
    ),
    PageFault(
        name="snippet by line numbers",
        markdown=fence("bash", '--8<-- "snippets/guide/launch.sh:1:99"'),
        says='is not --8<-- "path"',
    ),
    PageFault(
        name="snippet marker cut short",
        markdown=fence("bash", '--8< "snippets/guide/launch.sh"'),
        says='is not --8<-- "path"',
    ),
    PageFault(
        name="snippet marker misspelt",
        markdown=fence("bash", '--9<-- "snippets/guide/launch.sh"'),
        says='is not --8<-- "path"',
    ),
)

FIGURES = (
    PageFault(
        name="figure unknown",
        markdown="It is {= tp9.tokens =}.",
        says="unknown figure 'tp9.tokens'",
    ),
    PageFault(
        name="attribute unknown",
        markdown="It is {= tp8.bytes =}.",
        says="unknown figure 'tp8.bytes'",
    ),
    PageFault(
        name="format unfit", markdown="It is {= tp8.tokens :q =}.", says="{= tp8.tokens :q =}"
    ),
    PageFault(
        name="expression", markdown="It is {= tp8.tokens * 2 =}.", says="is not: name.attribute"
    ),
    PageFault(
        name="figure is no number",
        markdown="It is {= tp8.ranks =}.",
        says="figure 'tp8.ranks' is a tuple",
    ),
    PageFault(
        name="figure in a heading",
        markdown="## All {= tp8.tokens =}",
        says="a value in a heading",
    ),
)


@pytest.mark.parametrize("fault", (*EXAMPLES, *SNIPPETS, *FIGURES), ids=str)
def test_build_refuses(fault: PageFault, mini: Path, builder: Builder) -> None:
    check_page_fault(fault, mini, builder)


def test_complaint_gives_the_line_in_the_file(mini: Path, builder: Builder) -> None:
    """Front matter counts too, or the number would lead nowhere."""
    page = mini / "docs" / PAGE
    page.write_text(page.read_text(encoding="utf-8") + "\n!!note\n", encoding="utf-8")
    line = page.read_text(encoding="utf-8").splitlines().index("!!note") + 1
    refused(builder.build(mini, mini.with_name("site")), 1, f"{PAGE}:{line}: '!!note' is not")
