"""`run.toml` as a run."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Final

from vllm_parallel.errors import shortened
from vllm_parallel.runs.run import Hardware, Processor, Run, RunLayout, RunLoad, Start, Subject
from vllm_parallel.runs.toml import Table

RUN_FILE: Final = "run.toml"
ORIGINALS: Final = ".originals"  # of a run that was redacted in place: they stay at home
MOST_TRIALS: Final = 10_000  # of a run; a list of file names stays small
NAME: Final = re.compile(r"(?![-.~])[^/\\\x00-\x1f]{1,100}")


def read_run(folder: Path) -> Run:
    """The run in a folder.

    Raises:
        ParseError: no `run.toml`, or a key that is missing, unknown or of another kind.
    """
    table = Table.of_file(folder / RUN_FILE)
    run = Run(
        name=folder.resolve().name,
        title=table.text("title"),
        date=table.day("date"),
        measured_by=table.text("measured_by"),
        vllm_version=table.text("vllm_version"),
        note=table.text("note", ""),
        hardware=_hardware(table.table("hardware")),
        model=_model(table.table("model")),
        load=_load(table.table("load")),
        layouts=tuple(_layout(one) for one in table.tables("layout")),
    )
    table.close()
    _refuse_twice(table, "layout", [one.name for one in run.layouts])
    return _agreeing(table, run)


def run_folders(folder: Path) -> tuple[Path, ...]:
    """The folders right below one that hold a run, by name; not what redaction keeps beside one.

    >>> run_folders(Path("no such folder"))
    ()
    """
    found = (path.parent for path in folder.glob(f"*/{RUN_FILE}"))
    return tuple(sorted(one for one in found if one.suffix != ORIGINALS))


def is_file_name(name: str) -> bool:
    """Whether files can be named after something: it is short, has no slash and is no option.

    >>> is_file_name("tp4-pp2"), is_file_name("../tp8"), is_file_name("-rf")
    (True, False, False)
    """
    return NAME.fullmatch(name) is not None


def _hardware(table: Table) -> Hardware:
    kind = table.text("processor")
    if kind not in set(Processor):
        raise table.refuse("processor", f"is {shortened(kind)}", "write gpu or cpu")
    processor = Processor(kind)
    gpu = table.text("gpu", "") or None
    if (gpu is None) == (processor is Processor.GPU):
        problem = "is missing" if gpu is None else "is given for a CPU"
        raise table.refuse("gpu", problem, "a name of the catalog goes with processor gpu")
    found = Hardware(
        name=table.text("name"),
        processor=processor,
        count=table.whole("count"),
        gpu=gpu,
        detail=table.text("detail", ""),
    )
    table.close()
    return found


def _model(table: Table) -> Subject:
    found = Subject(name=table.text("name"), config=table.text("config"))
    _refuse_path(table, "config", found.config)
    table.close()
    return found


def _load(table: Table) -> RunLoad:
    widths, prompts = table.wholes("concurrencies"), table.wholes("prompts")
    _refuse_twice(table, "concurrencies", widths)
    if len(prompts) != len(widths):
        problem = f"has {len(prompts)} entries for {len(widths)} concurrencies"
        raise table.refuse("prompts", problem, "write one for each")
    load = RunLoad(
        dataset=table.text("dataset"),
        input_tokens=table.whole("input_tokens"),
        output_tokens=table.whole("output_tokens"),
        request_rate=table.rate("request_rate"),
        concurrencies=widths,
        prompts=prompts,
        trials=table.whole("trials"),
        seed=table.whole("seed", least=0),
        bench=table.lines("bench"),
    )
    table.close()
    if load.trials * len(widths) > MOST_TRIALS:
        raise table.refuse("trials", f"is {load.trials}", f"a run has at most {MOST_TRIALS} in all")
    return load


def _layout(table: Table) -> RunLayout:
    name = table.text("name")
    if not is_file_name(name):
        raise table.refuse("name", f"is {shortened(name)}", "files are named after it: no slash")
    layout = RunLayout(
        name=name,
        gpus=table.whole("gpus"),
        serve=table.lines("serve"),
        starts=tuple(
            _start(one, number) for number, one in enumerate(table.tables("start"), start=1)
        ),
    )
    table.close()
    _refuse_twice(table, "trials", [one for start in layout.starts for one in start.trials])
    return layout


def _start(table: Table, number: int) -> Start:
    start = Start(number=number, trials=table.wholes("trials"), began=table.moment("began"))
    table.close()
    return start


def _agreeing(table: Table, run: Run) -> Run:
    """The run, if every layout was asked every trial on GPUs that there are."""
    if len(run.layouts) * run.load.trials * len(run.load.concurrencies) > MOST_TRIALS:
        problem = f"has {len(run.layouts)} layouts of {run.load.trials} trials"
        raise table.refuse("layout", problem, f"a run has at most {MOST_TRIALS} trials in all")
    wanted = set(range(1, run.load.trials + 1))
    for layout in run.layouts:
        answered = {trial for start in layout.starts for trial in start.trials}
        if answered != wanted:
            missing = sorted(wanted - answered) or sorted(answered - wanted)
            problem = f"{layout.name}: its starts answer {len(answered)} trials"
            fix = f"load.trials is {run.load.trials}: trial {missing[0]} is on one side only"
            raise table.refuse("layout", problem, fix)
        if layout.gpus > run.hardware.count:
            problem = f"{layout.name}: takes {layout.gpus} of {run.hardware.count}"
            raise table.refuse("layout", problem, "hardware.count is how many there are")
    _refuse_twice(table, "layout", run.required())
    return run


def _refuse_twice(table: Table, key: str, given: Iterable[Hashable]) -> None:
    seen = set()
    for one in given:
        if one in seen:
            raise table.refuse(key, f"has {shortened(one)} twice", "name each once")
        seen.add(one)


def _refuse_path(table: Table, key: str, name: str) -> None:
    if not is_file_name(name):
        fix = "a name of the catalog, or a file of the run's own folder"
        raise table.refuse(key, f"is {shortened(name)}", fix)
