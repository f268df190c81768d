"""The Jacobian of a grid's power balance, from the network's sparsity pattern.

A row of P or Q at bus j is a complex vector over the buses, z_k = y δ_jk + x conj(Y_jk) with x = e v_j,
e = 1 or -j, and y = conj(e) i_j, less a load's constant current (`Network.own_terms`). With the
constant K = Y Yᴴ over the buses but the slack, two rows at the buses j and l have the product

    S = Re[conj(x) x' K_jl + conj(x) Y_jl y' + conj(y) x' conj(Y_lj) + δ_jl conj(y) y'],

so S = G Gᵀ costs a few multiplications an entry, and G itself is never formed.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.engines.jax.laws import operator
from pnde.engines.jax.structures.branches import BranchFactor
from pnde.engines.jax.structures.dense import Cholesky, DenseJacobian
from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    MeasuredFactor,
)
from pnde.grids.network import Network
from pnde.laws import Constraint


class NetworkJacobian(AbstractJacobian):
    """G of a `pnde.laws.PowerBalance`: rows P and Q at the loads, Re v and Im v at the slack.

    It is linear in its leaves, which belong together as i = Y v and, where loads have a constant
    current, n = v / |v|.

    The loads of a large grid are eliminated along the branches (`structures.branches`). On a small
    one, a metric other than the identity and `"qr"` work on the dense matrix; on any, a full metric
    and `"truncated"` do: they need all of it.
    """

    v: Float[Array, " n"]
    i: Float[Array, " n"]
    direction: Float[Array, " n"] | None
    network: Network = eqx.field(static=True)

    def apply(self, w):
        return self.network.rate(self.v, self.i, self.direction, w)

    def transpose_apply(self, y):
        network = self.network
        loads, n = len(network.loads), network.size
        at_p, at_q = y[:loads], y[loads : 2 * loads]
        p, q = _spread(at_p, network.loads, n), _spread(at_q, network.loads, n)
        a, b = network.halves(self.v)
        # Yᴴ (conj(y) v), with the complex multiplier y = p + jq
        through = jnp.concatenate([p * a + q * b, p * b - q * a])
        of_p, of_q = network.own_terms(self.i, self.direction)
        own = [
            _spread(at_p * c + at_q * d, network.loads, n) for c, d in zip(of_p, of_q, strict=True)
        ]
        pinned = _spread(y[2 * loads :], network.pinned, 2 * n)
        return jnp.concatenate(own) + network.adjoint(through) + pinned

    def factorise(self, W: InverseMetric, method: str) -> AbstractFactor:
        saddle, diagonal = self.network.saddle_point, W is None or W.ndim == 1
        if saddle is not None and diagonal and method != "truncated":
            own = self.network.own_terms(self.i, self.direction)
            of_loads = saddle.factor(self.v, own, W)
            return BranchFactor(jacobian=self, weight=W, loads=of_loads, network=self.network)
        if W is None and method == "cholesky":
            inner = Cholesky.of_gram(self.load_gram())
            return _Eliminated(jacobian=self, inner=inner, rcond=inner.rcond)
        dense = self.network.matrix(self.v, self.i)
        inner = DenseJacobian(dense).factorise(W, method)
        return _Held(inner=inner, network=self.network, rcond=inner.rcond)

    def load_gram(self) -> Float[Array, "rows rows"]:
        """G Gᵀ of the loads' rows, over the columns of all buses but the slack."""
        network = self.network
        k, i_k, g, s, g_t, s_t = (jnp.asarray(x, self.v.dtype) for x in network.gram_constants)
        a, b = (x[network.loads] for x in network.halves(self.v))
        of_p, of_q = network.own_terms(self.i, self.direction)
        # x = (v, -jv): a row of Q is one of P, turned
        a, b = jnp.concatenate([a, b]), jnp.concatenate([b, -a])
        c, d = (jnp.concatenate(pair) for pair in zip(of_p, of_q, strict=True))
        squares = jnp.diag(c * c + d * d)
        if self.direction is not None:  # else y of P and of Q are at right angles
            both = jnp.diag(of_p[0] * of_q[0] + of_p[1] * of_q[1])
            empty = jnp.zeros_like(both)
            squares = squares + jnp.block([[empty, both], [both, empty]])
        (a, b, c, d), columns = (x[None, :] for x in (a, b, c, d)), (a, b, c, d)
        by_a = a * k - b * i_k + c * g - d * s
        by_b = b * k + a * i_k + d * g + c * s
        by_c, by_d = a * g_t + b * s_t, b * g_t - a * s_t
        a, b, c, d = (x[:, None] for x in columns)
        rows = a * by_a + b * by_b + c * by_c + d * by_d
        return rows + squares


class _Eliminated(MeasuredFactor):
    """Slack columns taken out of G: the loads are projected over the other buses alone.

    The slack's velocity is then what its rows ask for, to the last bit, and the matrix that is
    factored is the better conditioned one: κ(G) is 17 instead of 64 for the 14-bus grid.
    """

    jacobian: NetworkJacobian
    inner: Cholesky
    rcond: Float[Array, ""]

    def decompose(self, G, W, v, b):
        pinned, first = G.network.pinned, 2 * len(G.network.loads)
        p = _with(v, G.network, -b[first:])
        of_loads = self.inner.solve(G.apply(p)[:first] + b[:first])
        back = G.transpose_apply(jnp.concatenate([of_loads, jnp.zeros_like(b[first:])]))
        of_slack = v[pinned] + b[first:] - back[pinned]
        return p - _with(back, G.network), jnp.concatenate([of_loads, of_slack])

    def solve(self, b):
        return self.decompose(self.jacobian, None, jnp.zeros_like(self.jacobian.v), b)[1]


class _Held(MeasuredFactor):
    """A factor of the dense G, with the rounding error of the slack's velocity removed."""

    inner: AbstractFactor
    network: Network = eqx.field(static=True)
    rcond: Float[Array, ""]

    def decompose(self, G, W, v, b):
        p, lam = self.inner.decompose(DenseJacobian(G.network.matrix(G.v, G.i)), W, v, b)
        return _with(p, self.network, -b[2 * len(self.network.loads) :]), lam

    def solve(self, b):
        return self.inner.solve(b)


@operator.register
def _network(structure: Network, constraint: Constraint, u: Array, at: Any) -> AbstractJacobian:
    current, direction = structure.current(u), structure.direction(u)
    return NetworkJacobian(v=u, i=current, direction=direction, network=structure)


def _spread(x: Array, at: np.ndarray, size: int) -> Array:
    """`x` at the positions `at` of an array of zeros."""
    return jnp.zeros(size, x.dtype).at[at].add(x, unique_indices=True, indices_are_sorted=True)


def _with(x: Array, network: Network, pinned: Array | None = None) -> Array:
    """`x` with other values at the pinned states, zeros by default."""
    held = np.zeros(2 * network.size, bool)
    held[network.pinned] = True
    rest = jnp.where(held, 0, x)
    return rest if pinned is None else rest + _spread(pinned, network.pinned, 2 * network.size)
