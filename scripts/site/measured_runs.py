"""MkDocs hook: the site is not built with a measured run that does not agree with itself.

A run also has checksums, so that a file which was edited after the measurement is noticed.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError


def on_pre_build(config: MkDocsConfig) -> None:
    """Check every run under `results/`; what is wrong with each is said at once."""
    results = Path(config.config_file_path).parent / "results"
    if not results.is_dir():
        return
    # The package is loaded anew for every build.
    runs = importlib.import_module("vllm_parallel.runs")
    errors = importlib.import_module("vllm_parallel.errors")
    found = []
    for folder in runs.run_folders(results):
        try:
            check = runs.Check.of(folder)
        except errors.ParseError as error:
            found.append(str(error))
            continue
        wrong = [one for one in check.findings if one.sort is not runs.Sort.REMARK]
        found += [f"results/{folder.name}: {one}" for one in wrong]
        if not (folder / runs.SEAL).exists():
            found.append(f"results/{folder.name} has no {runs.SEAL}; write it by run check --seal")
    if found:
        raise PluginError("\n".join(found))
