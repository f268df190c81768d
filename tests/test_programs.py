"""Compiled programs: who shares them, and that they go with their model."""

import dataclasses
import gc
import sys
import weakref
from pathlib import Path

import jax
import numpy as np
import pytest

import pnde
from pnde.config import Config
from pnde.engines import Batch, get
from pnde.engines.jax import programs
from pnde.engines.jax.programs import of_model, of_recent
from pnde.laws import Conserved, Constraint, Holonomic, Instant, Linear, Rods
from pnde.models import Model, initial_weights

MAPS = Path("/proc/self/maps")
linux = pytest.mark.skipif(not MAPS.exists(), reason="only Linux lists the maps of a process")


def radius(u):
    return u[0] ** 2 + u[1] ** 2


def model_of(constraint=None, **changes):
    settings = {"states": ("x", "y"), "config": Config.make(width=4, layers=1)}
    settings |= {"mean": np.zeros(2), "std": np.ones(2), "constraint": constraint}
    return Model(**settings | changes)


@pytest.fixture
def traced():
    """A program of models that says when it is traced."""
    calls = []

    @of_model()
    def double(model, x):
        calls.append(model)
        return 2 * x

    double.calls = calls
    return double


def test_models_of_equal_content_share_programs(traced):
    law = Conserved(radius)
    one, two = (model_of(law, std=np.array([1.0, 2])) for _ in range(2))
    assert traced(one, 1.0) == traced(two, 1.0) == 2
    assert len(traced.calls) == 1


LAWS = {
    "conserved": lambda: Conserved(radius, names=["r"]),
    "joined": lambda: Conserved(radius) & Linear([[1.0, 0]]),
    "holonomic": lambda: Holonomic(radius),
    "rods": lambda: Rods([1.0, 2.0]),
    "grid": lambda: pnde.systems.get("ieee14").constraint,
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_stated_twice_are_the_same(traced, name):
    """As where a run is loaded again: the law is copied and bound anew."""
    models = [model_of(LAWS[name]()) for _ in range(2)]
    for model in models:
        traced(model, 1.0)
    assert len(traced.calls) == 1


CHANGES = {
    "config": {"config": Config.make(width=4, layers=1, gamma=2.0)},
    "mean": {"mean": np.array([0, 1e-9])},
    "speed": {"speed": np.ones(2)},
    "states": {"states": ("x", "z")},
    "order": {"order": 2},
    "metric": {"metric": np.array([1.0, 2])},
    "metric as a function": {"metric": lambda u: u**0},
    "physics": {"physics": lambda u: -u},
    "law": {"constraint": Conserved(lambda u: u[0])},
    "target": {"constraint": Constraint(radius, target=1.0)},
    "another function of the same name": {"constraint": Conserved(lambda u: radius(u))},
}


@pytest.mark.parametrize("change", CHANGES)
def test_models_that_differ_do_not(traced, change):
    one = model_of(Conserved(radius))
    two = dataclasses.replace(one, **CHANGES[change])
    traced(one, 1.0), traced(two, 1.0)
    assert len(traced.calls) == 2


def test_programs_go_with_the_last_model_that_uses_them(traced):
    def own(u):
        return u[0]

    gone = weakref.ref(own)
    one, two = model_of(Conserved(own)), model_of(Conserved(own))
    traced(one, 1.0), traced(two, 1.0)
    del own, one
    traced(two, 1.0)
    assert len(traced.calls) == 1
    traced.calls.clear()
    assert gone() is not None
    del two
    gc.collect()
    assert gone() is None


def test_of_many_models_the_first_are_compiled_again(traced, monkeypatch):
    monkeypatch.setattr(programs, "_MODELS", 2)
    models = [model_of(mean=np.full(2, float(i))) for i in range(4)]
    for model in models:
        traced(model, 1.0)
    for model in models[2:]:
        traced(model, 1.0)
    assert len(traced.calls) == 4
    assert traced(models[0], 1.0) == 2
    assert len(traced.calls) == 5


def test_laws_of_no_model_are_kept_while_they_are_used():
    traced = []

    @of_recent
    def times(made_of, x):
        traced.append(made_of)
        return made_of[0] * x

    for _ in range(2):
        for factor in range(8):
            assert times((factor,), 3) == 3 * factor
    assert len(traced) == 8
    times((8,), 3), times((0,), 3)
    assert len(traced) == 10


def test_a_joined_law_knows_its_rows_though_its_program_is_another_ones():
    first, second = (Conserved(radius) & Linear([[1.0, 0]]) for _ in range(2))
    u = np.ones((3, 2))
    np.testing.assert_array_equal(get("jax").law(first, u, Instant(np.zeros(3))), [[2, 1]] * 3)
    values = get("jax").law(second, u, Instant(np.zeros(3)))
    assert len(second.row_names(values.shape[1])) == 2


def one_training(model, rng):
    batch = Batch(
        rng.normal(size=(4, 3, 2)), np.zeros(4), 0.1 * np.arange(3), np.ones((4, 1)), np.ones(4) / 4
    )
    training = get("jax").start(model, [batch], [batch], initial_weights(model, 1))
    return training.step(0, 1e-3).loss, training.loss(0).loss


def maps():
    gc.collect()
    return MAPS.read_bytes().count(b"\n")


def resident():
    """Megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


@linux
def test_a_training_leaves_nothing_behind():
    def train():
        # A law of its own, so that nothing is shared.
        model = model_of(Conserved(lambda u: radius(u)))
        assert np.isfinite(one_training(model, np.random.default_rng(0))).all()
        return maps()

    train()
    before = maps()
    assert train() > before + 20
    assert maps() <= before + 5


@pytest.mark.slow
@linux
def test_memory_is_level_over_many_trainings():
    data = pnde.split_data(pnde.systems.quartic().simulate(6, t_end=1.2, dt=0.1, seed=3), 4, 1, 1)
    held, megabytes = [], []
    for _ in range(5):
        run = pnde.train(
            data,
            lambda u: 0.5 * (u[2] ** 2 + u[3] ** 2) + 0.25 * (u[0] ** 2 + u[1] ** 2) ** 2,
            epochs=2,
            width=8,
            progress=False,
            engine="jax",
        )
        run.rollout(t_end=2.0)
        del run
        held.append(maps())
        megabytes.append(resident())
    # The programs of the last laws are kept, those of no training.
    assert held[-1] - held[2] < 200
    assert megabytes[-1] - megabytes[2] < 50


def test_the_library_leaves_the_process_as_it_is():
    """Programs of others stay, and so do the settings of JAX."""
    traced = []

    @jax.jit
    def others(x):
        traced.append(x)
        return 2 * x

    others(1.0)
    before = dict(jax.config.values)
    one_training(model_of(Conserved(radius)), np.random.default_rng(0))
    others(1.0)
    assert len(traced) == 1
    assert dict(jax.config.values) == before
    assert "clear_caches" not in "".join(
        path.read_text(encoding="utf-8")
        for path in Path(sys.modules["pnde"].__file__).parent.rglob("*.py")
    )
