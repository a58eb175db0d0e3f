"""`vllm-parallel metrics`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.metrics.made import COUNTS, STANDS, file_of, lines_of
from tests.metrics.test_snapshot import GOOD
from vllm_parallel import cli
from vllm_parallel.symptoms import SYMPTOM

Streams = pytest.CaptureFixture[str]


def ran(capsys: Streams, *words: object) -> tuple[int, str, str]:
    code = cli.main(["metrics", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command(tmp_path: Path, capsys: Streams) -> None:
    before = file_of(tmp_path, "before.prom", lines_of(COUNTS | STANDS))
    later = COUNTS | STANDS | {"vllm:num_preemptions_total": 25.0}
    after = file_of(tmp_path, "after.prom", lines_of(later))
    code, out, err = ran(capsys, before, after, "--json")
    answer: Any = json.loads(out)
    assert (code, err) == (0, "")
    assert answer == {
        "engines": [
            {
                "engine": 0,
                "restarted": False,
                "preemptions": 22,
                "generation_tokens": 0,
                "prompt_tokens": 0,
                "kv_cache_usage": 0.25,
                "running": 2,
                "waiting": 0,
                "kv_cache_size_tokens": 16384,
                "num_blocks": 1024,
                "block_size": 16,
            }
        ],
        "symptoms": [
            {
                "name": "preemptions",
                "engines": [0],
                "fix": SYMPTOM["preemptions"].fix,
                "address": "guide/troubleshoot/#preemptions",
            }
        ],
        "notes": [],
    }
    code, out, err = ran(capsys, before, after)
    assert (code, err) == (0, "")
    assert "22" in out
    assert "guide/troubleshoot/#preemptions" in out
    assert ran(capsys, after, before, "--json")[0] == 1


def test_the_command_is_quiet_of_escapes(tmp_path: Path, capsys: Streams) -> None:
    """A model's name may hold anything; a terminal sees none of it."""
    evil = file_of(tmp_path, "evil.prom", GOOD.replace('"m"', '"\x1b[31m\u202e"'))
    good = file_of(tmp_path, "good.prom", GOOD)
    code, out, err = ran(capsys, evil, good)
    assert (code, out) == (2, "")
    assert err.rstrip("\n").isprintable()
    code, out, _ = ran(capsys, evil, evil)
    assert all(line.isprintable() for line in out.splitlines())


def test_two_engines_for_people(tmp_path: Path, capsys: Streams) -> None:
    both = lines_of(COUNTS | STANDS) + lines_of(COUNTS | STANDS, engine=1)
    path = file_of(tmp_path, "both.prom", both)
    rows = [line.split() for line in ran(capsys, path, path)[1].splitlines()]
    assert rows[-1] == ["all", "0", "0", "0", "4", "0", "32,768"]
