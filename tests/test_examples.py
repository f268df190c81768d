"""Every example runs, with fewer epochs than a reader's, and says what it should."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pnde

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "examples"
# What each is run with, and words of its output. One model is enough where the others are like it.
ONE = {"epochs": 1, "methods": ["pnde"]}
SMALL = {
    "crane": (ONE | {"count": 10}, ["PNDE", "swings by", "rope within"]),
    "engines": ({"epochs": 1}, ["jax: forecast to t = 50", "constraint error at most"]),
    "grid_from_matpower": (ONE | {"t_end": 20.0}, ["14 buses", "PNDE", "load error"]),
    "hybrid": (None, ["network, law and gravity", "friction that the network has found"]),
    "lynx_hare": (ONE, ["conserved", "PNDE, test: off by a factor"]),
    "mechanics": (
        {"epochs": 1, "methods": ["mechanical"], "fps": 2},
        ["mechanical PNDE", "masses:", "potential: off by", "energy: rises by"],
    ),
    "own_law": (ONE | {"t_end": 6.0}, ["angular_momentum", "constraint error, max"]),
    "pendulum": (ONE | {"fps": 2}, ["PNDE", "constraint error, max"]),
}


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_are_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_example(name, tmp_path, monkeypatch, capsys):
    settings, words = SMALL[name]
    monkeypatch.chdir(tmp_path)
    example = load(name)
    if name == "hybrid":
        last = "network, law and gravity"
        settings = {"epochs": 1, "known": {last: example.KNOWN[last]}}
    example.main(**settings)
    output = capsys.readouterr().out
    for word in words:
        assert word in output
    assert {path.suffix for path in tmp_path.iterdir()} <= {".png", ".gif"}


def test_the_table_of_pelts():
    """21 years without a gap; sums of the columns against a slip of the pen."""
    data = pnde.open_data(FOLDER / "lynx_hare.csv")
    np.testing.assert_array_equal(data["time"], np.arange(1900, 1921))
    np.testing.assert_allclose(data["u"].values[0].sum(axis=0), [715.7, 423.5])
