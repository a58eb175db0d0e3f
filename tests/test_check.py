"""`check`: launch commands of a call or of scripts, judged as `plan` judges a layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.guide_text import LAUNCHES, LOAD, section
from vllm_parallel.answers import answer
from vllm_parallel.catalog import catalog_name, hub_names, load_model, model_names, model_source
from vllm_parallel.cli import main
from vllm_parallel.errors import CatalogError
from vllm_parallel.term import RELEASE

Streams = pytest.CaptureFixture[str]
LLAMA: Final = "meta-llama/Llama-3.1-70B-Instruct"


def call(*words: str) -> list[str]:
    return ["check", "--json", "--", "vllm", "serve", *words]


def rows(capsys: Streams) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def planned(question: dict[str, object]) -> object:
    """The answer to a question, without its id."""
    found = json.loads(json.dumps(answer(question)))
    found.pop("id")
    return found


@pytest.mark.parametrize(
    "words, args, code",
    [
        (["-tp", "8"], {"tensor_parallel_size": 8}, 0),
        (["-tp", "3"], {"tensor_parallel_size": 3}, 1),
        (["-tp", "8", "-dcp", "2"],
         {"tensor_parallel_size": 8, "decode_context_parallel_size": 2}, 1),
        (["-tp", "4", "-pp", "2", "--max-model-len", "8k", "--port", "1"],
         {"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "max_model_len": 8000}, 0),
        (["--no-enable-prefix-caching", "--disable-log-stats", "--block-size=32"],
         {"enable_prefix_caching": False, "block_size": 32}, 0),
        (["--enable-eplb", "--eplb-config.num_redundant_experts", "4"],
         {"enable_eplb": True, "eplb_config": {"num_redundant_experts": 4}}, 1),
        (["-tp", "2", "--quantization", "None"], {"tensor_parallel_size": 2}, 0),
    ],
)  # fmt: skip
def test_same_object_as_plan(
    capsys: Streams, words: list[str], args: dict[str, object], code: int
) -> None:
    """The answer is that of a question with the same arguments; `id` says which command."""
    assert main(call(LLAMA, *words)) == code
    (row,) = rows(capsys)
    place = row.pop("id")
    assert row == planned({"model": "llama-3.1-70b", "args": args})
    assert place == {"command": f"vllm serve {LLAMA} {' '.join(words)}", "line": 1}


def test_machine_of_the_call(capsys: Streams) -> None:
    """GPU, nodes and unquantised twin, as `plan` takes them."""
    options = ["--gpu", "h200", "--gpus-per-node", "8", "--nodes", "2", "--as-bf16"]
    words = ["--", "vllm", "serve", "deepseek-ai/DeepSeek-R1", "-tp", "8", "-pp", "2"]
    assert main(["check", "--json", *options, *words]) == 1
    (row,) = rows(capsys)
    assert row["verdict"]["message"].startswith("World size (16) is larger than")
    words += ["--nnodes", "2"]
    assert main(["check", "--json", *options, *words]) == 0
    (row,) = rows(capsys)
    asked = {"gpu": "h200", "gpus_per_node": 8, "nodes": 2, "as_bf16": True}
    args = {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "nnodes": 2}
    row.pop("id")
    assert row == planned({"model": "deepseek-r1", "args": args} | asked)
    assert row["capacity"]["tokens"] > 0


def test_guide(capsys: Streams, tmp_path: Path) -> None:
    """In the order of the file; a benchmark has no verdict, `...` cannot be judged."""
    launches = (section(LAUNCHES, name) for name in ("shared", "tp8", "tp4pp2", "tp4dp2"))
    left_out = 'CUDA_VISIBLE_DEVICES=4 vllm serve "$MODEL" --tensor-parallel-size 4 ...\n'
    script = tmp_path / "guide.sh"
    script.write_text(f"{''.join(launches)}{left_out}{section(LOAD, 'manual')}", encoding="utf-8")
    assert main(["check", "--json", str(script)]) == 1
    answers = rows(capsys)
    assert {row["id"]["file"] for row in answers} == {str(script)}
    lines = [row["id"]["line"] for row in answers]
    assert lines == sorted(lines)
    verdicts = [row.get("verdict", row.get("error")) for row in answers]
    accepted = {"accepted": True, "stage": None, "message": None}
    refused = "the command holds ..., which is defined nowhere; write the options out"
    assert verdicts == [accepted, accepted, accepted, refused, *[None] * 12]


@pytest.mark.parametrize(
    "words, says",
    [
        (["serve", "a/b", "-tp", "8"], "model 'a/b' is not known; give its config.json, or name"),
        (["serve", "a/b", "--sede", "1"], "--sede is no option of vllm serve; did you mean --seed"),
        (["serve", LLAMA, "--prot", "1", "--hots", "x"], "did you mean --port? | --hots is"),
        (["serve", LLAMA, "--dtype", "fp16"], "--dtype is 'fp16', which is none of auto"),
        (["serve", LLAMA, "--quantization", "humming"], "--quantization humming is not modelled"),
        (["serve", LLAMA, "--config", "a.yaml"], "--config adds options of a.yaml"),
        (["serve", LLAMA, "-tp", "99999999999"], "at most"),
        (["bench", "serve", "--num-promts", "8"], "did you mean --num-prompts"),
    ],
)  # fmt: skip
def test_errors_in_one_line(capsys: Streams, words: list[str], says: str) -> None:
    """What vLLM's own parser refuses is 1, as any refusal; what cannot be read is 2."""
    flags = ("did you mean --", "which is none of")
    code = 1 if any(sign in says for sign in flags) else 2
    assert main(["check", "--json", "--", "vllm", *words]) == code
    (row,) = rows(capsys)
    assert says in row["error"]
    assert "\n" not in row["error"]
    assert set(row) == {"id", "error"}


def test_what_the_script_does_not_define(capsys: Streams, tmp_path: Path) -> None:
    script = tmp_path / "a.sh"
    script.write_text(
        'vllm serve "$M" -tp 2\nvllm serve qwen3-32b -tp $TP --port $P\n'
        'vllm serve qwen3-32b --eplb-config.window_size $W\nvllm serve qwen3-32b "${A[@]}"\n'
        "vllm serve qwen3-32b --port $P\n",
        encoding="utf-8",
    )
    assert main(["check", "--json", str(script)]) == 1
    answers = rows(capsys)
    assert [row.get("error") for row in answers] == [
        "the model is $M, which is defined nowhere; write its value",
        "--tensor-parallel-size is $TP, which is defined nowhere; write its value",
        "--eplb-config is $W, which is defined nowhere; write its value",
        "the command holds ${A[@]}, which is defined nowhere; write the options out",
        None,
    ]
    assert main(["check", "--json", "--model", "qwen3-32b", str(script)]) == 1
    assert rows(capsys)[0]["verdict"]["accepted"] is True


def test_report_for_people(capsys: Streams, tmp_path: Path) -> None:
    script = tmp_path / "a.sh"
    script.write_text(
        f"vllm serve {LLAMA} \\\n  --sede 1\nvllm serve {LLAMA} -tp 8 -dcp 2\nvllm bench serve\n",
        encoding="utf-8",
    )
    assert main(["check", str(script)]) == 1
    first, second, third = capsys.readouterr().out.split("\n\n")
    assert first.splitlines() == [
        f"{script}:1: vllm serve {LLAMA} --sede 1",
        "line 2: --sede is no option of vllm serve; did you mean --seed?",
    ]
    assert second.splitlines()[0] == f"{script}:3: vllm serve {LLAMA} -tp 8 -dcp 2"
    assert "refuses it at config: Decode context parallelism" in second
    assert "Way out: drop --decode-context-parallel-size" in second
    assert third == f"{script}:4: vllm bench serve\nvLLM {RELEASE} takes every option of it.\n"


def test_a_call_says_what_fits(capsys: Streams) -> None:
    assert main(["check", "--gpu", "h100-80gb", "--", "vllm", "serve", LLAMA, "-tp", "8"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"vllm serve {LLAMA} -tp 8\nllama-3.1-70b as tp8: 8 ranks\n")
    assert "KV cache of one engine" in out
    assert main(["check", "--gpu", "rtx-4090", "--", f"vllm serve {LLAMA} -tp 2"]) == 1
    assert "refuses it at memory" in capsys.readouterr().out


@pytest.mark.parametrize(
    "data, says",
    [
        (b"", "holds no command of vllm; give a script that calls vllm serve"),
        (b"echo vllm serve m\n", "holds no command of vllm"),
        (b"vllm serve \xff", "is not UTF-8 at byte 11"),
        (b"\n'", "line 2 opens a quote that is never closed; close it with '"),
        (b"#" * (2**18 + 1), "has 262145 bytes; at most 262144 are read"),
        (b"[1, 2]\n", "holds no command of vllm"),
        (b"\0\0vllm serve m", "holds no command of vllm"),
    ],
)
def test_file_that_cannot_be_read(capsys: Streams, tmp_path: Path, data: bytes, says: str) -> None:
    """Alone it ends the call with 2; among others it is one answer, and the code is 1."""
    bad, good = tmp_path / "bad.sh", tmp_path / "good.sh"
    bad.write_bytes(data)
    good.write_text("vllm serve qwen3-32b -tp 2\n", encoding="utf-8")
    assert main(["check", str(bad)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"vllm-parallel: {bad}")
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert main(["check", "--json", str(bad), str(good)]) == 1
    first, second = rows(capsys)
    assert first["id"] == {"file": str(bad), "command": None, "line": None}
    assert says in first["error"]
    assert second["verdict"]["accepted"] is True


@pytest.mark.parametrize(
    "words, says",
    [
        (["gone.sh"], "gone.sh cannot be read (No such file or directory)"),
        (["."], ". cannot be read (Is a directory)"),
        ([], "names no command; see check --help"),
        (["--"], "names no command"),
        (["--", "ls"], "the call holds no command of vllm; write vllm serve ... behind --"),
        (["--", "vllm serve 'm"], "the call: line 1 opens a quote"),
        (["--gpu", "h1000", "--", "vllm", "serve", LLAMA], None),
        (["--model", "a/b", "--", "vllm", "serve", "m"], "model 'a/b' is not known"),
        (["--gpuu", "x", "a.sh"], "unrecognized arguments: --gpuu"),
    ],
)
def test_call_that_cannot_be_read(capsys: Streams, words: list[str], says: str | None) -> None:
    assert main(["check", *words]) == 2
    captured = capsys.readouterr()
    assert (says or "h1000") in captured.err + captured.out
    assert captured.err.count("\n") <= 1


def test_vllm_names_a_model_itself(capsys: Streams) -> None:
    """Without one the command serves the default of its options."""
    assert main(["check", "--json", "--", "vllm", "serve", "-tp", "8"]) == 0
    assert rows(capsys)[0]["ranks"][0]["kv_layers"] == load_model("qwen3-0.6b").layers


def test_options_behind_the_dashes_are_left_alone(capsys: Streams) -> None:
    """Keys keep their underscores; `--json` behind `--` is vLLM's, which has none."""
    words = ["--eplb-config.window_size", "9", "--tensor_parallel_size=2"]
    assert main(call("qwen3-30b-a3b", *words)) == 0
    assert main(["check", "--", "vllm", "serve", "qwen3-32b", "--json"]) == 1
    assert "--json is no option of vllm serve" in capsys.readouterr().out


def test_names_of_the_hub() -> None:
    """Each leads to a model of the catalog, by whatever folder it lies in."""
    assert set(hub_names()) == set(model_names())
    for model, names in hub_names().items():
        assert load_model(model, as_bf16=True).layers > 0
        for name in names:
            last = name.rpartition("/")[2]
            for word in (name, last, f"/models/{last}", f"./{last.upper()}/"):
                assert catalog_name(word) == model


@pytest.mark.parametrize(
    "word", ["Qwen/Qwen3-32B-FP8", "Qwen/Qwen3-4B-Instruct-2507", "", "x" * 5000]
)
def test_unknown_model(word: str) -> None:
    """A longer context or other weights are another model."""
    assert catalog_name(word) is None
    with pytest.raises(CatalogError, match="is not known"):
        model_source(word)


def test_model_by_its_path(capsys: Streams, tmp_path: Path) -> None:
    """A folder that is there is read, whatever its name says."""
    folder = tmp_path / "Llama-3.1-70B"
    folder.mkdir()
    config = Path(__file__).parents[1] / "src/vllm_parallel/catalog/models/llama-3.1-8b.json"
    (folder / "config.json").write_bytes(config.read_bytes())
    assert main(call(str(folder), "-tp", "3")) == 1
    assert "attention heads (32)" in rows(capsys)[0]["verdict"]["message"]


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (
            "screen -dm vllm serve llama -tp 3\n# vllm serve llama\nvllm serve llama\n",
            ["1: names vllm serve, but is not read as a command: give it behind --"],
        ),
        ("nohup vllm serve \\\n  llama -tp 2 > /var/log/vllm.log &\n", []),
        (
            "export HIP_VISIBLE_DEVICES=0\nvllm serve llama\n",
            ["1: HIP_VISIBLE_DEVICES is not read: --gpus-per-node says how many GPUs a node has"],
        ),
    ],
)
def test_what_a_script_holds_beside_its_commands(
    capsys: Streams, tmp_path: Path, text: str, notes: list[str]
) -> None:
    """It is said to people; the answers for programs are of the commands that were read."""
    script = tmp_path / "serve.sh"
    script.write_text(text.replace("llama", "meta-llama/Llama-3.1-8B"), "utf-8")
    main(["check", str(script)])
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if " is not read" in line] == [f"{script}:{one}" for one in notes]


def test_gpus_that_a_call_hides(capsys: Streams) -> None:
    words = ["CUDA_VISIBLE_DEVICES=0,1", "vllm", "serve", "meta-llama/Llama-3.1-8B", "-tp", "8"]
    assert main(["check", "--", *words]) == 0
    assert "CUDA_VISIBLE_DEVICES is not read" in capsys.readouterr().out
