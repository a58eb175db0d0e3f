"""What vLLM counts and writes, beside the package's lists of metrics and of result fields."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from served import Served
from vllm_parallel.engine.bench_results import Sweep
from vllm_parallel.engine.bench_results.written import WRITTEN
from vllm_parallel.engine.metrics import Snapshot
from vllm_parallel.engine.metrics.registered import PREFIX, metrics, served_names
from vllm_parallel.engine.metrics.snapshot import OLD_USAGE
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.frozen import fields

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The script that asks vLLM for a list, and the file that has it.
LISTS: Mapping[str, Path] = {
    "metrics.py": ROOT / "src" / "vllm_parallel" / "engine" / "metrics" / "registered.json",
    "model_types.py": ROOT / "src/vllm_parallel/catalog/families/model_types.json",
    "bench_fields.py": ROOT / "tests" / "oracle" / "recorded" / "bench_fields.json",
}


def asked(python: str, script: str) -> str:
    """A list as vLLM gives it now."""
    command = [python, str(HERE / script)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def of_lists(python: str) -> Iterator[str]:
    """Lists that vLLM would give otherwise than they are recorded."""
    for script, file in LISTS.items():
        if json.loads(asked(python, script)) != json.loads(file.read_text("utf-8")):
            yield f"{file.name} is not what {script} writes: make record ONLY={Path(script).stem}"


def of_metrics(served: Served) -> Iterator[str]:
    """Metrics that a server has and the list lacks, or the other way round; names of pages."""
    names = set(re.findall(rf"^({PREFIX}\w+)", served.metrics, re.MULTILINE))
    for name in sorted(names - served_names()):
        yield f"/metrics has {name}, which the reference lacks"
    for metric in metrics().values():
        if not metric.feature and names.isdisjoint(metric.served):
            yield f"/metrics has no {metric.name}, which the reference gives every server"
    listed = served_names() | metrics().keys() | {OLD_USAGE}
    bases = {name.removesuffix("_total") for name in metrics()}
    for name in sorted(quoted_metrics() - listed - bases):
        yield f"a page quotes {name}, which vLLM does not register"


def of_readings(served: Served) -> Iterator[str]:
    """What the readers say of a server's metrics and of a benchmark's result."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.prom").write_text(served.metrics, "utf-8")
        Path(folder, "a-c2-r1.json").write_text(json.dumps(served.bench), "utf-8")
        try:
            reading = Snapshot.of_file(Path(folder, "a.prom"))
            sweep = Sweep.of([Path(folder)])
        except VllmParallelError as error:
            yield f"not read: {error}"
            return
    yield from reading.notes
    yield from sweep.notes
    engine = reading.engines[0]
    unknown = [one.name for one in fields(engine) if getattr(engine, one.name) is None]
    yield from (f"/metrics says nothing of {name}" for name in unknown)
    if not sweep.whole:
        yield f"the benchmark's row is not comparable: {sweep.rows[0].doubts}"
    names = {re.sub(r"^p[0-9.]+_", "p{P}_", name) for name in served.bench}
    for name in sorted(names - {row.name for row in WRITTEN}):
        yield f"a result has {name}, which the reference lacks"


def quoted_metrics() -> set[str]:
    """The metrics of vLLM that pages name."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages += sorted((ROOT / "scripts" / "site").glob("*.toml"))
    texts = (page.read_text("utf-8") for page in pages)
    return {name for text in texts for name in re.findall(rf"{PREFIX}\w+", text)}
