"""The table of symptoms: names that can be anchors, and words that say something."""

from __future__ import annotations

import re

import pytest

from vllm_parallel.symptoms import SYMPTOM, SYMPTOMS, Symptom


def test_names_are_anchors() -> None:
    assert len(SYMPTOM) == len(SYMPTOMS)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", symptom.name) for symptom in SYMPTOMS)


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.name)
def test_words(symptom: Symptom) -> None:
    """Each part is there, in one line, its code in pairs of backticks; no sentence ends it."""
    for text in (symptom.sign, symptom.cause, symptom.fix):
        assert text.isprintable()
        assert text.strip()
        assert "  " not in text
        assert text.count("`") % 2 == 0, text
        assert not text.endswith(".")


@pytest.mark.parametrize(
    "site, address",
    [
        ("", "guide/troubleshoot/#noise"),
        ("https://example.org", "https://example.org/guide/troubleshoot/#noise"),
        ("https://example.org/docs/", "https://example.org/docs/guide/troubleshoot/#noise"),
    ],
)
def test_address(site: str, address: str) -> None:
    assert SYMPTOM["noise"].address(site) == address
