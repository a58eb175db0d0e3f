"""What a contributor brings: a config, files of a run, a record of a release that never was."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Final

from tests.shared import ROOT

NEXT: Final = "0.33.0"
OLD_WORDS: Final = "is only supported for MLA models."
NEW_WORDS: Final = "needs an MLA model."
TINYLLAMA: Final = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "hidden_act": "silu",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "max_position_embeddings": 2048,
    "model_type": "llama",
    "num_attention_heads": 32,
    "num_hidden_layers": 22,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-05,
    "rope_scaling": None,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 32000,
}
# What a person writes where `run init` leaves a gap.
FILLED: Final = (
    ('title = ""', 'title = "A run of mine"'),
    ('measured_by = ""', 'measured_by = "A. Reader"'),
    ('[hardware]\nname = ""', '[hardware]\nname = "two cores"'),
    ('processor = ""', 'processor = "cpu"'),
    ('gpu = ""\n', ""),
    ('config = ""', 'config = "config.json"'),
    ('dataset = ""', 'dataset = "random"'),
    ('seed = ""', "seed = 42"),
    ('bench = ""', 'bench = "vllm bench serve --num-prompts $N --max-concurrency $C"'),
    (
        "[[layout.start]]\ntrials = [1, 2, 3, 4, 5]",
        "\n\n".join(f"[[layout.start]]\ntrials = [{trial}]" for trial in range(1, 6)),
    ),
)
RUN: Final = ROOT / "results" / "2026-11-30-cpu-replica"
# Two layouts, five starts of each, as vLLM and the shell wrote it.
BROUGHT: Final = re.compile(
    r"tp[12](-s\d)?-(serve|before|after|c\d+-r\d+)\.\w+|config.json|topo.txt"
)


def write_home(home: Path) -> None:
    """A home folder with a downloaded config, a measured run, and an editor that fills gaps."""
    (home / "Downloads").mkdir(parents=True)
    (home / "Downloads" / "config.json").write_text(json.dumps(TINYLLAMA, indent=2), "utf-8")
    (home / "measured").mkdir()
    for file in RUN.iterdir():
        if BROUGHT.fullmatch(file.name):
            shutil.copyfile(file, home / "measured" / file.name)
    pins = (RUN / "environment.txt").read_text("utf-8")
    mine = f"{pins.rstrip()}\nmy-tools @ file:///home/ada/my-tools\n"
    (home / "measured" / "environment.txt").write_text(mine, "utf-8")


def fill(draft: Path) -> None:
    """Write into a draft what its gaps ask for."""
    text = draft.read_text("utf-8")
    for gap, filled in FILLED:
        assert gap in text, f"{gap!r} is not in {text}"
        text = text.replace(gap, filled)
    draft.write_text(text, "utf-8")


def write_record(root: Path) -> None:
    """What `make record` would leave of the next release: an option more, and a sentence new."""
    folder = root / "build" / "record" / NEXT
    folder.mkdir(parents=True)
    contract = root / "tests" / "oracle" / "recorded"
    for file in (*contract.glob("*.jsonl"), contract / "bench_fields.json"):
        text = file.read_text("utf-8").replace(OLD_WORDS, NEW_WORDS)
        (folder / file.name).write_text(text, "utf-8")
    engine = root / "src" / "vllm_parallel" / "engine"
    flags = json.loads((engine / "flags.json").read_text("utf-8")) | {"release": NEXT}
    serve = flags["commands"]["serve"]
    serve.append(serve[-1] | {"dest": "made_up_size", "names": ["--made-up-size"]})
    metrics = json.loads((engine / "metrics" / "registered.json").read_text("utf-8"))
    for name, value in (("flags", flags), ("metrics", metrics | {"release": NEXT})):
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    import sys

    fill(Path(sys.argv[1]))
