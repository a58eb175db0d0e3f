"""Matrices of `nvidia-smi topo -m`, as terminals and files hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from vllm_parallel.engine.topology import Topology
from vllm_parallel.errors import ParseError

NODE: Final = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tNV18\tNV18\tPIX\tSYS\t0-47,96-143\t0\t\tN/A
GPU1\tNV18\t X \tNV18\tNV18\tPXB\tSYS\t0-47,96-143\t0\t\tN/A
GPU2\tNV18\tNV18\t X \tNV18\tSYS\tPIX\t48-95,144-191\t1\t\tN/A
GPU3\tNV18\tNV18\tNV18\t X \tSYS\tPXB\t48-95,144-191\t1\t\tN/A
NIC0\tPIX\tPXB\tSYS\tSYS\t X \tSYS\t\t\t\t
NIC1\tSYS\tSYS\tPIX\tPXB\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
PAIRS: Final = """\
$ nvidia-smi topo -m
        GPU0    GPU1    GPU2    GPU3    mlx5_0  CPU Affinity    NUMA Affinity
GPU0     X      NV4     SYS     SYS     NODE    0-31    0
GPU1    NV4      X      SYS     SYS     NODE    0-31    0
GPU2    SYS     SYS      X      NV4     SYS     32-63   1
GPU3    SYS     SYS     NV4      X      SYS     32-63   1
mlx5_0  NODE    NODE    SYS     SYS      X
"""
ONE: Final = "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-23\t0\n"


def test_all_on_nvlink() -> None:
    node = Topology.of_text(NODE.replace("\x1b[4m", "").replace("\x1b[0m", ""))
    assert (len(node.gpus), node.all_nvlink, node.without_nvlink) == (4, True, ())
    assert node.link(0, 3) == "NV18"
    assert node.report == "4 GPUs: all on NVLink"


def test_pairs_without_nvlink() -> None:
    node = Topology.of_text(PAIRS)
    assert not node.all_nvlink
    assert node.without_nvlink == ((0, 2), (0, 3), (1, 2), (1, 3))
    assert node.within_nvlink([0, 1])
    assert not node.within_nvlink([1, 2])
    assert "SYS, the link between NUMA nodes: GPU0–GPU2" in node.report
    assert node.row["without_nvlink"][0] == {"pair": ["GPU0", "GPU2"], "link": "SYS"}  # type: ignore[index]


def test_one_gpu() -> None:
    assert Topology.of_text(ONE).all_nvlink


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_files(encoding: str, ends: str, tmp_path: Path) -> None:
    """Colours, with and without their ESC byte, and what shells write."""
    path = tmp_path / "topo.txt"
    for text in (NODE, NODE.replace("\x1b", "")):
        path.write_bytes(f"# driver\n{text}".replace("\n", ends).encode(encoding))
        assert Topology.of_file(path).all_nvlink


WRONG: Final = {
    "empty": ("", "holds no matrix"),
    "prose": ("hello GPU0\n", "holds no matrix"),
    "a row is missing": (PAIRS.replace("GPU2    SYS", "GPUX    SYS"), "has no row of GPU2"),
    "cut": (PAIRS[:300], "has"),
    "unknown link": (PAIRS.replace("NV4", "QPI"), "has 'QPI' for a link"),
    "not alike": (
        PAIRS.replace("GPU0     X      NV4", "GPU0     X      NV2"),
        "says NV2 from GPU0",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    text, problem = WRONG[name]
    with pytest.raises(ParseError, match=problem):
        Topology.of_text(text)


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        Topology.of_file(tmp_path / "none.txt")
