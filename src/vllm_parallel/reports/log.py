"""The command `log`: what a log of `vllm serve` says, beside the estimate of its deployment."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from vllm_parallel.catalog import load_gpu, model_source
from vllm_parallel.engine.inputs import CHUNK
from vllm_parallel.engine.log import ServeLog, are_nodes, merged, read, read_file
from vllm_parallel.engine.options import options
from vllm_parallel.engine.topology import Topology
from vllm_parallel.engine.values import given_value
from vllm_parallel.errors import ParseError, VllmParallelError
from vllm_parallel.reports.beside import Beside
from vllm_parallel.reports.launched import Launched, Meant, why_not
from vllm_parallel.reports.log_answer import answers
from vllm_parallel.reports.progress import Progress
from vllm_parallel.reports.shown import Shown
from vllm_parallel.reports.words import differences
from vllm_parallel.symptoms import SYMPTOM

TAKES_LAUNCH_OPTIONS: Final = True
STANDARD_INPUT: Final = "-"
ANSWERED: Final = 0
NOT_ALL: Final = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command; those of `vllm serve` say what was meant."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="what vllm serve printed; - reads a pipe"
    )
    parser.add_argument("--model", help="in place of the one that the log names")
    parser.add_argument("--gpu", help="GPU of the catalog, in place of a guess by its memory")
    parser.add_argument("--as-bf16", action="store_true", default=None, help="unquantised twin")
    parser.add_argument(
        "--merge",
        action="store_true",
        help="the files are nodes of one deployment, whatever they say",
    )
    parser.add_argument("--topo", metavar="FILE", help="what nvidia-smi topo -m printed")
    parser.add_argument("--json", action="store_true", help="print an answer a line, as JSON")


def run(given: argparse.Namespace) -> int:
    """Print what each file says; 1 if a start failed or a file was not read."""
    meant = Meant(
        model=given.model, gpu=given.gpu, as_bf16=given.as_bf16, args=_launch_args(vars(given))
    )
    if given.model is not None:
        model_source(given.model)
    if given.gpu is not None:
        load_gpu(given.gpu)
    topology = None if given.topo is None else Topology.of_file(Path(given.topo))
    with Progress() as progress:
        shown = list(_shown(given, meant, progress))
    unread = [one.error for one in shown if one.error is not None]
    if len(unread) == len(shown):
        raise unread[0]
    site = os.environ.get("SITE_URL", "")
    if given.json:
        for row in answers(shown, site):
            row["topology"] = topology.row if topology else None
            sys.stdout.write(json.dumps(row) + "\n")
    else:
        from vllm_parallel.reports.log_table import report  # noqa: PLC0415  # people only

        sys.stdout.write("\n\n".join(report(one, site) for one in shown) + "\n")
    if topology is not None and not given.json:
        sys.stdout.write(_links(topology, site) + "\n")
    return ANSWERED if all(one.passes for one in shown) else NOT_ALL


def _shown(given: argparse.Namespace, meant: Meant, progress: Progress) -> Iterator[Shown]:
    """Each file as it is shown, or those of one deployment as one; then those not read."""
    found: dict[str, ServeLog] = {}
    unread: list[Shown] = []
    for name in given.files:
        try:
            found[name] = _read(name, progress)
        except ParseError as error:
            unread.append(Shown(path=name, error=error))
    logs = list(found.values())
    if len(logs) > 1 and (given.merge or are_nodes(logs)):
        found = {", ".join(found): merged(logs)}
    yield from (estimated(path, log, meant) for path, log in found.items())
    yield from unread


def _read(name: str, progress: Progress) -> ServeLog:
    """The log in a file, or with - in what is piped in."""
    if name != STANDARD_INPUT:
        return read_file(Path(name), progress.follow(Path(name)))
    return read(iter(lambda: sys.stdin.buffer.read(CHUNK), b""), "standard input")


def estimated(path: str, log: ServeLog, meant: Meant) -> Shown:
    """A log with its estimate, or why there is none."""
    try:
        launched = Launched.of(log, meant, Path(path).parent)
        if launched is None:
            return Shown(path=path, log=log, notes=(why_not(log, meant),))
        beside = Beside.of(log, launched.deployment)
    except VllmParallelError as error:
        return Shown(path=path, log=log, notes=(f"no estimate: {error}",))
    says = differences(log, beside)
    return Shown(path=path, log=log, beside=beside, launched=launched, says=says)


def _launch_args(values: Mapping[str, object]) -> dict[str, object]:
    """The options of a launch that the call gives, by vLLM's names."""
    known = options()
    return {
        name: given_value(known[name], value)
        for name, value in values.items()
        if name in known and value is not None and name != "model"
    }


def _links(topology: Topology, site: str) -> str:
    """Whether all GPUs are on NVLink; where not, what that means for a TP group."""
    if topology.all_nvlink:
        return topology.report
    symptom = SYMPTOM["no-peer-access"]
    return f"{topology.report}\n  fix: {symptom.fix}\n  see {symptom.address(site)}"
