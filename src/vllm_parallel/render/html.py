"""HTML for pages: tables whose cells say where a figure comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from vllm_parallel.frozen import dataclass
from vllm_parallel.provenance import Provenance


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure and its provenance; None is text. With an anchor it can be linked, and is a link.

    `href` is the address of another site that the text links to.

    >>> Cell("issue 9", href="https://example.org/9?a&b").html()
    '<td><a href="https://example.org/9?a&amp;b">issue 9</a></td>'
    """

    text: str
    provenance: Provenance | None = None
    anchor: str = ""
    href: str = ""

    def html(self, tag: str = "td", *, aligned: bool = False) -> str:
        """The cell as markup; text that is `aligned` stands in a column of figures."""
        if self.anchor:
            name = escape(self.anchor)
            return f'<{tag} id="{name}"><a href="#{name}">{escape(self.text)}</a></{tag}>'
        if self.href:
            return f'<{tag}><a href="{escape(self.href)}">{escape(self.text)}</a></{tag}>'
        if self.provenance is None:
            mark = ' class="num"' if aligned else ""
            return f"<{tag}{mark}>{escape(self.text)}</{tag}>"
        return f'<{tag} class="num {self.provenance}">{escape(self.text)}</{tag}>'


def computed(text: str) -> Cell:
    """A figure that this package computed."""
    return Cell(text, Provenance.COMPUTED)


def permalink(anchor: str) -> str:
    """The sign behind a heading that leads to itself.

    >>> permalink("tp")
    '<a class="headerlink" href="#tp" title="Permanent link">¶</a>'
    """
    return f'<a class="headerlink" href="#{anchor}" title="Permanent link">¶</a>'


def row(name: str, figures: Iterable[str], kind: Provenance = Provenance.COMPUTED) -> list[Cell]:
    """Figures of one kind behind their name.

    >>> [cell.html() for cell in row("ranks", ["8"])]
    ['<td>ranks</td>', '<td class="num computed">8</td>']
    """
    return [Cell(name), *(Cell(figure, kind) for figure in figures)]


def table(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str, totals: Sequence[int] = ()
) -> str:
    """A table of figures; rows numbered in `totals` are set off.

    >>> print(table(("", "tp8"), [(Cell("ranks"), computed("8"))], caption="Ranks."))
    <table class="figures"><caption>Ranks.</caption><thead><tr><th></th><th class="num">tp8</th>\
</tr></thead><tbody>
    <tr><td>ranks</td><td class="num computed">8</td></tr>
    </tbody></table>
    """
    body = list(rows)
    figures = _figures(body, len(head))
    lines = [
        _line(cells, figures, ' class="total"' if number in totals else "")
        for number, cells in enumerate(body)
    ]
    return _framed(_head(head, figures), lines, caption)


def grouped(
    head: Sequence[str], blocks: Sequence[tuple[str, Sequence[Sequence[Cell]]]], *, caption: str
) -> str:
    """A table in blocks, each under a line of its own, which is markup."""
    figures = _figures([row for _, rows in blocks for row in rows], len(head))
    lines = []
    for about, rows in blocks:
        lines.append(f'<tr class="group"><td colspan="{len(head)}">{about}</td></tr>')
        lines += [_line(cells, figures) for cells in rows]
    return _framed(_head(head, figures), lines, caption)


def _figures(rows: Sequence[Sequence[Cell]], width: int) -> list[bool]:
    """Which columns hold figures."""
    return [any(row[n].provenance for row in rows) for n in range(width)]


def _head(names: Sequence[str], figures: Sequence[bool]) -> str:
    columns = zip(names, figures, strict=True)
    return "".join(Cell(name).html("th", aligned=figure) for name, figure in columns)


def _line(cells: Sequence[Cell], figures: Sequence[bool], mark: str = "") -> str:
    columns = zip(cells, figures, strict=True)
    return f"<tr{mark}>{''.join(cell.html(aligned=figure) for cell, figure in columns)}</tr>"


def _framed(head: str, lines: Sequence[str], caption: str) -> str:
    return (
        f'<table class="figures"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table>"
    )
