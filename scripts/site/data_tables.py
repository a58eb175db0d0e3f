"""The tables that are published as JSON: what is in each, and the meaning of its fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Final

import data_rows as rows
from vllm_parallel.render.cards import markup
from vllm_parallel.render.html import permalink
from vllm_parallel.term import RELEASE

ADDRESS: Final = "address"
FOLDER: Final = "data"
PROVENANCES: Final = "`measured`, `datasheet` or `assumed`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One file: its name, the page in `docs/` that shows it, and its fields in their order.

    `fields` are Markdown of code in backticks. A null is what nobody knows, or what a row lacks.
    """

    name: str
    page: str
    says: str
    rows: Callable[[], rows.Rows]
    fields: dict[str, str]

    @property
    def path(self) -> str:
        """Its address below the root of the site."""
        return f"{FOLDER}/{self.name}.json"

    def text(self) -> str:
        """The file: what it holds, of which release, its fields and its rows.

        Raises:
            ValueError: a row whose fields are not those described.
        """
        found = list(self.rows())
        described = [*self.fields, ADDRESS]
        for row in found:
            if list(row) != described:
                raise ValueError(f"{self.path}: a row has {list(row)}, described is {described}")
        head = {
            "table": self.name,
            "says": self.says,
            "vllm": RELEASE,
            "fields": {**self.fields, ADDRESS: "where the site shows it, below its root"},
        }
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found)
        opening = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
        return f'{opening},\n "rows": [\n{lines}\n]\n}}\n'


TABLES: Final = (
    Table(
        name="constraints",
        page="reference/constraints.md",
        says="What vLLM refuses, in the order in which it is met",
        rows=rows.constraints,
        fields={
            "name": "the rule's name, which stays",
            "stage": "when it is met: `flags`, `config`, `load` or `memory`",
            "message": "vLLM's sentence, numbers in braces; null where it dies of a bare assert",
            "meaning": "our words for a bare assert, else null",
            "way_out": "what to change",
            "known": "`recorded` from the engine, `raised` by it, or `read` in its source",
            "source": "file and function in vLLM",
        },
    ),
    Table(
        name="flags",
        page="reference/flags.md",
        says="Every option of vLLM's commands, as its parsers list them",
        rows=rows.flags,
        fields={
            "command": "the command that takes it",
            "name": "its long name",
            "names": "all its names, those that turn it off included",
            "group": "its group in the command's help",
            "kind": "what a value looks like; `bool` takes none",
            "values": "how many, as argparse says it: null for one, else `?`, `*` or `+`",
            "default": "what counts where it is not given",
            "choices": "the values that are taken; empty: any",
            "keys": "the keys of a JSON object",
            "required": "whether the command needs it",
        },
    ),
    Table(
        name="metrics",
        page="reference/metrics.md",
        says="Every metric of `/metrics`, as vLLM registers it",
        rows=rows.metric_rows,
        fields={
            "name": "its name as served",
            "kind": "`counter`, `gauge` or `histogram`",
            "served": "the names of its samples",
            "labels": "the labels of each sample",
            "says": "vLLM's own words",
            "only_with": "what has to be on; null: every server has it",
        },
    ),
    Table(
        name="log-lines",
        page="reference/log-lines.md",
        says="Lines that `vllm-parallel log` knows",
        rows=rows.lines,
        fields={
            "name": "the line's name, which stays",
            "line": "the line, … in the place of its fields",
            "format": "its format in vLLM's source",
            "level": "its level",
            "by": "which process prints it",
            "often": "how often",
            "tells": "what to read from it",
            "symptom": "the symptom that it shows, or null",
            "release": "the release whose line it is",
            "source": "file and function in vLLM",
        },
    ),
    Table(
        name="bench-json",
        page="reference/bench-json.md",
        says="Every field of the result that `vllm bench serve` writes",
        rows=rows.bench_fields,
        fields={
            "name": "its name; `{P}` stands for a percentile",
            "section": "the part of the result",
            "unit": "the unit or kind of its value",
            "when": "when it is there",
            "says": "what it is",
        },
    ),
    Table(
        name="models",
        page="reference/models.md",
        says="The models of the catalog, each as one rank would hold it",
        rows=rows.models,
        fields={
            "name": "the name that `plan` and `batch` take",
            "architecture": "vLLM's class",
            "hub": "its names on the hub",
            "layers": "how many blocks are stacked",
            "attention": "query heads / KV heads × head size, and layers of other kinds",
            "experts": "of a layer; 0 in a dense model",
            "experts_per_token": "those that a token visits",
            "max_model_len": "the longest request, in tokens, that its config allows",
            "weight_bytes": "bytes of all weights at tp 1",
            "request_tokens": "the length of the request in the next field",
            "request_kv_bytes": "bytes of its KV cache at tp 1",
            "config_read_in": "where its config was read",
            "held_against": "a second source, or null",
            "page": "its own page on the site, which leads to its grid of layouts",
        },
    ),
    Table(
        name="gpus",
        page="reference/hardware.md",
        says="The GPUs of the catalog",
        rows=rows.gpus,
        fields={
            "name": "the name that `--gpu` takes",
            "label": "its name in full",
            "architecture": "NVIDIA's compute capability times ten, or AMD's `gfx` name",
            "runtime_memory_bytes": "what vLLM multiplies by `--gpu-memory-utilization`",
            "smi_memory_bytes": "what `nvidia-smi` shows; null where nobody wrote it down",
            "provenance": PROVENANCES,
            "source": "who saw it",
        },
    ),
    Table(
        name="rates",
        page="parallelism/price.md",
        says="The rates that the price of a step is computed with",
        rows=rows.rates,
        fields={
            "gpu": "the GPU",
            "name": "the rate",
            "value": "in seconds, bytes a second, operations a second, or a share",
            "provenance": PROVENANCES,
            "source": "where it stands",
        },
    ),
    Table(
        name="groups",
        page="reference/groups.md",
        says="The groups of each layout of 2 to 16 ranks whose widths are powers of two",
        rows=rows.groups,
        fields={
            "layout": "its widths",
            "ranks": "how many ranks it has",
            "groups": "by axis, the ranks of each group in vLLM's order; none of one rank",
        },
    ),
    Table(
        name="glossary",
        page="reference/glossary.md",
        says="The words of this site",
        rows=rows.words,
        fields={
            "term": "the word",
            "others": "other names for it",
            "says": "what it means here",
            "more": "the page that has more, below the root of the site",
        },
    ),
    Table(
        name="symptoms",
        page="guide/troubleshoot.md",
        says="What goes wrong, why, and what to do; code stands in backticks",
        rows=rows.symptoms,
        fields={
            "name": "the symptom's name, which stays",
            "sign": "what is seen",
            "cause": "the usual cause",
            "way_out": "what to do",
        },
    ),
)


def described() -> str:
    """Every table with its fields, under an anchor each."""
    return "\n".join(_described(table) for table in TABLES)


def _described(table: Table) -> str:
    fields = "".join(
        f"<dt><code>{name}</code></dt><dd>{markup(says)}</dd>"
        for name, says in table.fields.items()
    )
    anchor = f"data-{table.name}"
    return (
        f'<div class="entry fields" id="{anchor}"><p><a href="../../{table.path}">'
        f"<code>{table.path}</code></a>{permalink(anchor)} "
        f"{markup(table.says)}.</p><dl>{fields}</dl></div>"
    )


def index() -> str:
    """The file that lists the others."""
    listed = [{"table": one.name, "file": one.path, "says": one.says} for one in TABLES]
    return json.dumps({"vllm": RELEASE, "tables": listed}, indent=1) + "\n"


def line(table: Table, root: str) -> str:
    """What stands under the table on its page. `root` leads from there to the site's root."""
    return (
        f'<p class="as-data" data-search-exclude="yes">As data: <a href="{root}{table.path}">'
        f"<code>{escape(table.name)}.json</code></a>, "
        f'<a href="{root}about/formats/#data-{table.name}">what its fields mean</a>.</p>'
    )
