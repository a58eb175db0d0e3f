"""The questions `ask.py` and `cuda_ask.py` read, and the model configs they name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]

KINDS: dict[str, tuple[type, ...]] = {
    "ask": (str,),
    "model": (str, dict),
    "args": (dict,),
    "available_kv_bytes": (int, list, type(None)),
    "as_bf16": (bool,),
    "parameters": (bool,),
    "more_ranks": (list,),
    "gpu": (str, type(None)),
    "gpus_per_node": (int, type(None)),
}
DEFAULTS: Row = {
    "id": None,
    "ask": "build",
    "args": {},
    "available_kv_bytes": None,
    "as_bf16": False,
    "parameters": False,
    "more_ranks": [],
    "gpu": None,
    "gpus_per_node": None,
}


class QuestionError(ValueError):
    """A question that gets no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One line of the input."""

    id: object
    ask: str
    model: str | Row
    args: Row
    available_kv_bytes: int | list[int] | None
    as_bf16: bool
    parameters: bool
    more_ranks: list[int]
    gpu: str | None
    gpus_per_node: int | None

    @classmethod
    def of(cls, line: str) -> Question:
        """The question on a line of JSON.

        Raises:
            QuestionError: It is no object, or a key is unknown, missing or of the wrong kind.

        >>> Question.of('{"ask": "verdict", "model": "llama.json"}').args
        {}
        """
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise QuestionError(f"not JSON: {error}") from error
        if not isinstance(row, dict):
            raise QuestionError("not an object")
        unknown = sorted(set(row) - set(KINDS) - set(DEFAULTS))
        missing = sorted(set(KINDS) - set(DEFAULTS) - set(row))
        if unknown or missing:
            raise QuestionError(f"unknown keys {unknown}, missing keys {missing}")
        row = DEFAULTS | row
        wrong = [key for key, kinds in KINDS.items() if not isinstance(row[key], kinds)]
        if wrong:
            raise QuestionError(f"{wrong[0]}: not expected {row[wrong[0]]!r}")
        return cls(**row)

    @property
    def echo(self) -> Row:
        """The part of the question that its answer repeats, as a recorded row has it."""
        row = {"id": self.id, "ask": self.ask, "model": self.model_name, "args": self.args}
        if self.as_bf16:
            row["as_bf16"] = True
        given = {"gpu": self.gpu, "gpus_per_node": self.gpus_per_node}
        return row | {key: value for key, value in given.items() if value is not None}

    @property
    def budgets(self) -> list[int] | list[None]:
        """The KV bytes of a rank, as often as they are asked: one None if not at all."""
        if self.available_kv_bytes is None:
            return [None]
        budgets = self.available_kv_bytes
        return budgets if isinstance(budgets, list) else [budgets]

    @property
    def model_name(self) -> str | None:
        """The name a recorded row gives the model: its config's file name, or its folder's."""
        if not isinstance(self.model, str):
            return None
        path = Path(self.model)
        return path.parent.name if path.name == "config.json" else path.name.removesuffix(".json")

    @property
    def config(self) -> Row:
        """The model's config, without its quantisation if the question says so.

        Raises:
            QuestionError: The file is missing or holds no object.
        """
        config = self.model if isinstance(self.model, dict) else read_config(Path(self.model))
        if not self.as_bf16:
            return config
        return {key: value for key, value in config.items() if key != "quantization_config"}


def read_config(path: Path) -> Row:
    """The object in a config file or in a folder's `config.json`.

    Raises:
        QuestionError: The file is missing or holds no object.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise QuestionError(f"{file}: {error}") from error
    if not isinstance(config, dict):
        raise QuestionError(f"{file}: not an object")
    return config


def write_config(config: Row, root: Path) -> Path:
    """The folder under root that holds this config as vLLM wants it; equal configs share one."""
    text = json.dumps(config, sort_keys=True)
    folder = root / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(text, encoding="utf-8")
    return folder
