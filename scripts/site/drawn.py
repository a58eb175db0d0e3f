"""A drawing in its box, as pages show it."""

from __future__ import annotations


def placed(picture: str, title: str, standing: str = "Computed") -> str:
    """A picture over its title and how its figures are known."""
    return (
        f'<figure class="placement" tabindex="0" aria-label="{title}">{picture}'
        f"<figcaption>{title}. {standing}.</figcaption></figure>"
    )
