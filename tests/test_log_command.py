"""The command `log`: its JSON, its table, its exit codes, and what differences mean."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.log.made import API, READY
from vllm_parallel import catalog
from vllm_parallel.cli import main

CONFIGS: Final = Path(catalog.__file__).parent / "models"

KEYS: Final = {
    "vllm_version", "kv_tokens_total", "layer_split", "refusal", "notes", "engines", "workers",
    "stats",
}  # fmt: skip
CONFIG: Final = (
    "model='m', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, "
    "pipeline_parallel_size=1, x=1"
)
MODEL: Final = "meta-llama/Llama-3.1-8B-Instruct"
ARGS: Final = (
    f"{{'model_tag': '{MODEL}', 'model': '{MODEL}', 'max_model_len': 8192, "
    "'gpu_memory_utilization': 0.95, 'port': 8001"
)


def launched(
    *,
    args: str = "}",
    weights: str = "14.99",
    room: str = "58.11",
    pool: str = "476,000 tokens, Maximum concurrency for 8,192 tokens per request: 58.11x",
    extra: Sequence[str] = (),
) -> str:
    """The log of Llama-3.1-8B on one H100, by what a release of today prints."""
    worker = "(EngineCore pid=9) INFO 11-30 20:26:20 [a.py:1] "
    return "\n".join(
        [
            f"{API}vLLM server version 0.32.0, serving model meta-llama/Llama-3.1-8B-Instruct",
            f"{API}non-default args: {ARGS}{args}",
            f"{worker}Initializing a V1 LLM engine (v0.32.0) with config: {CONFIG}",
            f"{worker}Model loading took {weights} GiB memory and 2.0 seconds",
            f"{worker}Available KV cache memory: {room} GiB",
            f"{worker}GPU KV cache size: {pool}",
            *extra,
            READY,
            "",
        ]
    )


def called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, *words: str
) -> tuple[int, dict[str, Any]]:
    path = tmp_path / "serve.log"
    path.write_text(text, "utf-8")
    code = main(["log", str(path), "--json", *words])
    row: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, row


def test_shape(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, row = called(capsys, tmp_path, launched(), "--gpu", "h100-80gb")
    assert code == 0
    assert set(row) >= KEYS
    assert row["engines"] == [
        {
            "engine": 0,
            "kv_tokens": 476000,
            "max_model_len": 8192,
            "max_concurrency": 58.11,
            "device": "GPU",
        }
    ]
    assert row["workers"] == [
        {
            "name": "EngineCore",
            "pid": 9,
            "weight_gib": 14.99,
            "load_seconds": 2.0,
            "available_kv_gib": 58.11,
            "graph_gib": None,
        }
    ]
    assert (row["vllm_version"], row["kv_tokens_total"], row["stats"]) == ("0.32.0", 476000, [])
    assert row["estimate"]["ranks"][0]["weight_gib"]["printed"] == 14.99
    assert row["estimate"]["ranks"][0]["overhead_gib"]["printed"] == pytest.approx(2.13, abs=0.01)


def test_statistics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = (
        f"{API}Engine 001: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 "
        "tokens/s, Running: 8 reqs, Waiting: 4 reqs, Deferred: 1 reqs, Preemptions: 3, GPU KV "
        "cache usage: 98.5%, Prefix cache hit rate: 0.0%, MM cache hit rate: 0.0%"
    )
    _, row = called(capsys, tmp_path, launched(extra=[line]))
    assert row["stats"] == [
        {"engine": 1, "running": 8, "waiting": 4, "preemptions": 3, "kv_cache_usage": 0.985}
    ]
    names = [symptom["name"] for symptom in row["symptoms"]]
    assert names[:2] == ["preemptions", "requests-wait"]


MEANINGS: Final[dict[str, tuple[str, Sequence[str], str, str]]] = {
    "agrees": (launched(), (), "", "agrees with the estimate"),
    "8-bit weights": (
        launched(weights="7.6", room="65.5", pool="536,560 tokens"),
        (),
        "dtype-differs",
        "8-bit weights",
    ),
    "a width that did not take": (
        launched(),
        ("-tp", "2", "--max-model-len", "8192", "--gpu-memory-utilization", "0.95"),
        "flag-not-taken",
        "--tensor-parallel-size is 2 in the estimate, the engine says 1",
    ),
    "a length that did not take": (
        launched(),
        ("--max-model-len", "4096"),
        "flag-not-taken",
        "--max-model-len is 4,096 in the estimate, the engine says 8192",
    ),
    "less room": (
        launched(room="50.0", pool="409,600 tokens"),
        (),
        "kv-below-estimate",
        "less for KV than the estimate allows",
    ),
    "a cache of half the width": (
        launched(pool="952,000 tokens"),
        (),
        "kv-above-estimate",
        "half the width",
    ),
    "a cache that is too small": (
        launched(pool="238,000 tokens"),
        (),
        "kv-below-estimate",
        "twice the width",
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_meaning(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text, words, symptom, says = MEANINGS[name]
    _, row = called(capsys, tmp_path, text, "--gpu", "h100-80gb", *words)
    assert any(says in one for one in row["estimate"]["says"]), row["estimate"]["says"]
    names = [one["name"] for one in row["symptoms"]]
    assert symptom in names if symptom else names == []


def test_gpu_is_found_by_its_memory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    summary = (
        "(EngineCore pid=9) INFO 11-30 20:26:20 [a.py:1] Free memory on device (78.68/79.19 GiB) "
        "on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 15.2 GiB "
        "for consumed memory (weights + non-torch), 1.9 GiB for peak activation, and 0.9 GiB for "
        "CUDAGraph memory. Replace it. Current kv cache memory in use is 58.11 GiB."
    )
    _, row = called(capsys, tmp_path, launched(extra=[summary]))
    assert "79.19 GiB" in row["estimate"]["gpu"]
    assert row["estimate"]["ranks"][0]["budget_gib"] == {"estimate": 75.231, "printed": 75.23}


def test_site_address(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_URL", "https://example.org/docs/")
    off = f"{API}AsyncLLM created with api_server_count more than 1; disabling stats logging"
    _, row = called(capsys, tmp_path, launched(extra=[off]))
    address = "https://example.org/docs/guide/troubleshoot/#stats-line-missing"
    assert [one["page"] for one in row["symptoms"]] == [address]


def test_engine_tells_what_was_not_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without the line of arguments, the widths and the batch are those that the engine prints."""
    lines = [
        line.replace("tensor_parallel_size=1", "tensor_parallel_size=2").replace(
            "'m'", f"'{MODEL}'"
        )
        for line in launched(weights="7.51").splitlines()
        if "non-default" not in line
    ]
    lines.insert(1, f"{API}Chunked prefill is enabled with max_num_batched_tokens=2048.")
    text = "\n".join(lines).replace("EngineCore pid=9", "Worker_TP1 pid=9")
    _, row = called(capsys, tmp_path, text, "--gpu", "h100-80gb")
    assert row["estimate"]["layout"] == "tp2"
    assert row["estimate"]["ranks"][0]["rank"] == 1
    assert row["estimate"]["ranks"][0]["weight_gib"]["estimate"] == pytest.approx(7.51, abs=0.02)


def test_config_beside_the_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A model of one's own: its config lies where the log does."""
    config = json.loads((CONFIGS / "llama-3.1-8b.json").read_text("utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 16}), "utf-8")
    text = launched().replace(MODEL, "./model")
    _, row = called(capsys, tmp_path, text, "--gpu", "h100-80gb")
    assert row["estimate"]["model"] == str(tmp_path / "config.json")
    assert row["estimate"]["ranks"][0]["weight_gib"]["estimate"] < 9


def test_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(launched().encode()))
    monkeypatch.setattr("sys.stdin", piped)
    assert main(["log", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kv_tokens_total"] == 476000


FAILED: Final = "(EngineCore pid=9) ValueError: No available memory for the cache blocks.\n"


def test_refusal_exits_with_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, row = called(capsys, tmp_path, FAILED)
    assert (code, row["refusal"]) == (1, "No available memory for the cache blocks.")
    assert main(["log", str(tmp_path / "serve.log")]) == 1
    text = capsys.readouterr().out
    assert "failed to start, line 1: No available memory" in text
    assert "see guide/troubleshoot/#no-memory-for-blocks" in text


def test_one_bad_file_among_good(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text(launched(), "utf-8")
    bad.write_bytes(b"\0" * 10)
    assert main(["log", "--json", str(bad), str(good)]) == 1
    row = json.loads(capsys.readouterr().out)
    assert [one["path"] for one in row["skipped"]] == [str(bad)]
    assert (row["path"], row["kv_tokens_total"]) == (str(good), 476000)
    assert main(["log", str(bad), str(good)]) == 1
    assert "not read:" in capsys.readouterr().out


def test_two_launches_are_two_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.log", "b.log")]
    for path in paths:
        Path(path).write_text(launched(), "utf-8")
    assert main(["log", "--json", *paths]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert set(first) == set(second)
    assert (first["path"], second["path"]) == tuple(paths)


@pytest.mark.parametrize("data", [b"", b"\0\0", b'{"a": 1}', b"\xff\xfe", b"\x1f\x8b\x08"])
def test_lone_bad_file(data: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "<img src=x>\n.log"
    path.write_bytes(data)
    assert main(["log", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["--merge"]])
def test_nodes_of_one_deployment(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Engines of other numbers are one deployment's, whose pools add up."""
    paths = []
    for number in (0, 1):
        paths.append(str(tmp_path / f"node{number}.log"))
        text = launched().replace("EngineCore pid=9", f"EngineCore_DP{number} pid={number}")
        Path(paths[-1]).write_text(text, "utf-8")
    assert main(["log", "--json", *words, *paths]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["kv_tokens_total"], len(row["workers"])) == (952000, 2)


def test_node_that_lends_its_ranks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    head, other = tmp_path / "head.log", tmp_path / "other.log"
    head.write_text(launched(), "utf-8")
    lines = [line for line in launched(args=", 'headless': True}").splitlines() if "KV" not in line]
    other.write_text("\n".join(lines).replace(READY, "").replace("pid=9", "pid=5"), "utf-8")
    assert main(["log", "--json", str(head), str(other)]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["kv_tokens_total"], len(row["workers"])) == (476000, 2)


def test_topology(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log, topo = tmp_path / "a.log", tmp_path / "topo.txt"
    log.write_text(launched(), "utf-8")
    topo.write_text("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n", "utf-8")
    assert main(["log", str(log), "--topo", str(topo)]) == 0
    text = capsys.readouterr().out
    assert "not all on NVLink" in text
    assert "no-peer-access" in text


@pytest.mark.parametrize(
    "words, says",
    [
        (["--modle", "x"], "--modle is no option"),
        (["-tp", "two"], "--tensor-parallel-size is 'two'"),
        (["--model", "nowhere"], "model 'nowhere' is not known"),
        (["--gpu", "h1000"], "h1000"),
        (["--topo", "none.txt"], "none.txt cannot be read"),
    ],
)
def test_wrong_calls(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.log"
    path.write_text(launched(), "utf-8")
    assert main(["log", str(path), *words]) == 2
    assert says in capsys.readouterr().err


def test_markup_stays_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    label = "<img src=x onerror=alert(1)>\x07"
    path.write_text(launched().replace("(EngineCore pid=9)", f"({label} pid=9)"), "utf-8")
    assert main(["log", str(path)]) == 0
    assert "\x07" not in capsys.readouterr().out
