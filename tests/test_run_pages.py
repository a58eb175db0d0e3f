"""Pages of measured runs: records, comparisons and charts, and input that is shown as text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from markdown import markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

from tests.runs.made import complete
from vllm_parallel.cli import main
from vllm_parallel.compare import Measured, records
from vllm_parallel.render.record import record_rows
from vllm_parallel.render.sweeps import Chart, Point, Trace, sweep, ticks
from vllm_parallel.runs import SEAL, sealed

import measured_runs as hook  # isort: skip
import run_tables  # isort: skip

LABEL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: one plain, one whose label, title and note hold markup."""
    folder = tmp_path_factory.mktemp("results")
    complete(folder / "plain")
    hostile = complete(folder / "hostile")
    for path in list(hostile.iterdir()):
        text = path.read_text("utf-8").replace("tp2", LABEL).replace("A made-up run", LABEL)
        path.unlink()
        (hostile / path.name.replace("tp2", LABEL)).write_text(text, "utf-8")
    return folder


def test_a_record_holds_what_was_written_down(results: Path) -> None:
    measured = Measured.of(results / "plain")
    found = {row.name: row.values for row in record_rows(records(measured), (1, 4))}
    assert found["weights of a rank, GiB"] == ("0.5", "0.5")
    assert found["KV tokens of the service"] == ("2,048", "2,048")
    assert found["preemptions over all trials"] == ("0", "0")
    assert found["TTFT p99 at concurrency 4, ms"] == (None, None)
    assert (found["output tokens a second at concurrency 4"][1] or "").startswith("160 (")


def test_a_folder_without_a_run_has_a_record_too(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same figures, from names and metadata alone; the terminal shows no control character."""
    folder = shutil.copytree(results / "plain", tmp_path / "plain")
    assert main(["run", "record", str(folder)]) == 0
    with_run = capsys.readouterr().out
    assert "weights of a rank, GiB" in with_run
    (folder / "run.toml").unlink()
    assert main(["run", "record", str(folder)]) == 0
    assert capsys.readouterr().out == with_run
    assert main(["run", "record", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["label"] for one in found["layouts"]] == ["tp1", "tp2"]
    assert found["layouts"][1]["kv_tokens"] == [2048]
    assert found["layouts"][1]["preemptions"] == 0
    at_four = found["layouts"][1]["concurrencies"][1]
    assert (at_four["max_concurrency"], at_four["trials"]) == (4, 3)
    assert at_four["output_throughput"]["median"] == pytest.approx(160, rel=0.03)
    assert at_four["tpot_ms"]["p99"] is None


def test_without_a_run_nothing_is_measured(tmp_path: Path) -> None:
    text = run_tables.guide_record(tmp_path)
    rows = ET.fromstring(text).findall(".//tbody/tr")
    assert len(rows) == 11
    assert {cell.text for row in rows for cell in row[1:]} == {"not measured"}
    assert "record/" in run_tables.index(tmp_path)
    assert run_tables.run_sections(tmp_path) == ""


def test_a_run_of_the_guide_fills_its_columns(tmp_path: Path) -> None:
    folder = complete(tmp_path / "h100")
    text = (folder / "run.toml").read_text("utf-8")
    for old, new in (
        ('processor = "cpu"\ncount = 2', 'processor = "gpu"\ngpu = "h100-80gb"\ncount = 8'),
        ('config = "config.json"', 'config = "llama-3.1-70b"'),
        ("concurrencies = [1, 4]", "concurrencies = [1, 16, 64, 128]"),
        ("prompts = [8, 32]", "prompts = [8, 32, 64, 128]"),
        ('"tp1"', '"tp8"'),
        ('"tp2"', '"tp4pp2"'),
    ):
        assert old in text
        text = text.replace(old, new)
    last = text[text.index('[[layout]]\nname = "tp4pp2"') :].replace("tp4pp2", "tp4dp2")
    (folder / "run.toml").write_text(text + "\n" + last, "utf-8")
    for path in list(folder.glob("tp1*")):
        path.rename(folder / path.name.replace("tp1", "tp8"))
    page = run_tables.guide_record(tmp_path)
    assert 'class="num measured">2,048<' in page
    assert "8 × H100" not in run_tables.index(tmp_path)


def test_markup_is_shown_as_text(results: Path) -> None:
    page = markdown(run_tables.run_sections(results), extensions=["attr_list", "tables"])
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "<img" not in run_tables.index(results)


def test_pictures_can_be_read_and_ids_are_unique(results: Path) -> None:
    page = run_tables.run_sections(results)
    pictures = [part.split("</svg>")[0] + "</svg>" for part in page.split("<figure>")[1:]]
    assert len(pictures) == 6
    idents: list[str] = []
    for picture in pictures:
        root = ET.fromstring(picture)
        idents += [part.get("id") or "" for part in root.iter() if part.get("id")]
        assert root.findtext("title")
        assert "concurrency 4" in (root.findtext("desc") or "")
    assert len(set(idents)) == len(idents) == 12
    assert page == run_tables.run_sections(results)


@pytest.mark.parametrize(
    "values, labels",
    [
        ([1.0, 4.0, 16.0], ["1", "2", "5", "10", "20"]),
        ([0.3], ["0.2", "0.5"]),
        ([100.0, 1000.0], ["100", "200", "500", "1,000"]),
        ([5.0], ["2", "5", "10"]),
    ],
)
def test_ticks_reach_around_the_values(values: list[float], labels: list[str]) -> None:
    found = ticks(values)
    assert [text for _, text in found] == labels
    assert found[0][0] <= min(values) * 1.001
    assert found[-1][0] >= max(values) * 0.999


def test_points_stay_inside_and_bars_reach_from_least_to_most() -> None:
    points = tuple(
        Point(across=x, up=y, least=y / 2, most=y * 2, says=f"concurrency {x}")
        for x, y in ((1.0, 10.0), (8.0, 40.0), (64.0, 300.0))
    )
    traces = (Trace(name="tp8", points=points), Trace(name="<b>", points=points[:1]))
    root = ET.fromstring(sweep(Chart(traces=traces, across="a", up="b"), "demo", "Demo"))
    width, height = (int(root.get(name) or 0) for name in ("width", "height"))
    circles = root.findall("circle")
    assert len(circles) == 4 + 2
    for circle in circles:
        assert 0 < float(circle.get("cx") or 0) < width
        assert 0 < float(circle.get("cy") or 0) < height
    bars = [one for one in root.findall("line") if one.get("class") == "rp-line"]
    assert len(bars) == 4
    assert all(float(bar.get("y1") or 0) > float(bar.get("y2") or 0) for bar in bars)
    letters = [one.text for one in root.findall("text") if one.text in ("A", "B")]
    assert letters == ["A"] * 3 + ["B"] + ["A", "B"]


def config(folder: Path) -> MkDocsConfig:
    return SimpleNamespace(config_file_path=str(folder / "mkdocs.yml"))  # type: ignore[return-value]


def test_the_build_refuses_an_inconsistent_run(tmp_path: Path) -> None:
    hook.on_pre_build(config(tmp_path))
    folder = complete(tmp_path / "results" / "made-up")
    with pytest.raises(PluginError, match=r"results/made-up has no SHA256SUMS; write it by run"):
        hook.on_pre_build(config(tmp_path))
    (folder / "notes.txt").write_text("a remark stops nothing", "utf-8")
    (folder / SEAL).write_text(sealed(folder), "utf-8")
    hook.on_pre_build(config(tmp_path))
    (folder / "topo.txt").write_text("edited", "utf-8")
    with pytest.raises(PluginError, match=r"made-up: changed: topo.txt was changed after SHA256S"):
        hook.on_pre_build(config(tmp_path))
    (folder / "topo.txt").unlink()
    (folder / SEAL).write_text(sealed(folder), "utf-8")
    with pytest.raises(PluginError, match=r"results/made-up: missing: topo.txt is missing"):
        hook.on_pre_build(config(tmp_path))
    (folder / "run.toml").write_text("x", "utf-8")
    with pytest.raises(PluginError, match="is not TOML"):
        hook.on_pre_build(config(tmp_path))
