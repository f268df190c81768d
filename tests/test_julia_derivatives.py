"""Laws without a twin: what Julia makes of them, in value and in first and second derivative, is what JAX does."""

import copy
import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import test_constraints
import test_laws_kept
import test_retraction
import test_tracing
from live import live, states_of
from parity import SYSTEMS, close

import pnde
from pnde.engines.jax.laws import drift, jacobian, value
from pnde.engines.julia.driving import Sizes
from pnde.engines.julia.laws import julia_law
from pnde.laws import Conserved, Constraint, Holonomic, Instant

#: of a law: h, its pullback, G, its pullback, ∂h/∂t; the pullbacks at given cotangents
DERIVATIVES = """
function (law, u, t, of_h, of_G)
    every(u) = PNDE.for_each_state(PNDE.dense(PNDE.constraint_jacobian(law, u, t)), u)
    h, back = PNDE.Zygote.pullback(u -> PNDE.value(law, u, t), u)
    G, back_of_G = PNDE.Zygote.pullback(every, u)
    zeros_for(::Nothing) = zero(u)
    zeros_for(u̅) = u̅
    moved = PNDE.drift(law, u, t)
    h, zeros_for(only(back(of_h))), G, zeros_for(only(back_of_G(of_G))), moved === nothing ? zero(h) : moved
end
"""


def example(name):
    file = Path(__file__).parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def laws():
    """Those of the tests, of the examples, and of the systems, with states at which they are regular."""
    four = np.random.default_rng(1).uniform(0.5, 1.5, (3, 4))
    six = np.random.default_rng(2).uniform(0.8, 1.6, (3, 6))
    own = example("own_law")
    yield "energy of own_law.py", Conserved(own.energy), four
    yield "angular momentum of own_law.py", Conserved(own.angular_momentum), four
    yield "products", Conserved(test_constraints.products), four
    yield "moving", Constraint(test_constraints.moving, time_dependent=True), four
    yield "two rods", Holonomic(test_constraints.rods), four
    for name, law in test_retraction.LAWS.items():
        yield name, law, four
    for name, make in test_laws_kept.LAWS.items():
        yield name, make(), four
    for name, system in SYSTEMS.items():
        yield name, system.constraint.bind(system.states), states_of(system)
    for name, function in test_tracing.FUNCTIONS.items():
        yield f"tracing: {name}", Conserved(test_tracing.flat(function)), six
    yield "pinned", pnde.Pinned(["b"]), four


LAWS = {name: (law, u) for name, law, u in laws()}


@pytest.fixture(scope="module")
def derivatives():
    from pnde.engines.julia.session import julia

    with julia():
        from juliacall import Main

        yield Main.seval(DERIVATIVES)


@pytest.mark.julia
@live
@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_values_and_derivatives(derivatives, name):
    law, u = LAWS[name]
    law, t = (
        without_twin(law.bind(tuple("abcdef"[: u.shape[1]]) if law.states is None else law.states)),
        np.array([0.1, 0.5, 2.0]),
    )

    @jax.vmap
    def expected(u, t, of_h, of_G):
        at = Instant(t)
        h, back = jax.vjp(lambda u: value(law, u, at), u)
        G, back_of_G = jax.vjp(
            lambda u: jax.vmap(jacobian(law, u, at).transpose_apply)(jnp.eye(len(h))), u
        )
        moved = drift(law, u, at)
        return (
            h,
            back(of_h)[0],
            G,
            back_of_G(of_G)[0],
            jnp.zeros_like(h) if moved is None else moved,
        )

    with jax.enable_x64(True):
        m = jax.eval_shape(lambda u: value(law, u, Instant(0.0)), u[0]).shape[0]
        rng = np.random.default_rng(3)
        weights = rng.normal(size=(3, m)), rng.normal(size=(3, m, u.shape[1]))
        theirs = [np.asarray(part) for part in jax.jit(expected)(u, t, *weights)]
    from pnde.engines.julia.arrays import to_julia, to_python
    from pnde.engines.julia.session import julia

    made = julia_law(law, Sizes(u.shape[1]))
    of_G = np.swapaxes(weights[1], 1, 2)  # (batch, n, m) here is (m, n, batch) there
    arrays = [to_julia(array) for array in (u, t, weights[0], of_G)]
    with julia():
        parts = derivatives(made, *arrays)
        ours = [to_python(part) for part in parts]
    ours[2] = np.swapaxes(ours[2], 1, 2)
    for got, wanted, tolerance in zip(
        ours, theirs, (1e-12, 1e-10, 1e-10, 1e-10, 1e-10), strict=True
    ):
        assert got.shape == wanted.shape
        if np.any(wanted):
            close(got, wanted, tolerance)
        else:
            np.testing.assert_allclose(got, wanted, atol=1e-14)


def without_twin(law):
    law = copy.copy(law)
    law.julia = None
    if hasattr(law, "parts"):
        law.parts = tuple(map(without_twin, law.parts))
    return law
