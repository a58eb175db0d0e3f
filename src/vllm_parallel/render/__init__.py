"""Strings for pages and terminals. Nothing is computed here but widths of columns."""
