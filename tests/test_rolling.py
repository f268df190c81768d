"""Which saved states of a forecast are looked at for dependent rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines.jax import rolling

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def worst(monkeypatch):
    """The worst rank margin of states whose only entry is theirs."""
    monkeypatch.setattr(rolling, "_rank_margin", lambda model, u, at: u[0])

    def of(margins):
        u = jnp.asarray(margins)[..., None]
        each = jax.vmap(lambda u: rolling._worst_rank_margin(None, jnp.arange(len(u)), u))
        return np.asarray(each(u[None] if u.ndim == 2 else u))

    return of


@pytest.mark.parametrize("count", [1, 2, 9, 100])
@pytest.mark.parametrize("end", [0, -1])
def test_both_ends_are_looked_at(worst, count, end):
    margins = np.full(count, 1e9)
    margins[end] = 0.5
    assert worst(margins) == [0.5]


@pytest.mark.parametrize("count", [9, 17, 100, 1001])
def test_a_fall_is_followed_to_its_end(worst, count):
    lowest = count // 2 + 1
    margins = 1e9 * np.abs(np.linspace(-1, 1, count) - np.linspace(-1, 1, count)[lowest]) ** 8
    assert worst(margins) == [0]


def test_a_trajectory_beside_one_that_falls_has_its_own(worst):
    falls, stays = np.geomspace(1e9, 1e-3, 40), np.full(40, 1e7)
    np.testing.assert_allclose(worst(np.stack([falls, stays])), [1e-3, 1e7])
