"""What the reproduction measures beside its studies, and one study from data to report."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import pnde
from pnde.cli.main import main
from pnde.paper import complexity
from pnde.paper.limit import measure_limit
from pnde.paper.studies import STUDIES, study

pytestmark = pytest.mark.slow


def test_slopes_of_the_projection_are_measured():
    table = complexity.measure_complexity(((2, 16), (4, 16)), ((2, 16), (2, 32)), (2, 4), repeats=2)
    expected = set(complexity.THEORY) | {("forward pass", "chain"), ("backward pass", "chain")}
    assert set(zip(table["operation"], table["method"], strict=True)) == expected
    assert (table["min_s"] > 0).all()
    assert (table["median_s"] >= table["min_s"]).all()


def test_snde_tends_to_pnde_as_gamma_grows(orbits):
    run = pnde.train(
        orbits,
        epochs=1,
        width=8,
        batch_size=16,
        method="pnde",
        train=2,
        valid=2,
        test=2,
        progress=False,
    )
    table = measure_limit(run, gammas=(100.0, 300.0), trajectories=2)
    for column in ("velocity", "path", "constraint"):
        assert complexity.slope(table["gamma"], table[column]) == pytest.approx(-1, abs=0.1)


@pytest.mark.slow
def test_one_study_from_data_to_report(tmp_path, monkeypatch):
    """Trains: everything once, then again without doing anything twice, then figures and check alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(complexity, "ALONG_M", ((2, 16), (4, 16)))
    monkeypatch.setattr(complexity, "ALONG_N", ((2, 16), (2, 32)))
    monkeypatch.setattr(complexity, "LINKS", (2, 4))
    two = replace(study("lotka-volterra"), models=("nde", "pnde"))
    monkeypatch.setitem(STUDIES, two.name, two)
    size = [
        "epochs=1",
        "width=4",
        "layers=1",
        "batch_size=32",
        "train=3",
        "valid=2",
        "test=2",
        "t_end=2",
    ]
    options = [word for setting in size for word in ("-s", setting)]

    def run(*arguments):
        done = CliRunner().invoke(main, ["paper", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    everything = [
        "-o",
        "p",
        "--only",
        "lotka-volterra",
        "--horizon",
        "table",
        "--no-progress",
        *options,
    ]
    output = run(*everything)
    assert "claims hold" in output
    assert "Lotka–Volterra" in output
    written = {
        path: path.stat().st_mtime_ns for path in Path("p/runs").rglob("*") if path.is_file()
    }
    figures = sorted(path.name for path in Path("p/figures").glob("*.pdf"))
    assert "figure-02-conservation-errors.pdf" in figures
    assert "figure-06-ieee14-errors.pdf" not in figures
    run(*everything)
    assert written == {path: path.stat().st_mtime_ns for path in written}
    for path in Path("p/figures").iterdir():
        path.unlink()
    run("draw", "p")
    assert sorted(path.name for path in Path("p/figures").glob("*.pdf")) == figures
    assert "claims hold" in run("check", "p")
    assert pnde.load("p/runs/seed-1/lotka-volterra/pnde").report["complete"]
    # As if another version, with a preset of its own, had begun it.
    Path("p/runs/seed-1/lotka-volterra/evaluation/pnde.nc").unlink()
    noted = Path("p/runs/seed-1/lotka-volterra/experiment.json")
    noted.write_text(noted.read_text().replace('"width": 4', '"width": 5'))
    done = CliRunner().invoke(main, ["paper", *everything])
    assert done.exit_code == 2
    assert (
        "lotka-volterra was begun with other settings than the preset 'quick' has now"
        in done.output
    )
