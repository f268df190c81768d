"""The paper's claims, held against results that agree with it, that contradict it, that are missing or failed."""

import json

import numpy as np
import pytest
from invented import COUNT, PAPERS_WAY, invent

import pnde
from pnde.data import save_data
from pnde.paper import Plan, Results, check
from pnde.paper.check import count
from pnde.paper.claims import OF_MEASUREMENTS, OF_MODELS
from pnde.paper.figures import FIGURES
from pnde.paper.results import mean_curve

CLAIMS = OF_MODELS | OF_MEASUREMENTS


def test_all_claims_hold_on_results_as_the_paper_says(paper):
    findings = check(paper)
    assert {name: f.holds for name, f in findings.items()} == dict.fromkeys(CLAIMS, True)
    assert count(findings) == f"{len(CLAIMS)} of {len(CLAIMS)} claims hold"


def test_no_claim_holds_on_results_that_contradict_the_paper(otherwise):
    findings = check(otherwise)
    assert {name: f.holds for name, f in findings.items()} == dict.fromkeys(CLAIMS, False)
    report = (otherwise.folder / "check.md").read_text()
    assert report.count("**does not hold**") == 2 * len(CLAIMS)
    record = json.loads((otherwise.folder / "check.json").read_text())
    assert not any(claim["holds"] for claim in record["claims"].values())
    assert all(claim["numbers"] for claim in record["claims"].values())


def test_claims_without_results_are_not_tested(tmp_path):
    Plan().write(tmp_path / "empty")
    findings = check(Results(tmp_path / "empty"))
    assert all(finding.holds is None for finding in findings.values())
    assert count(findings) == f"0 of 0 claims hold; {len(CLAIMS)} not tested here"
    assert findings["snde-slower"].verdict == "not tested here, for want of a GPU"
    assert findings["beats-nde"].verdict == "not tested here, for want of results"


def test_several_seeds_give_bands_and_medians(tmp_path):
    results = Results(invent(tmp_path / "seeds", PAPERS_WAY, seeds=3))
    _, curves = results.curves("quartic", "pnde", "state_error")
    np.testing.assert_allclose(curves[:, 0], 0.3 * np.array([1.01, 1.02, 1.03]))
    figure = FIGURES["figure-02-conservation-errors"].draw(results)
    assert len(figure.axes[0].collections) == 4
    assert not FIGURES["figure-02-conservation-errors"].draw(results).axes[0].texts == []
    findings = check(results)
    found = findings["best-state"]
    assert found.verdict == "holds for 3 of 3 seeds"
    for table, seed in ((found.smallest, 1), (found.numbers, 2), (found.largest, 3)):
        row = table.query("system == 'Quartic potential' and model == 'PNDE'")
        assert row["state error"].item() == pytest.approx(0.3 * (1 + 0.01 * seed))
    report = (results.folder / "check.md").read_text()
    assert "| Quartic potential | PNDE | 0.306 (0.303 to 0.309) |" in report
    # Models that could not be trained have a row each, of all seeds.
    assert len(findings["snde-lotka-volterra"].numbers) == 3
    # What was measured once has no band.
    assert findings["forward-time"].verdict == "holds"


def test_a_claim_that_one_seed_contradicts_does_not_hold(tmp_path):
    folder = invent(tmp_path / "seeds", PAPERS_WAY, seeds=2)
    path = folder / "runs/seed-2/quartic/evaluation/pnde.nc"
    ds = pnde.open_data(path)
    ds["state_error"][:] = 0.9
    save_data(ds, path)
    finding = check(Results(folder))["beats-nde"]
    assert finding.holds is False
    assert finding.verdict == "holds for 1 of 2 seeds"


def test_only_a_loss_that_diverges_counts_as_untrainable(tmp_path):
    folder = invent(tmp_path / "stiff", PAPERS_WAY)
    path = folder / "runs/seed-1/lotka-volterra/failures.json"
    failed = json.loads(path.read_text())
    path.write_text(json.dumps({**failed, "snde:1": "too many steps in epoch 3"}))
    assert check(Results(folder))["snde-lotka-volterra"].holds is False


def test_without_a_gpu_nothing_is_said_of_what_a_processor_hides(tmp_path):
    folder = invent(tmp_path / "processor", PAPERS_WAY)
    for path in (folder / "measured").glob("costs-*.csv"):
        lines = path.read_text().splitlines()
        path.write_text("\n".join(line for line in lines if ",gpu," not in line))
    findings = check(Results(folder))
    assert findings["snde-slower"].holds is None
    assert findings["forward-time"].holds is True


def test_a_mean_ends_where_half_of_the_trajectories_failed():
    values = np.array([[1.0, 1.0, 1.0], [3.0, np.nan, np.nan], [2.0, 2.0, np.nan]])
    np.testing.assert_allclose(mean_curve(values), [2.0, 1.5, np.nan])


def test_a_failed_trajectory_counts_as_lost(paper, tmp_path):
    folder = invent(tmp_path / "failed", PAPERS_WAY)
    path = folder / "runs/seed-1/quartic/evaluation/pnde.nc"
    ds = pnde.open_data(path)
    ds["state_error"][:, 10:] = np.nan
    ds["status"][:] = 2
    save_data(ds, path)
    results = Results(folder)
    finding = check(results)["best-state"]
    assert finding.holds is False
    row = finding.numbers.query("system == 'Quartic potential' and model == 'PNDE'")
    assert row["failed"].item() == COUNT
    assert row["state error"].item() == pytest.approx((10 * 0.303 + 11) / 21)
