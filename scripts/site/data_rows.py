"""Rows of the tables that are published as JSON, a function a table, read from the package.

A row's `address` is the place on the site where it stands, below the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import glossary
import group_tables
from catalog_tables import held, shape_of
from vllm_parallel import RULES, Axis, all_groups, gpu_names, load_gpu, load_model, model_names
from vllm_parallel.catalog.hub import hub_names
from vllm_parallel.catalog.rates import rate_table, rated_gpus
from vllm_parallel.catalog.sources import model_sources
from vllm_parallel.constraints import Constraint
from vllm_parallel.engine.bench_results.written import SECTIONS
from vllm_parallel.engine.log.lines import LINES
from vllm_parallel.engine.metrics.registered import metrics as registered
from vllm_parallel.engine.options import commands, options
from vllm_parallel.render import log_lines, metrics
from vllm_parallel.render.flags import ident
from vllm_parallel.symptoms import SYMPTOMS
from vllm_parallel.verdict import MEMORY_RULES

Rows = Iterator[dict[str, object]]
REFERENCE: Final = "reference"


def constraints() -> Rows:
    """Every rule, in the order in which vLLM meets them."""
    rules: list[Constraint[Any]] = [*RULES, *MEMORY_RULES]
    for rule in rules:
        yield {
            "name": rule.name,
            "stage": rule.stage.value,
            "message": None if rule.bare else rule.sentence,
            "meaning": rule.sentence if rule.bare else None,
            "way_out": rule.advice,
            "known": rule.known.value,
            "source": rule.source,
            "address": f"{REFERENCE}/constraints/#{rule.name}",
        }


def flags() -> Rows:
    """Every option of every command."""
    for command in commands():
        for option in options(command).values():
            yield {
                "command": f"vllm {command}",
                "name": option.name,
                "names": list(option.names),
                "group": option.group,
                "kind": option.kind,
                "values": option.nargs,
                "default": option.default,
                "choices": list(option.choices),
                "keys": list(option.keys),
                "required": option.required,
                "address": f"{REFERENCE}/flags/#{ident(command, option)}",
            }


def metric_rows() -> Rows:
    """Every metric."""
    for metric in registered().values():
        yield {
            "name": metric.name,
            "kind": metric.kind,
            "served": list(metric.served),
            "labels": list(metric.labels),
            "says": metric.says,
            "only_with": metric.feature or None,
            "address": f"{REFERENCE}/metrics/#{metrics.anchor(metric)}",
        }


def lines() -> Rows:
    """Every log line."""
    for line in LINES:
        yield {
            "name": line.name,
            "line": log_lines.printed(line),
            "format": line.says,
            "level": line.level,
            "by": line.by,
            "often": line.often,
            "tells": line.check,
            "symptom": line.symptom,
            "release": line.release,
            "source": line.source,
            "address": f"{REFERENCE}/log-lines/#{log_lines.anchor(line)}",
        }


def bench_fields() -> Rows:
    """Every field of a benchmark's result."""
    for section, fields in SECTIONS:
        for one in fields:
            yield {
                "name": one.name,
                "section": section,
                "unit": one.unit,
                "when": one.when,
                "says": one.says,
                "address": f"{REFERENCE}/bench-json/#{one.anchor}",
            }


def models() -> Rows:
    """Every model of the catalog."""
    sources = model_sources()
    for name in model_names():
        model = load_model(name)
        source, bytes_of = sources[name], held(name)
        experts = model.experts
        yield {
            "name": name,
            "architecture": model.architecture,
            "hub": list(hub_names().get(name, ())),
            "layers": model.layers,
            "attention": shape_of(model),
            "experts": 0 if experts is None else experts.count,
            "experts_per_token": 0 if experts is None else experts.per_token,
            "max_model_len": model.context.max_model_len,
            "weight_bytes": bytes_of.weight_bytes,
            "request_tokens": bytes_of.request_tokens,
            "request_kv_bytes": bytes_of.request_bytes,
            "config_read_in": source.config,
            "held_against": source.check,
            "page": f"models/{name}/",
            "address": f"{REFERENCE}/models/#{name}",
        }


def gpus() -> Rows:
    """Every GPU of the catalog."""
    for name in gpu_names():
        gpu = load_gpu(name)
        yield {
            "name": name,
            "label": gpu.label,
            "architecture": gpu.architecture,
            "runtime_memory_bytes": gpu.runtime_memory_bytes,
            "smi_memory_bytes": gpu.smi_memory_bytes,
            "provenance": gpu.provenance.value,
            "source": gpu.source,
            "address": f"{REFERENCE}/hardware/#{name}",
        }


def rates() -> Rows:
    """Every rate that a step is priced with."""
    for gpu in rated_gpus():
        for name, rate in rate_table(gpu).items():
            yield {
                "gpu": gpu,
                "name": name,
                "value": rate.value,
                "provenance": rate.provenance.value,
                "source": rate.source,
                "address": "parallelism/price/#what-the-rates-are",
            }


def groups() -> Rows:
    """The groups of every layout of the grid."""
    for layout in group_tables.grid():
        found = {axis.value: [list(one.ranks) for one in all_groups(layout, axis)] for axis in Axis}
        yield {
            "layout": str(layout),
            "ranks": layout.ranks,
            "groups": {axis: rows for axis, rows in found.items() if len(rows[0]) > 1},
            "address": f"{REFERENCE}/groups/#{group_tables.ident(layout)}",
        }


def words() -> Rows:
    """Every word of the glossary."""
    for word in glossary.words():
        yield {
            "term": word.term,
            "others": list(word.others),
            "says": glossary.plain(word.says),
            "more": word.page,
            "address": f"{REFERENCE}/glossary/#{word.ident}",
        }


def symptoms() -> Rows:
    """Every symptom."""
    for symptom in SYMPTOMS:
        yield {
            "name": symptom.name,
            "sign": symptom.sign,
            "cause": symptom.cause,
            "way_out": symptom.fix,
            "address": symptom.address(),
        }
