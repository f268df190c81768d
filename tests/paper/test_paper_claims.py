"""The paper's claims, held against results that agree with it, that contradict it, that are missing or failed."""

import json

import numpy as np
import pytest
from invented import COUNT, PAPERS_WAY, invent

import pnde
from pnde.data import save_data
from pnde.paper import Plan, Results, check
from pnde.paper.check import count
from pnde.paper.claims import CLAIMS
from pnde.paper.figures import FIGURES
from pnde.paper.results import mean_curve

pytestmark = pytest.mark.usefixtures("light_compilation")


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
    assert count(findings) == f"0 of 0 claims hold; {len(CLAIMS)} not tested, for want of results"


def test_several_seeds_give_bands_and_medians(tmp_path):
    results = Results(invent(tmp_path / "seeds", PAPERS_WAY, seeds=3))
    _, curves = results.curves("quartic", "pnde", "state_error")
    np.testing.assert_allclose(curves[:, 0], 0.3 * np.array([1.01, 1.02, 1.03]))
    figure = FIGURES["figure-02-conservation-errors"].draw(results)
    assert len(figure.axes[0].collections) == 4
    assert not FIGURES["figure-02-conservation-errors"].draw(results).axes[0].texts == []
    table = check(results)["best-state"].numbers
    pnde_row = table[(table["system"] == "Quartic potential") & (table["model"] == "PNDE")]
    assert pnde_row["state error"].item() == pytest.approx(0.3 * 1.02)


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
