"""Commands found in shell text and read as vLLM's own parser reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.guide_text import LAUNCHES, LOAD, LONG_CONTEXT, section
from vllm_parallel.engine.commands import Command, find
from vllm_parallel.engine.options import options
from vllm_parallel.engine.reading import Reading
from vllm_parallel.engine.shell import Word
from vllm_parallel.engine.values import Unknown, is_known

FIXTURES: Final = Path(__file__).parent / "fixtures"
VLLM: Final = r" *(?:[A-Z_]+=\S+ )?vllm (?:serve|bench) "
RECORDED: Final = (FIXTURES / "command_lines.jsonl").read_text(encoding="utf-8").splitlines()


def reading(text: str) -> Reading:
    (command,) = find(text)
    return Reading.of(command)


# Words behind `vllm serve m`, and what they set.
TAKEN: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("-tp 8 -pp=2 -dcp 4 -n2", {"tensor_parallel_size": 8, "pipeline_parallel_size": 2,
                               "decode_context_parallel_size": 4, "nnodes": 2}),
    ("--tensor_parallel_size=8", {"tensor_parallel_size": 8}),
    ("--max-model-len 8k", {"max_model_len": 8000}),
    ("--max-model-len auto", {"max_model_len": -1}),
    ("--max-num-batched-tokens 8K", {"max_num_batched_tokens": 8192}),
    ("--max-model-len -1", {"max_model_len": -1}),
    ("--enable-eplb --no-enable-prefix-caching", {"enable_eplb": True,
                                                  "enable_prefix_caching": False}),
    ("-tp 8 -tp 4", {"tensor_parallel_size": 4}),
    ("--served-model-name a b --port 1", {"served_model_name": ["a", "b"], "port": 1}),
    ("--hf-token --port 1", {"hf_token": True, "port": 1}),
    ("--num-gpu-blocks-override None", {"num_gpu_blocks_override": None}),
    ("--eplb-config '{\"window_size\": 1k}'", {"eplb_config": {"window_size": 1000}}),
    ("--eplb-config.num_redundant_experts 4 --eplb_config.window_size=2k",
     {"eplb_config": {"num_redundant_experts": 4, "window_size": 2000}}),
    ("-cc.cudagraph_mode=NONE -cc.pass_config.fuse_norm_quant true",
     {"compilation_config": {"cudagraph_mode": "NONE", "pass_config": {"fuse_norm_quant": True}}}),
    ("-cc.compile_sizes+ 1,2", {"compilation_config": {"compile_sizes": ["1", "2"]}}),
    ("-O3", {"optimization_level": "3"}),
    ("--moe-backend Deep-GEMM", {"moe_backend": "deep_gemm"}),
    ("-tp $TP --port ${P}", {"tensor_parallel_size": Unknown(text="$TP"),
                             "port": Unknown(text="${P}")}),
    ("--max-model-len=$N", {"max_model_len": Unknown(text="$N")}),
    ("--eplb-config.window_size $W", {"eplb_config": {"window_size": Unknown(text="$W")}}),
)  # fmt: skip


@pytest.mark.parametrize("words, values", TAKEN)
def test_options_are_read(words: str, values: Mapping[str, Any]) -> None:
    read = reading(f"vllm serve m {words}")
    assert read.faults == ()
    assert read.values == values
    assert read.model is not None
    assert read.model.text == "m"


# Words behind `vllm`, and what is said of them.
FAULTS: Final = (
    ("serve m --tensor-paralel-size 8",
     "--tensor-paralel-size is no option of vllm serve; did you mean --tensor-parallel-size"),
    ("serve m -tp8", "-tp8 is no option of vllm serve; did you mean -tp 8?"),
    ("serve m --max-num 8", "--max-num is short for several options; it could be"),
    ("serve m -tp eight", "--tensor-parallel-size is 'eight'; it should be a whole number"),
    ("serve m -tp 8 true", "'true' belongs to no option; drop it, or quote it"),
    ("serve m --enable-eplb true", "'true' belongs to no option; --enable-eplb takes no value"),
    ("serve m --enable-eplb=true",
     "--enable-eplb takes no value, but has 'true'; write --enable-eplb alone"),
    ("serve m -tp --port 1", "-tp has no value; give one behind it"),
    ("serve m --served-model-name --port 1", "--served-model-name has no value"),
    ("serve m --dtype bf16", "--dtype is 'bf16', which is none of auto, bfloat16"),
    ("serve m --dtype bfloat", "did you mean float or bfloat16"),
    ("serve m --max-model-len 1.5K",
     "--max-model-len is '1.5K'; it should be a whole number, like 8192 or 8k"),
    ("serve m --eplb-config x", "--eplb-config is 'x'; it should be a JSON object"),
    ("serve m --eplb-config [1]", "--eplb-config is '[1]'; it should be a JSON object"),
    ("serve m --eplb-config '{\"windowsize\": 1}'",
     "--eplb-config.windowsize is no key of it; did you mean window_size?"),
    ("serve m -cc.pass_config.fuse 1", "--compilation-config.pass_config.fuse is no key of it"),
    ("serve m --eplb-config.window_size", "--eplb-config.window_size has no value"),
    (f"serve m --additional-config '{'[' * 900}'", "--additional-config is nested 900 deep"),
    (f"serve m --eplb-config{'.a' * 2000} 1", "--eplb-config is nested 2000 deep; at most 32"),
    ("serve m --max-model-len " + "9" * 400 + ".5k", "it should be a whole number"),
    ("serve m --port.x 1", "--port is '{\"x\": 1}'; it should be a whole number"),
    ("serve --served-model-name a m", "--served-model-name stands before the model"),
    ("serve m --model n", "'m' stands beside --model; keep one of them"),
    ("bench serve --presence-penalty -0.5", "-0.5 begins like an option with a key"),
    ("bench serve m", "'m' belongs to no option"),
    ("bench serve --num-prompts 8k", "--num-prompts is '8k'; it should be a whole number"),
    ("bench sweep serve --serve-cmd 'vllm serve m'",
     "--bench-cmd is missing; vllm bench sweep serve needs it"),
    ("bench throughput --model m", "vllm bench throughput has options that are not recorded"),
    ("bench swep serve", "vllm bench is no command of vLLM; did you mean bench sweep serve"),
    ("server m", "vllm server is no command of vLLM; did you mean serve"),
    ("serve m --port 1 \n  --seed 1",
     "--seed begins a line of its own; end the line above with a backslash"),
    ("serve m --port 1 \\ \n  --seed 1", "' ' belongs to no option"),
)  # fmt: skip


@pytest.mark.parametrize("words, says", FAULTS)
def test_faults_are_told(words: str, says: str) -> None:
    faults = Reading.of(find(f"vllm {words}")[0]).faults
    assert says in " | ".join(map(str, faults)), [str(fault) for fault in faults]


@pytest.mark.parametrize(
    "words",
    ["serve", "serve --help=all", "bench serve -h", "bench --help", "collect-env", "--version", "",
     "serve $X $Y", "serve m -tp $N --dtype $D", "serve m ... ", "bench sweep serve --help"],
)  # fmt: skip
def test_nothing_to_complain_of(words: str) -> None:
    assert reading(f"vllm {words}").faults == ()


def test_a_fault_has_the_line_of_its_word() -> None:
    text = "A=(\n  -tp 8\n  --sede 1\n)\nvllm serve m \\\n  ${A[@]} \\\n  --prot 1\n"
    assert [fault.line for fault in reading(text).faults] == [3, 7]


def test_words_that_may_hold_options_are_named() -> None:
    read = reading('vllm serve "$M" "${A[@]}" -tp 8 ...')
    assert read.model == Word(text="$M", line=1, known=False)
    assert [word.text for word in read.unread] == ["...", "${A[@]}"]


# Where vLLM's parser makes something else of a value than its kind says, or makes it up.
RESHAPED: Final = {"device_ids", "bfcl_categories", "middleware", "model", "request_id_prefix"}


def differences(row: Mapping[str, Any]) -> Iterator[str]:
    """What vLLM's parser and ours make of a command line, where they do not agree."""
    words = tuple(Word(text=word, line=1) for word in row["words"])
    read = Reading.of(Command(program="vllm", name=row["command"], words=words, line=1))
    if (read.faults == ()) is not row["taken"]:
        yield f"vLLM {'takes' if row['taken'] else 'refuses'} it, ours: {read.faults}"
    if not row["taken"]:
        return
    for dest, value in read.values.items():
        recorded = row["values"].get(dest, options(row["command"])[dest].default)
        whole = recorded == "an object" or (recorded is None and isinstance(value, dict))
        if not whole and dest not in RESHAPED and value != recorded:
            yield f"{dest} is {value!r}, vLLM's is {recorded!r}"
    model = read.values.get("model") if read.model is None else read.model.text
    if row["command"] == "serve" and row["values"].get("model_tag") != model:
        yield f"the model is {model!r}, vLLM's is {row['values'].get('model_tag')!r}"


def test_recorded_command_lines() -> None:
    """Made-up lines, as vLLM's own parser took or refused them."""
    rows = [json.loads(line) for line in RECORDED]
    assert sum(row["taken"] for row in rows) > 300
    assert sum(not row["taken"] for row in rows) > 300
    found = [f"{row['words']}: {text}" for row in rows for text in differences(row)]
    assert found == []


# A section of the guide with its variables, and how often each of its commands is run.
SHOWN: Final = (
    (LAUNCHES, ("shared", "tp8", "tp4pp2", "tp4dp2", "instances"), (1, 1, 1, 1, 1)),
    (LOAD, ("manual",), (12,)),
    (LONG_CONTEXT, ("shared", "copied", "dealt", "bench"), (1, 1, 12)),
)


@pytest.mark.parametrize(
    "path, sections, runs", SHOWN, ids=lambda value: getattr(value, "stem", "")
)
def test_guide(path: Path, sections: tuple[str, ...], runs: tuple[int, ...]) -> None:
    """Every command of the guide is found where it stands, and vLLM takes all of them."""
    text = "".join(section(path, name) for name in sections)
    starts = [n for n, line in enumerate(text.splitlines(), 1) if re.match(VLLM, line)]
    found = find(text)
    assert [command.line for command in found] == [
        line for line, times in zip(starts, runs, strict=True) for _ in range(times)
    ]
    readings = [Reading.of(command) for command in found]
    assert [fault for read in readings for fault in read.faults] == []
    assert all(is_known(read.values) for read in readings)


def test_values_of_the_guide() -> None:
    launch = reading(section(LAUNCHES, "shared") + section(LAUNCHES, "tp4pp2"))
    assert launch.model is not None
    assert launch.model.text == "/models/Llama-3.1-70B-Instruct"
    assert launch.values["pipeline_parallel_size"] == 2
    assert launch.values["max_model_len"] == 8192
    loads = [Reading.of(command).values for command in find(section(LOAD, "manual"))]
    assert [load["num_prompts"] for load in loads] == [64, 128, 512, 1024] * 3
    assert loads[3]["result_filename"] == "tp8-c128-r1.json"
    assert loads[4]["metadata"] == ["layout=tp8", "gpus=8", "start=1", "trial=2"]
