"""Builds sites on request, each in a fork of a process that has everything imported.

A build then costs what MkDocs itself needs, yet has its own interpreter: exit codes, `sys.exit` in
an example and exit handlers are the real ones. One request a line on standard input, as JSON:
`[folder, log file, [arguments of mkdocs]]`; the exit code comes back as one line. Its own argument
is a folder for compiled templates.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from pathlib import Path

import jinja2
from mkdocs.__main__ import cli

_SLOW_IMPORTS = (
    "material.plugins.search.plugin",
    "markdown_exec",
    "mkdocs.commands.build",
    "mkdocs.contrib.search",
    "mkdocs_jupyter.plugin",
    "mkdocstrings",
    "mkdocstrings_handlers.python",
    "pygments.lexers.python",
    "pymdownx.superfences",
)


def _serve(templates: str) -> None:
    for name in _SLOW_IMPORTS:
        importlib.import_module(name)
    # Half of a small build is the theme's templates being compiled, always the same ones.
    cache = jinja2.FileSystemBytecodeCache(templates)
    cached = functools.partialmethod(jinja2.Environment.__init__, bytecode_cache=cache)
    setattr(jinja2.Environment, "__init__", cached)  # noqa: B010  # mypy refuses the assignment
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _build(*json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _build(folder: str, log: str, arguments: list[str]) -> None:
    """Become `mkdocs`, as its console script would run it; it ends the process."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, sys.stdout.fileno())
    os.dup2(output, sys.stderr.fileno())
    os.chdir(folder)
    sys.path[0] = str(Path(sys.executable).parent)
    cli(arguments, prog_name="mkdocs")


if __name__ == "__main__":
    _serve(sys.argv[1])
