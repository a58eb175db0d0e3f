"""Measured runs: what `run.toml` says, which files belong to it, and whether they agree."""

from vllm_parallel.runs.reader import RUN_FILE, is_file_name, read_run, run_folders
from vllm_parallel.runs.run import Hardware, Processor, Run, RunLayout, RunLoad, Start, Subject

__all__ = [
    "RUN_FILE",
    "Hardware",
    "Processor",
    "Run",
    "RunLayout",
    "RunLoad",
    "Start",
    "Subject",
    "is_file_name",
    "read_run",
    "run_folders",
]
