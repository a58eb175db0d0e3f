"""The processes that write what the site shows of models, and what they wrote."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mkdocs.exceptions import PluginError

import vllm_parallel
from vllm_parallel.catalog import hub_names, load_model, model_names

SCRIPT: Final = Path(__file__).with_name("model_sheets.py")
KEPT: Final = "MODEL_SHEETS"  # names a folder that model_sheets.py has filled
PAUSE: Final = 0.05
Sheet = Mapping[str, object]


@dataclass(slots=True)
class Store:
    """The folder that is written to, and who writes."""

    folder: Path
    writers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _temporary: tempfile.TemporaryDirectory[str] | None = None
    _sheets: dict[str, Sheet] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], count: int) -> Store:
        """What was written for many builds of the same sources, or else what is written now."""
        kept = os.environ.get(KEPT)
        return cls(folder=Path(kept)) if kept else cls.filling(names, count)

    @classmethod
    def filling(cls, names: Sequence[str], count: int) -> Store:
        """Begin to write, with so many processes beside this one."""
        folder = tempfile.TemporaryDirectory(prefix="models-")
        writers = [writer(folder.name, share) for share in shares(names, count)]
        return cls(folder=Path(folder.name), writers=writers, _temporary=folder)

    def sheet(self, name: str) -> Sheet:
        """What is shown of a model, once it is written.

        Raises:
            PluginError: a writer has failed.
        """
        if name not in self._sheets:
            path = self.folder / f"{name}.sections.json"
            while not path.exists():
                self._refuse_failure(path)
                time.sleep(PAUSE)
            self._sheets[name] = json.loads(path.read_text("utf-8"))
        return self._sheets[name]

    def finish(self) -> Iterator[Path]:
        """Wait for the writers; every grid and picture.

        Raises:
            PluginError: a writer has failed.
        """
        for writer in self.writers:
            if writer.wait():
                raise PluginError(f"{SCRIPT.name} ended with {writer.returncode}")
        yield from sorted(one for one in self.folder.rglob("*") if one.suffix in (".json", ".svg"))

    def close(self) -> None:
        """End the writers and remove what they wrote."""
        for writer in self.writers:
            if writer.poll() is None:
                writer.terminate()
            writer.wait()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _refuse_failure(self, path: Path) -> None:
        codes = [writer.poll() for writer in self.writers]
        if any(codes) or (None not in codes and not path.exists()):
            raise PluginError(f"{SCRIPT.name} has not written {path.name}: {codes}")


def writer(folder: str, names: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process that writes the sheets of these models into a folder."""
    command = [sys.executable, str(SCRIPT), folder, *names]
    return subprocess.Popen(command, env={**os.environ, **PATHS})


def shares(names: Sequence[str], count: int) -> list[list[str]]:
    """The models dealt to processes, those that take longest first.

    >>> shares(["llama-3.1-8b", "gpt-oss-20b", "deepseek-r1"], 2)
    [['deepseek-r1', 'llama-3.1-8b'], ['gpt-oss-20b']]
    """
    models = {name: load_model(name) for name in names}
    order = sorted(names, key=lambda name: (not models[name].is_latent, not models[name].is_moe))
    return [order[number::count] for number in range(count)]


def sources() -> str:
    """What models are written from, in one word: another one where a byte of it is another."""
    found = hashlib.sha256()
    for root in (Path(vllm_parallel.__file__).parent, SCRIPT.parent):
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            if path.parent.name != "__pycache__":
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                found.update(f"{path.relative_to(root)} {content}\n".encode())
    return found.hexdigest()


def all_names() -> list[str]:
    """Every model of the catalog."""
    return model_names()


def titles() -> dict[str, str]:
    """What every model of the catalog is called: by its name on the hub, without who put it there.

    >>> titles()["llama-3.1-70b"]
    'Llama-3.1-70B'
    """
    first = {name: next(iter(hub_names().get(name, ())), name) for name in model_names()}
    return {name: word.rpartition("/")[2] for name, word in first.items()}


PATHS: Final = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "0"}
