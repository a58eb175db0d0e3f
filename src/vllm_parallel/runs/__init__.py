"""Measured runs: what `run.toml` says, which files belong to it, and whether they agree."""

from vllm_parallel.runs.reader import read_run, run_folders
from vllm_parallel.runs.run import Hardware, Processor, Run, RunLayout, RunLoad, Start, Subject

__all__ = [
    "Hardware",
    "Processor",
    "Run",
    "RunLayout",
    "RunLoad",
    "Start",
    "Subject",
    "read_run",
    "run_folders",
]
