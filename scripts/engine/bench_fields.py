"""Write the name of every field that `vllm bench serve` puts into a result, read from its source.

Runs inside the engine's venv, from the root of the checkout:

    "$engine" scripts/engine/bench_fields.py > tests/oracle/recorded/bench_fields.json

Names that are made of a metric's keep the braces of the source, as {metric_attribute_name}.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

# The dictionaries that become the result, in vllm/benchmarks/serve.py.
RESULTS = {"result", "result_json", "probe_stats"}


def source() -> str:
    """The source of the benchmark, which is not imported."""
    package = importlib.util.find_spec("vllm")
    places = package.submodule_search_locations if package else None
    return Path(next(iter(places or ())), "benchmarks", "serve.py").read_text("utf-8")


def words(node: ast.expr | None) -> str | None:
    """A key as text; what is filled in stays in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            f"{{{ast.unparse(part.value)}}}"
            if isinstance(part, ast.FormattedValue)
            else words(part)
            for part in node.values
        )
        return "".join(filter(None, parts))
    return None


def names(tree: ast.AST) -> Iterator[str | None]:
    """Keys of the results, where they are made and where one is set."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and ast.unparse(target.value) in RESULTS:
                    yield words(target.slice)
                if ast.unparse(target) in RESULTS and isinstance(node.value, ast.Dict):
                    yield from map(words, node.value.keys)


def main() -> None:
    found = sorted(set(filter(None, names(ast.parse(source())))))
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
