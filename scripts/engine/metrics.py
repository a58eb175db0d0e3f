"""Write every metric that vLLM registers, as its own code registers them, as the package's data.

Runs inside the engine's venv, from the root of the checkout:

    "$engine" scripts/engine/metrics.py > src/vllm_parallel/engine/metrics/registered.json

vLLM's stat logger and its connectors are made, with a feature at a time, while the Prometheus
client notes what they register. Afterwards every name that the source spells is looked for among
them; one that was not registered ends the script.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

os.environ.update(VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1")

import vllm
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase
from vllm import envs
from vllm.config import VllmConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.engine.arg_utils import EngineArgs
from vllm.v1.metrics.loggers import PrometheusStatLogger
from vllm.v1.metrics.prometheus import unregister_vllm_metrics
from vllm.version import __version__

from tiny_model import CONFIG

Row = dict[str, object]

PREFIX = "vllm:"
WORDS = ("name", "documentation", "labelnames")  # the order of a metric's first words
SPELLED = re.compile(r"[\"'](vllm:[a-z][a-z0-9_]+)[\"']")
LABELS = ["model_name", "engine"]
# Names in the source that are beginnings of others, by which something is looked for.
BEGINNINGS = {"vllm:spec_decode", "vllm:diffusion"}
KINDS: dict[type, str] = {Counter: "counter", Gauge: "gauge", Histogram: "histogram"}
# With whom a connector's metrics come: the connector, and its extra config.
CONNECTORS: tuple[tuple[str, Row], ...] = (
    ("NixlConnector", {}),
    ("HF3FSKVConnector", {}),
    ("MooncakeStoreConnector", {}),
    ("HiSparseConnector", {}),
    ("SimpleCPUOffloadConnector", {}),
    ("OffloadingConnector", {"spec_name": "CPUOffloadingSpec"}),
    ("OffloadingConnector", {"spec_name": "CPUOffloadingSpec", "store_threshold": 2}),
    ("OffloadingConnector", {"spec_name": "TieringOffloadingSpec"}),
)

MODULES = (
    ("tool calls", "vllm.parser.metrics", "init_parser_metrics"),
    ("realtime audio", "vllm.entrypoints.speech_to_text.realtime.metrics", ""),
    ("weight transfer for RL", "vllm.entrypoints.rl.online.metrics", "weight_operation_metrics"),
    ("sleep mode", "vllm.entrypoints.serve.dev.sleep.metrics", "sleep_mode_operation_metrics"),
)


class Notes:
    """What was registered, by its name, and which feature is being tried."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.feature = ""

    def follow(self) -> None:
        """Have the client note every metric that is made, beside what it does."""
        ordinary: Callable[..., None] = MetricWrapperBase.__init__

        def noting(made: MetricWrapperBase, *words: object, **named: object) -> None:
            given = dict(zip(WORDS, words, strict=False)) | named
            name = str(given["name"])
            child = given.get("_labelvalues") is not None  # a metric with its labels, no new one
            if name.startswith(PREFIX) and not child:
                self.rows.setdefault(name, self.row(made, name, given))
            ordinary(made, *words, **named)

        MetricWrapperBase.__init__ = noting  # type: ignore[method-assign, assignment]  # followed

    def row(self, made: MetricWrapperBase, name: str, given: Row) -> Row:
        """One metric, with the name under which it is served."""
        kind = next(word for cls, word in KINDS.items() if isinstance(made, cls))
        labels = given.get("labelnames", ())
        total = "_total" if kind == "counter" and not name.endswith("_total") else ""
        return {
            "name": name + total,
            "kind": kind,
            "labels": [str(label) for label in labels] if isinstance(labels, Iterable) else [],
            "says": " ".join(str(given["documentation"]).split()),
            "feature": self.feature,
        }


def config() -> VllmConfig:
    """The engine config of a small model."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(CONFIG), "utf-8")
        args = EngineArgs(model=folder, skip_tokenizer_init=True, load_format="dummy")
        return args.create_engine_config()


def log(made: VllmConfig) -> None:
    """Make the logger of an engine, which registers its metrics."""
    PrometheusStatLogger(made, [0]).log_metrics_info("cache_config", made.cache_config)


def features(made: VllmConfig) -> Iterator[tuple[str, Callable[[], object]]]:
    """What has to be on for a metric, in the words of a page, and what then registers it."""
    yield "", lambda: log(made)
    cache = replaced(made.observability_config, kv_cache_metrics=True)
    draft = SimpleNamespace(num_speculative_tokens=2)
    receiver = SimpleNamespace(is_kv_consumer=True, kv_connector=None)
    for words, changes in (
        ("`--kv-cache-metrics`", {"observability_config": cache}),
        ("`--enable-lora`", {"lora_config": SimpleNamespace(max_loras=1)}),
        ("`--speculative-config`", {"speculative_config": draft}),
        ("`--watermark-config`", {"watermark_config": SimpleNamespace()}),
        ("a KV connector that receives", {"kv_transfer_config": receiver}),
    ):
        yield words, partial(log, replaced(made, **changes))
    model = replaced(made.model_config, is_diffusion=True)
    yield (
        "a diffusion model",
        partial(log, replaced(made, model_config=model, speculative_config=None)),
    )
    yield "`VLLM_COMPUTE_NANS_IN_LOGITS=1`", partial(with_nans, made)
    for name, extra in CONNECTORS:
        words = ", ".join([f"`{name}`", *(f"`{key}` {value}" for key, value in extra.items())])
        yield words, partial(connector, made, name, extra)
    for words, module, call in MODULES:
        yield words, partial(of_module, module, call)


def replaced(noun: VllmConfig, **changes: object) -> VllmConfig:
    """A config that answers as another one does, except for what is changed."""

    class Changed:
        def __getattr__(self, name: str) -> object:
            return changes[name] if name in changes else getattr(noun, name)

    return Changed()


def with_nans(made: VllmConfig) -> None:
    envs.environment_variables["VLLM_COMPUTE_NANS_IN_LOGITS"] = lambda: True
    log(made)


def connector(made: VllmConfig, name: str, extra: Row) -> None:
    """Have a KV connector register its metrics."""
    asked = SimpleNamespace(
        kv_connector=name, kv_connector_module_path=None, kv_connector_extra_config=extra
    )
    observed = replaced(made.observability_config, kv_cache_metrics=True)
    settings = replaced(made, kv_transfer_config=asked, observability_config=observed)
    found = KVConnectorFactory.get_connector_class(asked)
    types = {kind: kind for kind in KINDS}
    found.build_prom_metrics(settings, types, LABELS, {0: ["m", "0"]})


def of_module(name: str, call: str) -> None:
    """Import what registers metrics by itself, and call what does when it is first used."""
    module = importlib.import_module(name)
    if call:
        getattr(module, call)(**({"model_name": "m"} if "parser" in name else {}))


def spelled() -> set[str]:
    """Every name that vLLM's source spells."""
    folder = Path(vllm.__file__).parent
    texts = (file.read_text("utf-8") for file in folder.rglob("*.py"))
    return {name for text in texts if PREFIX in text for name in SPELLED.findall(text)}


def main() -> None:
    notes = Notes()
    notes.follow()
    for notes.feature, register in features(config()):
        unregister_vllm_metrics()
        register()
    missing = spelled() - BEGINNINGS - notes.rows.keys()
    if missing:
        sys.exit(f"not registered: {', '.join(sorted(missing))}")
    release = __version__.split("+")[0]
    json.dump({"release": release, "metrics": list(notes.rows.values())}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
