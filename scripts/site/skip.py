"""MkDocs hook: the error page, too, begins with a link past its header, as all others do."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

ERROR_PAGE = "404.html"

_PLACE = re.compile(r'(<div data-md-component="skip">)\s*(</div>)')
_LINK = r'\1<a href="#not-found" class="md-skip">Skip to content</a>\2'


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Add the link, which the theme gives to pages with a table of contents only."""
    if template_name != ERROR_PAGE:
        return output
    output, found = _PLACE.subn(_LINK, output)
    if found != 1:
        raise PluginError(f"{ERROR_PAGE}: the theme has no place for a link past the header")
    return output
