"""The power balance of a large grid, factored by elimination along its branches."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    weigh,
)
from pnde.grids.network import Network
from pnde.grids.saddle_point import LoadFactor, SaddlePoint

#: Steps of inverse iteration for the smallest singular value; of a random start, they are enough for its size.
_STEPS = 3
#: The first solution, and what it misses.
_SOLVES = 2


class BranchFactor(AbstractFactor):
    """S⁻¹ for W = 1 or a diagonal, at a cost that grows with the number of branches.

    The slack's columns are taken out, as `structures.network` says. What is factored (`pnde.grids.saddle_point`) does
    not square the condition of G, so the error of p grows with κ(G), as with QR. Pivots are in an order fixed
    beforehand; each solution is therefore corrected once by what it misses.
    """

    jacobian: AbstractJacobian
    weight: InverseMetric
    loads: LoadFactor
    network: Network = eqx.field(static=True)

    def condition(self) -> Float[Array, ""]:
        """1/κ of the loads' rows, scaled, in the metric; 0 where the elimination failed."""

        def norm(x: Array) -> Array:
            return jnp.sqrt(x @ x)

        def through(y: Array) -> tuple[Array, Array]:
            """The length of √W GᵀD y, and D G W GᵀD y."""
            back = self._back(self.jacobian, self._saddle.scaled(self.loads, y))
            along = weigh(self.weight, back)
            rows = self.jacobian.apply(along)[: len(y)]
            return jnp.sqrt(back @ along), self._saddle.scaled(self.loads, rows)

        def step(_, carry):
            small, large, missed = carry
            small, large = small / norm(small), through(large / norm(large))[1]
            solution = self._saddle.solve(self.loads, small)
            miss = norm(through(solution)[1] - small) / (norm(large) * norm(solution))
            return solution, large, jnp.maximum(missed, miss)

        start = np.random.default_rng(0).normal(size=(2, 2 * len(self.network.loads)))
        small, large = jnp.asarray(start, self.loads.scale.dtype)
        carry = small, large, jnp.zeros_like(small[0])
        small, large, missed = jax.lax.fori_loop(0, _STEPS, step, carry)
        # The length itself, not the root of a quotient: it is right to rounding where rows are dependent, too.
        rcond = through(small)[0] / (norm(small) * jnp.sqrt(norm(large)))
        return jnp.where(missed < 0.01, rcond, 0)  # and where something is NaN

    def decompose(self, G, W, v, b):
        pinned, rows = self.network.pinned, 2 * len(self.network.loads)

        def solve(_, carry):
            p, lam = carry
            change = self._saddle.multipliers(self.loads, G.apply(p)[:rows] + b[:rows])
            return p - weigh(W, self._back(G, change)), lam + change

        start = v.at[pinned].set(-b[rows:]), jnp.zeros_like(b[:rows])
        p, lam = jax.lax.fori_loop(0, _SOLVES, solve, start)
        whole = jnp.concatenate([lam, jnp.zeros_like(b[rows:])])
        asked = v[pinned] + b[rows:]
        of_slack = (asked if W is None else asked / W[pinned]) - G.transpose_apply(whole)[pinned]
        return p, jnp.concatenate([lam, of_slack])

    def transposed(self, G, W, x, y):
        # In W x̄ the transposed system is the system itself, and elimination need not be transposed by JAX.
        _, lam = self.decompose(G, W, weigh(W, x), -y)
        return x - G.transpose_apply(lam), lam

    def solve(self, b):
        states = jnp.zeros(2 * self.network.size, b.dtype)
        return self.decompose(self.jacobian, self.weight, states, b)[1]

    @property
    def _saddle(self) -> SaddlePoint:
        assert self.network.saddle_point is not None
        return self.network.saddle_point

    def _back(self, G: AbstractJacobian, of_loads: Array) -> Array:
        """Gᵀλ of the loads' rows, over all columns but the slack's."""
        slack = jnp.zeros(len(self.network.pinned), of_loads.dtype)
        back = G.transpose_apply(jnp.concatenate([of_loads, slack]))
        return back.at[self.network.pinned].set(0)
