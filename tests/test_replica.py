"""The laptop experiment: what it sends, what it keeps, and that it goes on after a break."""

import doctest
import json
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import experiment
import progress
from describe import beginnings, command, finish
from experiment import ARMS, CONCURRENCIES, Arm, Start, starts
from folder import Folder
from progress import Pace
from replicate import Replica
from server import end
from vllm_parallel.review import Script
from vllm_parallel.runs import read_run

# Stands for the engine's python: a server that answers, and a sender of loads that writes results.
ENGINE = """#!{python}
import http.server, json, os, sys
words = sys.argv[1:]
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"up 1\\n")
if words[0] == "-m":
    open("pids", "a").write(f"{{os.getpid()}}\\n")
    print("one line of a log", flush=True)
    port = int(words[words.index("--port") + 1])
    http.server.HTTPServer(("127.0.0.1", port), Answers).serve_forever()
print("ready", flush=True)
for line in sys.stdin:
    words = json.loads(line)
    after = lambda flag: words[words.index(flag) + 1]
    count, width = int(after("--num-prompts")), int(after("--max-concurrency"))
    found = dict(num_prompts=count, max_concurrency=width, completed=count, output_throughput=1.0)
    found |= dict(word.split("=") for word in words if word.split("=")[0] in ("layout", "began"))
    if os.path.exists("fail"):
        print("ValueError: it failed", flush=True)
        continue
    open(after("--result-filename"), "w").write(json.dumps(found))
    print("done", flush=True)
"""


@pytest.mark.parametrize("module", [experiment, progress])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_every_trial_starts_every_arm_once() -> None:
    listed = list(starts(3))
    assert len(set(listed)) == len(listed) == 3 * len(ARMS)
    assert [start.trial for start in listed] == sorted(start.trial for start in listed)
    assert len({start.arm.label for start in listed[:: len(ARMS)]}) == 3  # another one first


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.label)
def test_commands_are_what_vllm_takes(arm: Arm) -> None:
    terms = {"model": json.loads((Path("scripts/replica") / "config.json").read_text("utf-8"))}
    words = [word for word in command(arm).split() if not word.startswith("-cc.")]  # not modelled
    script = Script.of_call(words)
    (review,) = script.reviews(terms)
    assert review.passes, review


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        ("", False),
        ('{"layout": "tp2", "max_conc', False),
        ("[1, 2]", False),
        ('{"layout":"tp2","max_concurrency":4,"num_prompts":8,"completed":8}', True),
        ('{"layout":"tp2","max_concurrency":4,"num_prompts":8,"completed":7}', False),
        ('{"layout":"tp1","max_concurrency":4,"num_prompts":8,"completed":8}', False),
        ('{"layout":"tp2","max_concurrency":4,"num_prompts":9,"completed":9}', False),
    ],
)
def test_only_whole_results_of_this_load_are_kept(
    tmp_path: Path, content: str, whole: bool
) -> None:
    (tmp_path / "tp2-c4-r1.json").write_text(content, "utf-8")
    start = Start(arm=ARMS[1], trial=1)
    missing = Folder(kept=tmp_path, scratch=tmp_path).missing(start)
    assert (4 not in missing) == whole


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    folder = Folder(kept=tmp_path / "run", scratch=tmp_path / "scratch")
    folder.kept.mkdir()
    folder.scratch.mkdir()
    engine = tmp_path / "engine"
    engine.write_text(ENGINE.format(python=sys.executable), "utf-8")
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    chosen = [start for start in starts(1) if start.arm.label in ("tp1", "tp1-starved")]
    return Replica(folder=folder, python=str(engine), starts=chosen, pace=Pace())


def ended(replica: Replica) -> bool:
    """Whether every server that was started is gone."""
    pids = (replica.folder.scratch / "pids").read_text("utf-8").split()
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_measures_then_resumes(replica: Replica, capsys: pytest.CaptureFixture[str]) -> None:
    replica.measure()
    kept = replica.folder.kept
    assert {path.name for path in kept.glob("*.json")} == {
        f"{label}-c{width}-r1.json" for label in ("tp1", "tp1-starved") for width in CONCURRENCIES
    }
    for stem in ("tp1", "tp1-starved", "tp1-starved-c16-r1"):
        assert (kept / f"{stem}-before.prom").read_bytes() == b"up 1\n"
        assert (kept / f"{stem}-after.prom").exists()
    assert "to go" in capsys.readouterr().out
    assert ended(replica)

    whole = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    (kept / "tp1-c8-r1.json").write_text('{"layout": "tp', "utf-8")
    (kept / "tp1-c1-r1.json").unlink()
    time.sleep(1.1)  # starts are told apart by the second
    replica.measure()
    touched = {path.name for path, at in whole.items() if path.stat().st_mtime_ns != at}
    assert {name for name in touched if name.endswith(".json")} == {
        "tp1-c8-r1.json",
        "tp1-c1-r1.json",
    }
    assert (kept / "tp1-serve.log").read_text("utf-8").count("one line of a log") == 2
    assert [len(beginnings(replica.folder, start)) for start in replica.starts] == [2, 1]
    assert ended(replica)

    before = (replica.folder.scratch / "pids").read_text("utf-8")
    replica.measure()
    assert (replica.folder.scratch / "pids").read_text("utf-8") == before, "nothing was missing"


def test_a_failure_ends_what_was_started(replica: Replica) -> None:
    (replica.folder.scratch / "fail").touch()
    with pytest.raises(RuntimeError, match="it failed"):
        replica.measure()
    assert ended(replica)
    assert not list(replica.folder.kept.glob("*.json"))


class Impatient(subprocess.Popen[bytes]):
    """A process whose end is not waited for: whoever waits is interrupted once."""

    interrupted = False

    def wait(self, timeout: float | None = None) -> int:
        if not self.interrupted:
            self.interrupted = True
            raise KeyboardInterrupt
        return super().wait(timeout)


def test_an_interrupted_end_still_ends_the_server() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    with Impatient([sys.executable, "-c", stubborn], start_new_session=True) as process:
        with pytest.raises(KeyboardInterrupt):
            end(process)
        assert process.poll() is not None


def test_run_toml_is_read(replica: Replica) -> None:
    for start in starts(2):
        for width in CONCURRENCIES:
            found = {
                "layout": start.arm.label, "max_concurrency": width,
                "num_prompts": experiment.prompts(width), "completed": experiment.prompts(width),
                "began": "2026-11-30T20:40:27Z",
            }  # fmt: skip
            replica.folder.write(f"{start.trial_stem(width)}.json", json.dumps(found).encode())
    replica.folder.write("environment.txt", b"torch==2.13.0\nvllm==0.32.0+cpu\n")
    finish(replica.folder, list(starts(2)), 'Shared with "others".')
    run = read_run(replica.folder.kept)
    assert (run.vllm_version, run.load.trials) == ("0.32.0", 2)
    assert run.note == 'CPU times say nothing about GPUs. Shared with "others".'
    assert [layout.name for layout in run.layouts] == [arm.label for arm in ARMS]
    assert [start.trials for start in run.layouts[3].starts] == [(1,), (2,)]
    names = set(run.required()) - {"config.json", "topo.txt", "environment.txt"}
    assert {name for name in names if name.endswith(".json")} == {
        path.name for path in replica.folder.kept.glob("*.json")
    }
