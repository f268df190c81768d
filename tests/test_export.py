"""Exported forecasts: read by a process that has only JAX, they are those of the run."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import pnde
from pnde.engines import get
from pnde.engines.julia.engine import JuliaEngine
from pnde.errors import ConfigError, EngineError
from pnde.models import initial_weights

#: What the signature says, by a process that refuses to import pnde or what it is made of.
READER = """
import sys
for name in ("pnde", "diffrax", "equinox", "optax", "lineax"):
    sys.modules[name] = None
import jax, numpy as np
from jax import export
jax.config.update("jax_enable_x64", True)
given = np.load(sys.argv[2])
content = np.load(sys.argv[1])["program"].tobytes()
u, status = export.deserialize(bytearray(content)).call(*(given[k] for k in given.files))
np.savez(sys.argv[3], u=u, status=status)
"""


def untrained(model, data):
    return pnde.Run(model, initial_weights(model, 1), (), {}, data, get("jax"), "given")


@pytest.fixture
def family(make_model):
    """Predators and preys, each with rates of its own."""
    system, rng = pnde.systems.get("lotka-volterra-family"), np.random.default_rng(1)
    names = list(system.family)
    model = make_model(system)
    model = replace(
        model,
        constraint=system.constraint.bind(system.states),
        parameters=tuple(names),
        condition_mean=np.ones(len(names)),
        condition_std=np.ones(len(names)),
    )
    data = pnde.data.make_dataset(
        rng.uniform(0.8, 1.2, (3, 4, 2)),
        np.arange(4) / 10,
        system.states,
        split=["train", "valid", "test"],
        p=rng.uniform(0.5, 1, (3, len(names))),
        parameters=names,
    )
    return untrained(model, data)


def test_an_exported_forecast_is_that_of_the_run(family, tmp_path, monkeypatch):
    pytest.importorskip("flatbuffers")
    times = np.linspace(0, 0.6, 4)
    forecast = family.rollout(family.data, t_end=0.6, dt=0.2)
    program = family.export(tmp_path / "program.stablehlo").read_bytes()
    monkeypatch.setattr(type(family._engine), "export", lambda *_: program)
    path = family.export(tmp_path / "program.npz", "npz")
    u0, p = family.data["u"].values[:, 0], family.data["parameters"].values
    np.savez(tmp_path / "given.npz", u0, times, p)
    reader = [sys.executable, "-c", READER, path, tmp_path / "given.npz", tmp_path / "out.npz"]
    hidden = {**os.environ, "PYTHONPATH": ""}
    subprocess.run([str(word) for word in reader], check=True, env=hidden, timeout=120)
    with np.load(tmp_path / "out.npz") as out:
        assert np.abs(out["u"] - forecast["u"].values).max() <= 1e-12
        assert (out["status"] == 0).all()
    for kind in ("stablehlo", "npz"):
        text = (tmp_path / f"program.{kind}.txt").read_text()
        assert "float64 (B, 2)" in text and family.model.parameters[0] in text
    with np.load(path) as archive:
        assert list(archive["states"]) == list(family.model.states)
        assert archive["program"].tobytes() == program


def test_what_cannot_be_exported_is_refused_in_a_sentence(family, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"unknown format 'onnx'; there are stablehlo and npz"):
        family.export(tmp_path / "x", "onnx")
    with pytest.raises(ConfigError, match="two samples at least"):
        family.export(tmp_path / "x", samples=1)
    with pytest.raises(ConfigError, match=r'by engine="jax"'):
        JuliaEngine().export(family.model, family.weights, family.model.config.rollout, 3)
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(EngineError, match=r"pip install 'pnde\[export\]'"):
        family.export(tmp_path / "x")
    driven = untrained(replace(family.model, inputs=("force",)), family.data)
    with pytest.raises(ConfigError, match="the model is driven by force"):
        driven.export(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
