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

    def html(self, tag: str = "td") -> str:
        """The cell as markup."""
        if self.anchor:
            name = escape(self.anchor)
            return f'<{tag} id="{name}"><a href="#{name}">{escape(self.text)}</a></{tag}>'
        if self.href:
            return f'<{tag}><a href="{escape(self.href)}">{escape(self.text)}</a></{tag}>'
        if self.provenance is None:
            return f"<{tag}>{escape(self.text)}</{tag}>"
        return f'<{tag} class="num {self.provenance}">{escape(self.text)}</{tag}>'


def computed(text: str) -> Cell:
    """A figure that this package computed."""
    return Cell(text, Provenance.COMPUTED)


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
    figures = [any(row[n].provenance for row in body) for n in range(len(head))]
    names = "".join(
        f"<th{' class=' + chr(34) + 'num' + chr(34) if figure else ''}>{escape(name)}</th>"
        for name, figure in zip(head, figures, strict=True)
    )
    lines = []
    for number, row in enumerate(body):
        mark = ' class="total"' if number in totals else ""
        lines.append(f"<tr{mark}>{''.join(cell.html() for cell in row)}</tr>")
    return (
        f'<table class="figures"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table>"
    )
