"""The package as it is handed out: what is in it, and what it does where the checkout is not."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clones import clone, furnish, git
from tests.shared import ROOT
from vllm_parallel import __version__, gpu_names, model_names
from vllm_parallel.cli import COMMANDS
from vllm_parallel.term import RELEASE

pytestmark = pytest.mark.dist

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Of the package alone; soupsieve, which only the site's tools need, wants 3.11.5.
OLDEST: Final = PROJECT["requires-python"].removeprefix(">=")
PYTHONS: Final = ("3.11.5", "3.14")
RUN: Final = ROOT / "results" / "2026-11-30-cpu-replica"
BESIDE: Final = ("LICENSE", "NOTICE")
# What is called, and what has to be in its answer.
CALLS: Final = (
    ("plan llama-3.1-8b -tp 2 --gpu h100-80gb", f"vLLM {RELEASE} accepts it."),
    ("layouts llama-3.1-8b --gpus 2 --gpu h100-80gb", f"vLLM {RELEASE} starts "),
    ("check -- vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2", f"vLLM {RELEASE} accepts it."),
    (f"log {RUN}/tp2-serve.log", f"vLLM {RELEASE}"),
    (f"metrics {RUN}/tp2-before.prom {RUN}/tp2-after.prom", "Between the two readings"),
    (f"bench {RUN}", "tp2"),
    (f"compare {RUN} --baseline tp1", "tp1"),
    (f"run check {RUN}", "is consistent"),
)


def built(folder: Path) -> dict[str, bytes]:
    """What `make dist` makes there, by name."""
    done = subprocess.run(
        ["make", "dist"], cwd=folder, env=furnish(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {file.name: file.read_bytes() for file in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which `make dist` was called."""
    folder = clone(tmp_path_factory.mktemp("dist") / "clone")
    built(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(made: Path) -> Path:
    return made / "dist" / f"vllm_parallel-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def sdist(made: Path) -> Path:
    return made / "dist" / f"vllm_parallel-{__version__}.tar.gz"


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty venv outside the checkout that the wheel is installed in."""
    folder = tmp_path_factory.mktemp("home") / "venv"
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    words = ["--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run([*pip, *words], cwd=folder, check=True)
    return folder


def test_one_wheel_and_one_sdist(wheel: Path, sdist: Path) -> None:
    assert sorted(wheel.parent.iterdir()) == sorted((wheel, sdist))


def test_another_clone_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    first = {file.name: file.read_bytes() for file in (made / "dist").iterdir()}
    git(tmp_path, "clone", "--quiet", str(made), "elsewhere")
    assert built(tmp_path / "elsewhere") == first


def test_the_wheel_holds_the_package_and_no_more(made: Path, wheel: Path) -> None:
    source = git(made, "ls-files", "src/vllm_parallel").splitlines()
    about = f"vllm_parallel-{__version__}.dist-info"
    beside = [f"{about}/licenses/{name}" for name in BESIDE]
    written = [f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")]
    expected = [name.removeprefix("src/") for name in source] + beside + written
    with zipfile.ZipFile(wheel) as archive:
        assert sorted(archive.namelist()) == sorted(expected)
    assert "vllm_parallel/py.typed" in expected


def test_the_wheel_says_what_pyproject_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"vllm_parallel-{__version__}.dist-info/METADATA").decode()
    said = Parser().parsestr(text)
    assert (said["Name"], said["Version"]) == ("vllm-parallel", __version__)
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Requires-Python"] == PROJECT["requires-python"]
    needed = [one for one in said.get_all("Requires-Dist", []) if "extra ==" not in one]
    names = sorted(re.split(r"[<>=]", one)[0] for one in needed)
    assert names == sorted(re.split(r"[<>=]", one)[0] for one in PROJECT["dependencies"])


def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        dates = {member.mtime for member in archive}
        archive.extractall(tmp_path, filter="data")
    (inner,) = tmp_path.iterdir()
    words = ["build", "--target", "wheel", "--directory", str(tmp_path / "again")]
    command = [sys.executable, "-m", "hatchling", *words]
    (day,) = dates
    dated = os.environ | {"SOURCE_DATE_EPOCH": str(int(day))}
    subprocess.run(command, cwd=inner, check=True, env=dated, capture_output=True)
    assert (tmp_path / "again" / wheel.name).read_bytes() == wheel.read_bytes()


def run_at(home: Path, words: str, said: str | None = None) -> subprocess.CompletedProcess[str]:
    """A call of the installed command, in the venv's folder and without this checkout."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    call = [str(home / "bin" / "vllm-parallel"), *shlex.split(words)]
    return subprocess.run(
        call, cwd=home, env=kept, input=said, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("words, answer", CALLS, ids=[words.split()[0] for words, _ in CALLS])
def test_the_installed_commands(home: Path, words: str, answer: str) -> None:
    done = run_at(home, words)
    assert (done.returncode, done.stderr) == (0, "")
    assert answer in done.stdout


def test_every_command_is_called() -> None:
    assert {words.split()[0] for words, _ in CALLS} | {"batch"} == set(COMMANDS)


def test_the_installed_version(home: Path) -> None:
    done = run_at(home, "--version")
    assert done.stdout == f"vllm-parallel {__version__}, for vLLM v{RELEASE}\n"


def test_the_installed_catalog(home: Path) -> None:
    """Every model on every GPU, by the installed `batch`; nothing of it comes from here."""
    asked: list[dict[str, Any]] = [
        {"id": name, "model": name, "args": {}, "gpu": "h200"} for name in model_names()
    ]
    asked += [{"id": gpu, "model": "llama-3.2-1b", "args": {}, "gpu": gpu} for gpu in gpu_names()]
    done = run_at(home, "batch", "".join(json.dumps(one) + "\n" for one in asked))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in answers] == [one["id"] for one in asked]
    assert [one for one in answers if "error" in one] == []


def test_it_is_not_this_checkout_that_answers(home: Path) -> None:
    program = "import vllm_parallel; print(vllm_parallel.__file__)"
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(home / "bin" / "python"), "-c", program], cwd=home, env=kept, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(home)


def resolved(version: str, asked: list[str], tmp_path: Path) -> set[str]:
    """What pip would install for a Python, as wheels and by our pins, each as `name==version`."""
    words = "--dry-run --ignore-installed --quiet --only-binary=:all: --implementation cp"
    command = [sys.executable, "-m", "pip", "install", *words.split(), "--python-version", version]
    command += ["--target", str(tmp_path / "none"), "--report", str(tmp_path / "found.json")]
    done = subprocess.run(
        [*command, "-c", ROOT / "constraints.txt", *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))["install"]
    return {_pin(f"{one['metadata']['name']}=={one['metadata']['version']}") for one in found}


@pytest.mark.parametrize("version", [f"{OLDEST}.0", "3.14"])
def test_what_the_wheel_needs_resolves_on_every_python_it_says(version: str, tmp_path: Path) -> None:
    names = {one.partition("==")[0] for one in resolved(version, PROJECT["dependencies"], tmp_path)}
    assert names == {"numpy", "prometheus-client", "scipy"}


@pytest.mark.parametrize("version", PYTHONS)
def test_the_pins_resolve(version: str, tmp_path: Path) -> None:
    """Everything that make installs, at exactly its pin, as a wheel of this Python."""
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["docs"], *extras["test"], "hatchling", "editables"]
    asked.remove("vllm-parallel[docs]")
    pins = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    wanted = {_pin(line) for line in pins if not line.startswith("#")}
    assert resolved(version, asked, tmp_path) == wanted


def _pin(line: str) -> str:
    return re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() + "==" + line.partition("==")[2]
