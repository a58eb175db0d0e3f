"""SVG elements as text: deterministic, escaped, without styles of their own."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from vllm_parallel.frozen import dataclass


def element(tag: str, body: str = "", **attributes: str | int) -> str:
    """One element; `_` in a name stands for `-`, and a trailing one is dropped.

    >>> element("text", "a < b", x=4, class_="rp-label")
    '<text x="4" class="rp-label">a &lt; b</text>'
    """
    return wrap(tag, escape(body), **attributes)


def wrap(tag: str, inner: str, **attributes: str | int) -> str:
    """One element around markup that is escaped already."""
    names = {name: name.rstrip("_").replace("_", "-") for name in attributes}
    given = "".join(f" {names[key]}={quoteattr(str(value))}" for key, value in attributes.items())
    return f"<{tag}{given}>{inner}</{tag}>" if inner else f"<{tag}{given}/>"


def short(number: float) -> str:
    """A length or place on a picture, to a tenth.

    >>> short(12.0), short(0.25)
    ('12', '0.2')
    """
    return f"{number:.1f}".removesuffix(".0")


def box(place: tuple[float, int, float, int], number: int) -> str:
    """A part of a bar in the colour of its number; the place is left, top, length, height."""
    left, top, length, height = place
    return element(
        "rect", x=short(left), y=top, width=short(length), height=height,
        class_=f"rp-cell rp-g{number}",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole image that a screen reader can read; `ident` is unique on its page."""

    ident: str
    title: str
    desc: str
    width: int
    height: int

    def drawn(self, parts: list[str]) -> str:
        """The image around its parts."""
        head = [
            element("title", self.title, id=f"{self.ident}-t"),
            element("desc", self.desc, id=f"{self.ident}-d"),
        ]
        return wrap(
            "svg",
            "".join([*head, *parts]),
            class_="rp-diagram",
            role="img",
            aria_labelledby=f"{self.ident}-t {self.ident}-d",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
        )
