"""The commands: what they print, where, and the exit code."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from vllm_parallel import cli
from vllm_parallel.engine import options
from vllm_parallel.term import RELEASE

LLAMA: Final = "llama-3.1-8b"
EIGHT: Final = (LLAMA, "--gpus", "8", "--gpu", "h100-80gb")
Streams = pytest.CaptureFixture[str]


def planned(capsys: Streams, *words: str) -> tuple[int, Any]:
    """Exit code and answer of a `plan --json`; nothing is said beside it."""
    code = cli.main(["plan", *words, "--json"])
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.endswith("\n")
    assert said.out.count("\n") == 1
    return code, json.loads(said.out)


def complaint(capsys: Streams, *words: str) -> str:
    """The one line on stderr of a call that cannot be read; exit code 2, nothing on stdout."""
    code = cli.main(list(words))
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.startswith("vllm-parallel: ")
    assert said.err.endswith("\n")
    assert len(said.err.splitlines()) == 1
    return said.err.removeprefix("vllm-parallel: ").rstrip("\n")


def batch(monkeypatch: pytest.MonkeyPatch, capsys: Streams, text: bytes) -> tuple[int, list[Any]]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    code = cli.main(["batch"])
    said = capsys.readouterr()
    assert said.err == ""
    return code, [json.loads(line) for line in said.out.splitlines()]


# plan.


def test_a_given_budget_is_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """The report shows the one that the pool is made of, not that of the GPU."""
    for flag in ("--available-kv-bytes", "--kv-cache-memory-bytes"):
        words = ["plan", LLAMA, "--gpu", "h100-80gb", "--max-model-len", "8192", "-tp", "8"]
        assert cli.main([*words, flag, str(9 * 2**30)]) == 0
        out = capsys.readouterr().out
        assert [line.split() for line in out.splitlines() if "left for KV" in line] == [
            ["left", "for", "KV", "9.00", "GiB", "given"]
        ]
        assert "may use" not in out


@pytest.mark.parametrize(
    "words, code, stage",
    [
        ((LLAMA,), 0, None),
        ((LLAMA, "-tp", "2"), 0, None),
        ((LLAMA, "--gpu", "h100-80gb"), 0, None),
        ((LLAMA, "--headless", "--api-server-count", "2"), 1, "flags"),
        ((LLAMA, "-tp", "3"), 1, "config"),
        ((LLAMA, "-pcp", "2"), 1, "load"),
        (("llama-3.1-70b", "--gpu", "h100-80gb"), 1, "memory"),
        ((LLAMA, "--available-kv-bytes", "0"), 1, "memory"),
        ((LLAMA, "-tp", "-1"), 1, "config"),
    ],
)
def test_plan(capsys: Streams, words: tuple[str, ...], code: int, stage: str | None) -> None:
    found, answer = planned(capsys, *words)
    assert (found, answer["verdict"]["stage"]) == (code, stage)
    assert set(answer) >= {"id", "verdict", "groups", "ranks", "capacity"}
    assert answer["id"] is None


def test_plan_for_people(capsys: Streams) -> None:
    assert cli.main(["plan", LLAMA, "-tp", "2", "--gpu", "h100-80gb"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"llama-3.1-8b as tp2: 2 ranks\nvLLM {RELEASE} accepts it.\n")
    assert '  vllm serve "$MODEL" \\\n    --tensor-parallel-size 2' in out
    assert cli.main(["plan", LLAMA, "-tp", "3"]) == 1
    assert "Way out: use a --tensor-parallel-size of 1, 2, 4, 8, 16, 32" in capsys.readouterr().out


def settings(capsys: Streams, *words: str) -> tuple[Any, Any]:
    """The pool that a call makes of 10 GB: its length and its concurrency."""
    _, answer = planned(capsys, LLAMA, "--available-kv-bytes", "10000000000", *words)
    pool = answer["capacity"]
    return pool["max_model_len"], pool["num_blocks"]


@pytest.mark.parametrize(
    "word, length",
    [("8k", 8000), ("8K", 8192), ("8192", 8192), ("1.5k", 1500), ("0.5k", 500), ("1.5K", None)],
)
def test_human_numbers(capsys: Streams, word: str, length: int | None) -> None:
    """8k is 8000 and 8K is 8192, as vLLM reads them; it takes no fractions of 1024."""
    if length is None:
        assert word in complaint(capsys, "plan", LLAMA, "--max-model-len", word, "--json")
    else:
        assert settings(capsys, "--max-model-len", word)[0] == length


def test_length_that_fits(capsys: Streams) -> None:
    for word in ("-1", "auto"):
        assert settings(capsys, "--max-model-len", word)[0] == 76_272  # 4,767 blocks of 16


def test_spellings(capsys: Streams) -> None:
    """Underscores, an equals sign, short names, options before the model; the last one counts."""
    calls: Iterable[tuple[str, ...]] = (
        (LLAMA, "-tp", "2"),
        (LLAMA, "--tensor-parallel-size", "2"),
        (LLAMA, "--tensor-parallel-size=2"),
        (LLAMA, "--tensor_parallel_size", "2"),
        (LLAMA, "--tensor_parallel_size=2"),
        ("-tp", "2", LLAMA),
        (LLAMA, "-tp", "4", "-tp", "2"),
    )
    answers = [planned(capsys, *words) for words in calls]
    assert all(found == answers[0] for found in answers)
    assert len(answers[0][1]["ranks"]) == 2


def test_options_of_every_kind(capsys: Streams) -> None:
    """Switches on and off, objects as JSON, shapes of the cluster, one rank, parts of it."""
    moe = "mixtral-8x7b"
    routed = ("--enable-return-routed-experts", "--json")
    code, answer = planned(capsys, moe, *routed, "--no-enable-prefix-caching")
    assert (code, answer["verdict"]["message"]) == (
        1,
        "AuxOutput Connector requires prefix caching.",
    )
    assert planned(capsys, moe, *routed, "--enable-prefix-caching")[0] == 0
    balanced = ("-dp", "2", "-ep", "--enable-eplb")
    for redundant, code in ((1, 1), (2, 0)):
        config = f'{{"num_redundant_experts": {redundant}}}'
        assert planned(capsys, moe, *balanced, "--eplb-config", config)[0] == code
    nodes = ("-tp", "8", "--gpus-per-node", "4", "--nodes", "2", "--rank", "5")
    ranks = planned(capsys, moe, *nodes)[1]["ranks"]
    assert [(rank["rank"], rank["node"]) for rank in ranks] == [(5, 1)]
    assert set(planned(capsys, moe, "--ask", "verdict", "--ask", "ranks")[1]) == {
        "id", "verdict", "ranks",
    }  # fmt: skip
    assert planned(capsys, "kimi-k2", "-tp", "8", "--as-bf16")[0] == 0


@pytest.mark.parametrize(
    "words, says",
    [
        ((), "plan|batch"),
        (("plann",), "'plann'"),
        (("plan",), "model"),
        (("plan", LLAMA, "more"), "more"),
        (("plan", LLAMA, "-tp"), "-tp"),
        (("plan", LLAMA, "-tp", "x"), "'x'"),
        (("plan", LLAMA, "-tp", "2.5"), "'2.5'"),
        (("plan", LLAMA, "-tp", ""), "''"),
        (("plan", LLAMA, "-tp", "9" * 5000), "--tensor-parallel-size is '999"),
        (("plan", LLAMA, "--rank", "x"), "'x'"),
        (("plan", LLAMA, "--rank", "1"), "rank is 1 of 1 ranks"),
        (("plan", LLAMA, "--gpu", "h1000"), "GPU 'h1000' is not in the catalog"),
        (("plan", LLAMA, "--ask", "verdct"), "'verdct' is no part of an answer"),
        (("plan", LLAMA, "--gpu-memory-utilization", "high"), "'high'"),
        (("plan", LLAMA, "--gpu-memory-utilization", "nan"), "NaN"),
        (("plan", LLAMA, "--max-model-len", "8Q"), "8Q"),
        (("plan", "mixtral-8x7b", "--all2all-backend", "passthrough"), "is none of allgather"),
        (("plan", LLAMA, "--kv-transfer-config", '{"kv_rol": "x"}'), "did you mean kv_role?"),
        (("plan", LLAMA, "--max-model-len", "infk"), "infk"),
        (("plan", LLAMA, "--max-model-len", "1e400k"), "1e400k"),
        (("plan", LLAMA, "--max-model-len", ""), "--max-model-len"),
        (("plan", LLAMA, "--eplb-config", "{"), "--eplb-config"),
        (("plan", LLAMA, "--eplb-config", "[1]"), "--eplb-config"),
        (("plan", LLAMA, "--eplb-config", "5"), "--eplb-config"),
        (
            ("plan", LLAMA, "--eplb-config", '{"window_size": "a"}'),
            "eplb_config.window_size is 'a'",
        ),
        (("plan", LLAMA, "--quantization", "humming"), "--quantization humming is not modelled"),
        (("plan", "no-such-model"), "model 'no-such-model' is neither in the catalog nor a file"),
        (("plan", LLAMA, "-tp", "1000000000"), "is 1000000000; at most"),
        (("plan", LLAMA, "-dp", "131072", "--json"), "131072 ranks, too many to list"),
        (("plan", LLAMA, "--json=1"), "--json"),
        (("layouts", LLAMA), "--gpus, --gpu"),
        (("layouts", *EIGHT, "--gpus", "0"), "--gpus is 0; give a whole number of at least 1"),
        (("layouts", *EIGHT, "--gpus", "1025"), "--gpus is 1025; at most 1024 are searched"),
        (("layouts", *EIGHT, "--gpus-per-node", "0"), "--gpus-per-node is 0"),
        (("layouts", *EIGHT, "--concurrency", "-1"), "--concurrency is -1"),
        (("layouts", *EIGHT, "--context", "0"), "--context is 0"),
        (("layouts", *EIGHT, "--context", "200000"), "a request may have 131072 tokens"),
        (
            ("layouts", *EIGHT, "--context", "9000", "--max-model-len", "8k"),
            "a request may have 8000 tokens; use a --context of at most 8000",
        ),
        (("layouts", *EIGHT, "--top", "0"), "--top is 0"),
        (("layouts", *EIGHT, "--goal", "speed"), "'speed'"),
        (("layouts", *EIGHT, "--gpu", "h1000"), "GPU 'h1000' is not in the catalog"),
        (("layouts", *EIGHT, "--gpu", "b200"), "--goal tpot needs rates, and the catalog has none"),
        (("layouts", *EIGHT, "-tp", "8"), "--tensor-parallel-size is what the search varies"),
        (("layouts", *EIGHT, "-ep"), "--enable-expert-parallel is what the search varies"),
        (("layouts", *EIGHT, "--max-model-length", "8k"), "did you mean --max-model-len"),
        (("layouts", "no-such-model", *EIGHT[1:]), "model 'no-such-model' is neither"),
        (("layouts", "deepseek-r1", *EIGHT[1:], "--gpu", "mi300x"), "not modelled on a MI300X"),
        (("batch", "file"), "file"),
        (("batch", "--json"), "--json"),
    ],
)
def test_calls_that_cannot_be_read(capsys: Streams, words: tuple[str, ...], says: str) -> None:
    assert says in complaint(capsys, *words)


@pytest.mark.parametrize(
    "word, nearest",
    [
        ("--tensor-paralel-size", "--tensor-parallel-size"),
        ("--tensor_paralel_size=2", "--tensor-parallel-size"),
        ("-tpp", "-tp"),
        ("--available-kv-byte", "--available-kv-bytes"),
        ("--gpus-per-nodes", "--gpus-per-node"),
        ("--enable-expert-paralel", "--enable-expert-parallel"),
    ],
)
def test_unknown_option_names_the_nearest(capsys: Streams, word: str, nearest: str) -> None:
    text = complaint(capsys, "plan", LLAMA, word, "2")
    assert word.partition("=")[0].replace("_", "-") in text
    assert f"did you mean {nearest}" in text


def test_help(capsys: Streams) -> None:
    """Help names every option of `vllm serve`, and is the same whatever the terminal."""
    for words, names in (
        (["--help"], ["plan", "batch", "check", "layouts"]),
        (["layouts", "--help"], ["--gpus", "--goal", "--fewer", "--max-model-len"]),
        (["batch", "--help"], ["batch"]),
        (["plan", "--help"], [option.names[0] for option in options().values()]),
    ):
        with pytest.raises(SystemExit) as left:
            cli.main(words)
        assert left.value.code == 0
        out = capsys.readouterr().out
        assert [name for name in names if name not in out] == []


def test_a_model_by_path(capsys: Streams, tmp_path: Path) -> None:
    """A name of the catalog is `$MODEL` in the command; a path stands there as it is."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "dtype": "bfloat16",
        "vocab_size": 128,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 128,
    }
    folder = tmp_path / "my model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    for path in (folder, folder / "config.json"):
        assert planned(capsys, str(path), "-tp", "2")[0] == 0
    assert cli.main(["plan", str(folder)]) == 0
    assert f"vllm serve '{folder}'" in capsys.readouterr().out


# layouts.


def ranked(capsys: Streams, *words: str) -> tuple[int, Any]:
    """Exit code and answer of a `layouts --json`."""
    code = cli.main(["layouts", *words, "--json"])
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("\n") == 1
    return code, json.loads(said.out)


def test_layouts(capsys: Streams) -> None:
    """Every layout is found or counted; what is found is what `plan` says of its arguments."""
    code, answer = ranked(capsys, *EIGHT, "--top", "3", "--max-model-len", "8K")
    assert (code, answer["goal"], answer["gpus_per_node"]) == (0, "tpot", 8)
    assert answer["load"] == {"concurrency": 64, "context": 4096}
    assert len(answer["layouts"]) == 3 < answer["found"]
    refused = sum(row["count"] for row in answer["refused"])
    assert answer["found"] + refused == answer["searched"]
    times = [row["tpot_seconds"] for row in answer["layouts"]]
    assert times == sorted(times)
    for row in answer["layouts"]:
        widths = row["args"]
        assert widths.pop("max_model_len") == 8192
        flags = [f"--{name.replace('_', '-')}={width}" for name, width in widths.items()]
        _, plan = planned(capsys, LLAMA, "--gpu", "h100-80gb", "--max-model-len", "8192", *flags)
        assert plan["verdict"]["accepted"]
        assert plan["capacity"]["tokens"] == row["tokens_per_engine"]
        assert row["tokens"] == row["tokens_per_engine"] * row["engines"]
        rate = row["running"] / row["tpot_seconds"] / row["gpus"]
        assert row["tokens_per_second_per_gpu"] == pytest.approx(rate)


def test_layouts_by_memory(capsys: Streams) -> None:
    """A GPU without rates will do, and nothing is said of time."""
    code, answer = ranked(capsys, LLAMA, "--gpus", "4", "--gpu", "b200", "--goal", "capacity")
    assert (code, answer["load"]) == (0, None)
    assert {row["tpot_seconds"] for row in answer["layouts"]} == {None}
    tokens = [row["tokens"] for row in answer["layouts"]]
    assert tokens == sorted(tokens, reverse=True)
    _, more = ranked(capsys, LLAMA, "--gpus", "4", "--gpu", "b200", "--goal", "capacity", "--fewer")
    assert more["searched"] > answer["searched"]
    assert more["layouts"][0] == answer["layouts"][0]


def test_layouts_of_short_contexts(capsys: Streams) -> None:
    """The context that is not given is never longer than a request may be."""
    _, answer = ranked(capsys, *EIGHT, "--max-model-len", "1k", "--concurrency", "3")
    assert answer["load"] == {"concurrency": 3, "context": 1000}


@pytest.mark.parametrize(
    "words, says",
    [
        (["deepseek-r1", "--gpus", "32"], "On nodes 2 to 3 as on node 1, with the --node-rank of"),
        (["deepseek-r1", "--gpus", "24"], "On node 2 as on node 1, with the --node-rank of each."),
    ],
)
def test_layouts_of_many_nodes(capsys: Streams, words: list[str], says: str) -> None:
    assert cli.main(["layouts", *words, "--gpu", "h200", "--top", "1"]) == 0
    assert says in capsys.readouterr().out


def test_layouts_for_people(capsys: Streams) -> None:
    assert cli.main(["layouts", "deepseek-r1", "--gpus", "16", "--gpu", "h200", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"deepseek-r1 on 16 × H200 141GB SXM, 8 a node\nvLLM {RELEASE} starts ")
    assert "Load: 64 requests of 4,096 tokens decode, without prompts and queueing." in out
    assert '  vllm serve "$MODEL" \\\n' in out
    assert " on node 0\n  HEAD=" in out
    assert "--node-rank 1 \\\n    --headless" in out
    assert "mla-pcp-with-dcp" in out
    assert cli.main(["layouts", "llama-3.1-70b", "--gpus", "1", "--gpu", "h100-80gb"]) == 1
    out = capsys.readouterr().out
    assert "starts none of 1 layout.\n\nFell out" in out
    assert "1  room-for-a-block  as tp1: " in out


# batch.


def test_batch(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    """Answers in the order of the questions; 1 if one of them was refused or not read."""
    good = b'{"id": 1, "model": "llama-3.1-8b", "ask": ["verdict"]}\n'
    refused = b'{"id": 2, "model": "llama-3.1-8b", "args": {"nnodes": 0}, "ask": ["verdict"]}\n'
    unread = b'{"id": 3, "model": "nope"}\n'
    for text, code, ids in (
        (b"", 0, []),
        (b"\n\n", 0, []),
        (good, 0, [1]),
        (good + good, 0, [1, 1]),
        (good.rstrip(), 0, [1]),
        (good + refused + good, 1, [1, 2, 1]),
        (refused.replace(b"verdict", b"groups"), 1, [2]),
        (unread + good, 1, [3, 1]),
        (good + b"nonsense\n" + good, 1, [1, None, 1]),
        (b'{"id": "\xff", "model": "llama-3.1-8b", "ask": []}\n', 0, ["\ufffd"]),
        (b"\xff\xfe\n" + good, 1, [None, 1]),
        (b"\xef\xbb\xbf" + good, 0, [1]),  # as PowerShell writes it
        (b'{"id": "\\ud800", "model": "llama-3.1-8b", "ask": []}\r\n', 0, ["\ud800"]),
    ):
        found, rows = batch(monkeypatch, capsys, text)
        assert (found, [row["id"] for row in rows]) == (code, ids), text


def test_plan_says_what_batch_says(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    _, one = planned(capsys, LLAMA, "-tp", "4", "--gpu", "h200", "--max-model-len", "4k")
    question = {
        "model": LLAMA,
        "args": {"tensor_parallel_size": 4, "max_model_len": 4000},
        "gpu": "h200",
    }
    _, rows = batch(monkeypatch, capsys, json.dumps(question).encode())
    assert rows == [one]
