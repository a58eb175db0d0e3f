"""Which rules, modules and pages of this project a difference between two releases touches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter

from recordings import ROOT, Row
from vllm_parallel import RULES
from vllm_parallel.answers import answer
from vllm_parallel.constraints import Stage
from vllm_parallel.verdict import MEMORY_RULES

PACKAGE = ROOT / "src" / "vllm_parallel"
TEXTS = ("docs/**/*.md", "snippets/**/*", "README.md", "scripts/site/*.toml")
# Where each recorded value is computed.
MODULES = {
    "weight_bytes": ("weight.py", "layers", "graph.py", "shard.py"),
    "buffer_bytes": ("shard.py",),
    "kv_layers": ("kv",),
    "kv_page_bytes": ("kv",),
    "num_blocks": ("kv", "ledger.py"),
    "tokens": ("kv", "ledger.py"),
    "concurrency": ("kv", "ledger.py"),
    "max_model_len": ("kv", "ledger.py"),
}
GROUPS = ("ranks.py",)


def pattern_of(says: str) -> re.Pattern[str]:
    """What a rule's sentence looks like with any numbers in it.

    >>> bool(pattern_of("tp={layout.tp} is odd.").fullmatch("tp=3 is odd."))
    True
    """
    parts = Formatter().parse(says)
    text = "".join(
        re.escape(words) + (".*" if name is not None else "") for words, name, *_ in parts
    )
    return re.compile(text, re.DOTALL)


@cache
def rules() -> Mapping[str, tuple[str, str]]:
    """Every rule's sentence and way out, by its name."""
    found = {rule.name: (rule.says, rule.fix) for rule in RULES}
    return found | {rule.name: (rule.says, rule.fix) for rule in MEMORY_RULES}


@cache
def stages() -> Mapping[str, str]:
    """Where each rule refuses; a recorded verdict does not tell the first two apart."""
    found = {rule.name: rule.stage for rule in RULES} | {
        rule.name: rule.stage for rule in MEMORY_RULES
    }
    return {name: "config" if stage is Stage.FLAGS else stage for name, stage in found.items()}


@cache
def patterns() -> Mapping[str, re.Pattern[str]]:
    """What each rule's sentence looks like; not where all of it is filled in."""
    return {
        name: pattern_of(says)
        for name, (says, _) in rules().items()
        if not re.fullmatch(r"\{.*\}", says)
    }


def rules_saying(message: str, stage: str, args: Iterable[str]) -> list[str]:
    """The rules whose sentence this is; of several, those about one of the arguments."""
    found = [
        name
        for name, pattern in patterns().items()
        if stages()[name] == stage and pattern.fullmatch(message)
    ]
    flags = [f"--{arg.replace('_', '-')}" for arg in args]
    about = [name for name in found if any_mentioned(rules()[name][1], flags)]
    return about or found


def mentions(text: str, name: str) -> bool:
    """Whether a text names a flag.

    >>> mentions("use --tensor-parallel-size 4", "--tensor-parallel")
    False
    """
    return name in text and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


@cache
def texts() -> Mapping[str, str]:
    """The texts that show flags, by path; the generated table of flags shows all."""
    files = {path for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file()}
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(files)}


@cache
def modules() -> Mapping[str, str]:
    """The package's modules, by path."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}


def touched_by_flag(change: Row) -> Row:
    """What names an option that changed."""
    names = [name for name in change["names"] if name.startswith("--") or len(name) > 2]
    in_code = (*names, change["dest"]) if "_" in change["dest"] else names
    naming_rules = [
        name for name, texts_of in rules().items() if any_mentioned(" ".join(texts_of), names)
    ]
    return {
        "rules": naming_rules,
        "modules": list(naming(modules(), in_code)),
        "pages": list(naming(texts(), names)),
    }


def any_mentioned(text: str, names: Sequence[str]) -> bool:
    """Whether a text names one of these."""
    return any(mentions(text, name) for name in names)


def naming(files: Mapping[str, str], names: Sequence[str]) -> Iterator[str]:
    """The files that name one of these."""
    return (path for path, text in files.items() if any_mentioned(text, names))


def kernel_says(example: Row, models: Mapping[str, Row]) -> str | None:
    """The package's own refusal, which names a rule where vLLM dies of a bare assert."""
    question = {"model": models.get(example["model"], example["model"]), "as_bf16": True}
    said = answer(example | question | {"ask": ["verdict"]})
    verdict = said.get("verdict")
    return str(verdict["message"]) if isinstance(verdict, dict) and verdict["message"] else None


def touched_by_answer(change: Row, models: Mapping[str, Row]) -> Row:
    """The rules whose sentences a changed answer shows, before or after."""
    after = change["after"]
    if after and change["stages"][1] == "load":
        after = kernel_says(change["example"], models) or after
    sides = zip((change["before"], after), change["stages"], strict=True)
    said = [rules_saying(text, stage, change["asked"]) for text, stage in sides if text]
    names = sorted({name for found in said for name in found})
    return {"rules": names, "pages": list(naming(texts(), names))}


def touched_by_value(change: Row) -> Row:
    """The modules that compute a changed value."""
    names = MODULES.get(change["what"], GROUPS)
    shelf = PACKAGE / "catalog" / "families"
    stem = change["family"].replace("-", "_")
    own = [path for path in shelf.glob("*.py") if path.stem == stem]
    paths: list[Path] = [*(PACKAGE / name for name in names), *own]
    return {"modules": [path.relative_to(ROOT).as_posix() for path in paths]}


def with_touched(summary: Row, models: Mapping[str, Row]) -> Row:
    """The summary with what each difference touches; the configs of its models by name."""
    kinds: Mapping[str, Callable[[Row], Row]] = {
        "flags": touched_by_flag,
        "answers": lambda change: touched_by_answer(change, models),
        "values": touched_by_value,
    }
    more = {
        kind: [change | {"touches": touch(change)} for change in summary[kind]]
        for kind, touch in kinds.items()
    }
    return summary | more
