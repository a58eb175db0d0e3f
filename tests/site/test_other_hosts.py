"""What a browser would ask another host for, wherever a page or a style sheet says so."""

from __future__ import annotations

import pytest

from html_checks import external_assets, style_problems
from html_tree import parse

HOST = "https://cdn.example.org"


@pytest.mark.parametrize(
    ("markup", "says"),
    [
        (f'<script>fetch("{HOST}/a")</script>', f"external address in a script: {HOST}/a"),
        (
            f'<meta http-equiv="refresh" content="0; url={HOST}/">',
            f"external asset in <meta>: {HOST}/",
        ),
        (f'<form action="{HOST}/a"></form>', f"external asset in <form>: {HOST}/a"),
        (f'<button formaction="{HOST}/a">a</button>', f"external asset in <button>: {HOST}/a"),
        (
            f"<p style=\"background: image-set('{HOST}/a.png' 1x)\">a</p>",
            f"external asset in CSS: {HOST}/a.png",
        ),
    ],
)
def test_another_host_is_found(markup: str, says: str) -> None:
    assert list(external_assets(parse(markup))) == [says]


@pytest.mark.parametrize(
    "markup",
    [
        f'<a href="{HOST}/a">a link is followed by a reader only</a>',
        '<meta http-equiv="refresh" content="0; url=../new/">',
        '<script>document.createElementNS("http://www.w3.org/2000/svg", "g")</script>',
        '<script type="application/json">{"base": "..", "text": "a // b"}</script>',
    ],
)
def test_what_asks_no_other_host_passes(markup: str) -> None:
    assert list(external_assets(parse(markup))) == []


def test_style_sheets() -> None:
    comment = f"/* url({HOST}/a.css) is said, not asked */"
    assert list(style_problems(comment + "@namespace url('http://www.w3.org/1999/xhtml');")) == []
    for said in (f"@import '{HOST}/a';", f"a {{ b: image-set('{HOST}/a' 1x) }}"):
        assert list(style_problems(said)) == [f"external asset in CSS: {HOST}/a"]
