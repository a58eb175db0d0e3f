"""Measured runs: what `run.toml` says, which files belong to it, and whether they agree."""

from vllm_parallel.runs.check import Check
from vllm_parallel.runs.draft import write_draft
from vllm_parallel.runs.finding import Finding, Sort
from vllm_parallel.runs.reader import RUN_FILE, is_file_name, read_run, run_folders
from vllm_parallel.runs.redact import Redaction, redact
from vllm_parallel.runs.run import Hardware, Processor, Run, RunLayout, RunLoad, Start, Subject
from vllm_parallel.runs.seal import SEAL, sealed

__all__ = [
    "RUN_FILE",
    "SEAL",
    "Check",
    "Finding",
    "Hardware",
    "Processor",
    "Redaction",
    "Run",
    "RunLayout",
    "RunLoad",
    "Sort",
    "Start",
    "Subject",
    "is_file_name",
    "read_run",
    "redact",
    "run_folders",
    "sealed",
    "write_draft",
]
