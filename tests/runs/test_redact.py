"""What a run must not publish is found and replaced; nothing else is, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runs.made import complete
from vllm_parallel.cli import main
from vllm_parallel.errors import ParseError
from vllm_parallel.runs import SEAL, Check, Sort, redact, sealed
from vllm_parallel.runs.secrets import secrets
from vllm_parallel.runs.text import LONGEST, pieces

LINES = [
    ("args: {'model_tag': '/home/ada/m', 'api_key': ['s3cretsecret'], 'host': '127.0.0.1'}",
     ["home /home/ada", "token s3cretsecret"]),
    ("gpu-node-07:4321:4321 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB", ["host gpu-node-07"]),
    ("(RayWorkerWrapper pid=2, ip=10.244.3.17) INFO", ["address 10.244.3.17"]),
    ("distributed_init_method=tcp://8.8.4.4:5678", ["address 8.8.4.4"]),
    ("[fe80::1ff:fe23:4567:890a]:80", ["address fe80::1ff:fe23:4567:890a"]),
    ("ada@gpu01:~$ vllm serve m", ["user ada@gpu01"]),
    ("mail me@example.com", ["user me@example.com"]),
    ("export HF_TOKEN=hf_abcdefghijklmnopqrst", ["token hf_abcdefghijklmnopqrst"]),
    ("vllm serve m --api-key sk-aaaaaaaaaaaaaaaaaaaa", ["token sk-aaaaaaaaaaaaaaaaaaaa"]),
    ("vllm serve m --api-key=letmein1", ["token letmein1"]),
    ("https://user:hunter22@proxy.corp:3128", ["token hunter22", "host proxy.corp"]),
    ("Authorization: Bearer abcdefghijk", ["token abcdefghijk"]),
    ("GPU 0: H100 (UUID: GPU-0a1b2c3d-1111-2222-3333-444455556666)",
     ["serial GPU-0a1b2c3d-1111-2222-3333-444455556666"]),
    ("link/ether 0a:1b:2c:3d:4e:5f brd", ["serial 0a:1b:2c:3d:4e:5f"]),
    ("Linux node12 6.8.0-40-generic x86_64", ["host node12"]),
    ("ip-10-0-3-4.ec2.internal", ["host ip-10-0-3-4.ec2.internal"]),
    (r"C:\Users\Ada\models", [r"home C:\Users\Ada"]),
    ("/root/.cache /Users/bob/x USER=ada", ["home /root", "home /Users/bob", "user ada"]),
    # What only looks like it.
    ("nvidia-cublas-cu12==12.8.4.1 nvidia-curand==10.3.9.90 cudnn 9.10.2.21", []),
    ("INFO 11-30 12:30:45 [x.py:1] c10::Error in std::vector, threading.local()", []),
    ("http://127.0.0.1:8000 http://0.0.0.0:8000 [::1]:80 localhost 192.0.2.10", []),
    ("git clone git@github.com:vllm-project/vllm", []),
    ("max_tokens=2048, token: 3, password authentication, api_key=None", []),
    ('--api-key "$KEY" --api-key $HF_TOKEN', []),
    ("tp8 at 16: <host-1>, <home-1>/models, api_key='<token-1>', USER=<user-1>", []),
    ('vllm:prompt_tokens_total{engine="0",model_name="m"} 90000.0', []),
]  # fmt: skip


@pytest.mark.parametrize("line, wanted", LINES)
def test_what_is_found_in_a_line(line: str, wanted: list[str]) -> None:
    assert [f"{one.kind} {one.text}" for one in secrets(line)] == wanted


def test_words_given_by_hand() -> None:
    assert [one.text for one in secrets("on titan and titan2", ["titan"])] == ["titan", "titan"]


def test_tokens_are_not_shown() -> None:
    [found] = secrets("hf_abcdefghijklmnopqrst")
    assert found.shown == "hf_a…"


@pytest.mark.parametrize(
    "content",
    [
        b"a\r\nb\nc",
        b"\xff\xfe\n",
        b"x" * (3 * LONGEST),
        b"a, b " * LONGEST,
        b"",
        b"\n\n",
        "ä\n".encode(),
    ],
)
def test_pieces_are_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    found = list(pieces(path))
    assert "".join(one.text for one in found).encode("utf-8", "surrogateescape") == content
    assert max((len(one.text) for one in found), default=0) <= 2 * LONGEST


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with secrets in three files, one of them with bytes that are no UTF-8."""
    run = complete(tmp_path / "run")
    log = run / "tp1-serve.log"
    log.write_bytes(log.read_bytes() + b"on 10.1.2.3 in /home/ada\r\n\xff\xfe /home/ada\n")
    topo = run / "topo.txt"
    topo.write_text("10.1.2.3 and 10.1.2.4\n", "utf-8")
    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_in_place_keeps_the_originals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    assert main(["run", "check", str(folder), "--redact"]) == 0
    assert "replaced in tp1-serve.log: 1 address, 2 homes" in capsys.readouterr().out
    after = contents(folder)
    assert contents(folder.with_name("run.originals")) == before
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"tp1-serve.log", "topo.txt", "redacted.json"}
    assert after["tp1-serve.log"].endswith(b"on <address-1> in <home-1>\r\n\xff\xfe <home-1>\n")
    assert after["topo.txt"] == b"<address-1> and <address-2>\n"
    said = json.loads(after["redacted.json"])
    assert said["topo.txt"]["replaced"] == {"address": 2}
    assert Check.of(folder).consistent


def test_a_copy_leaves_the_run_alone(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    done = redact(folder, tmp_path / "copy")
    assert contents(folder) == before
    assert done.originals == folder
    assert Check.of(tmp_path / "copy").consistent
    assert [one.sort for one in Check.of(folder).findings] == [Sort.SECRET] * 5


def test_nothing_is_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with pytest.raises(ParseError, match="copy is there already; move it away"):
        redact(folder, tmp_path / "copy")
    redact(folder, None)
    (folder / "topo.txt").write_text("10.1.2.3\n", "utf-8")
    with pytest.raises(ParseError, match=r"run.originals is there already"):
        redact(folder, None)


def test_nothing_to_replace_leaves_nothing_behind(tmp_path: Path) -> None:
    run = complete(tmp_path / "run")
    before = contents(run)
    assert redact(run, None).files == {}
    assert contents(run) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_seal_is_renewed_and_a_broken_one_refused(folder: Path) -> None:
    (folder / SEAL).write_text(sealed(folder), "utf-8")
    redact(folder, None)
    assert Check.of(folder).consistent
    (folder / "topo.txt").write_text("edited 10.1.2.3\n", "utf-8")
    with pytest.raises(ParseError, match=r"topo.txt was changed after SHA256SUMS was written"):
        redact(folder, None)


def test_a_name_given_by_hand_is_replaced_everywhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "topo.txt").write_text("titan\n", "utf-8")
    words = ["run", "check", str(folder), "--word", "titan"]
    assert main(words) == 1
    assert "topo.txt:1 has the word titan" in capsys.readouterr().out
    assert main([*words, "--redact"]) == 0
    assert (folder / "topo.txt").read_text("utf-8") == "<word-1>\n"
