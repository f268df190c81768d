"""Currents, powers and their derivatives on real states, from the network's sparsity pattern."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pnde.grids.grid import Grid
from pnde.grids.power import constant_power_jacobian
from pnde.grids.saddle_point import SaddlePoint

#: Up to this many buses one product with a small dense matrix beats sums over the branches.
DENSE_BUSES = 50
#: Up to this many buses dense factors beat elimination along the branches.
FACTORED_BUSES = 150


@dataclass(frozen=True, eq=False)
class Network:
    """A grid as index arrays and constants, for arrays of any kind (NumPy, JAX).

    States, velocities and currents are real arrays ``(2 N,)``: real parts of all buses, then
    imaginary parts, p.u. With i = Y v the injected power is s = v · conj(i), so that along w

        ds = w · conj(i) + v · conj(Y w)

    (paper, appendix I). A law on the powers of the load buses needs one product with Y for its
    value, and one for each product with its Jacobian. Loads of constant current inject |v| I beside
    what the law prescribes, so that with n = v / |v| the law's power is s − |v| I, and its change
    along w is ds − I Re(conj(n) w).

    **Arguments:**

    - `grid`: the grid.
    """

    grid: Grid

    @property
    def size(self) -> int:
        return self.grid.size

    @property
    def loads(self) -> np.ndarray:
        return self.grid.loads

    @cached_property
    def pinned(self) -> np.ndarray:
        """Positions of the slack's voltages in the state, ``(2 S,)``."""
        return np.concatenate([self.grid.slack, self.grid.slack + self.size])

    @cached_property
    def constant_currents(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Power of constant-current loads at |v| = 1, active and reactive, p.u., ``(N,)`` each; None without any."""
        return _parts(self.grid.buses.current) if self.grid.buses.current.any() else None

    @cached_property
    def admittance(self) -> _Dense | _Sparse:
        """x ↦ Y x"""
        return self._product(self.grid.admittance())

    @cached_property
    def adjoint(self) -> _Dense | _Sparse:
        """x ↦ Yᴴ x"""
        matrix = self.grid.admittance().conj().T.tocsr()
        matrix.sort_indices()
        return self._product(matrix)

    def _product(self, matrix: Any) -> _Dense | _Sparse:
        return (_Dense if self.size <= DENSE_BUSES else _Sparse)(matrix)

    @cached_property
    def saddle_point(self) -> SaddlePoint | None:
        """The sparse way to factor the law of a grid with many buses; None for one with few."""
        return SaddlePoint(self) if self.size > FACTORED_BUSES else None

    @cached_property
    def between(self) -> tuple[np.ndarray, np.ndarray]:
        """Conductance and susceptance between load buses, ``(L, L)``."""
        return _parts(self.grid.admittance()[self.loads][:, self.loads].toarray())

    @cached_property
    def gram_constants(self) -> tuple[np.ndarray, ...]:
        """What the Gram matrix of the loads' rows is made of, ``(2 L, 2 L)`` each, for P and Q.

        Real and imaginary part of Σₖ Y_jk conj(Y_lk) over all buses k but the slack, those of
        Y_jl, and those of Y_lj.
        """
        of_loads = self.grid.admittance()[self.loads]
        free = np.setdiff1d(np.arange(self.size), self.grid.slack)
        two_hops = (of_loads[:, free] @ of_loads[:, free].conj().T).toarray()
        matrices = (*_parts(two_hops), *self.between)
        twice = [np.tile(part, (2, 2)) for part in matrices]
        return (*twice, twice[2].T.copy(), twice[3].T.copy())

    def halves(self, x: Any) -> tuple[Any, Any]:
        """Real and imaginary parts ``(N,)`` of ``(2 N,)``."""
        return x[: self.size], x[self.size :]

    def current(self, voltage: Any) -> Any:
        """Y v: the currents that the buses inject, p.u., ``(2 N,)``."""
        return self.admittance(voltage)

    def power(self, voltage: Any, current: Any) -> tuple[Any, Any]:
        """Active and reactive power injected at every bus, p.u., ``(N,)`` each."""
        (a, b), (c, d) = self.halves(voltage), self.halves(current)
        return a * c + b * d, b * c - a * d

    def constant_power(self, voltage: Any, current: Any) -> tuple[Any, Any]:
        """What the set-points prescribe: `power` without that of constant-current loads."""
        p, q = self.power(voltage, current)
        if self.constant_currents is None:
            return p, q
        (a, b), (i, j) = self.halves(voltage), self._constant_current(voltage)
        magnitude = (a * a + b * b) ** 0.5
        return p - magnitude * i, q - magnitude * j

    def direction(self, voltage: Any) -> Any:
        """v / |v|, ``(2 N,)``: how |v| grows with the state; None without constant currents."""
        if self.constant_currents is None:
            return None
        a, b = self.halves(voltage)
        magnitude = (a * a + b * b) ** 0.5
        return voltage.__array_namespace__().concatenate([a / magnitude, b / magnitude])

    def rows(self, voltage: Any, current: Any) -> Any:
        """P at the loads, Q at the loads, Re v and Im v at the slack, ``(m,)``."""
        return self._select(*self.constant_power(voltage, current), voltage)

    def rate(self, voltage: Any, current: Any, direction: Any, velocity: Any) -> Any:
        """The derivative of `rows` along a velocity ``(2 N,)``, linear in all but the network."""
        p, q = self.power(velocity, current)
        dp, dq = self.power(voltage, self.admittance(velocity))
        p, q = p + dp, q + dq
        if direction is not None:
            (a, b), (c, d) = self.halves(direction), self.halves(velocity)
            i, j = self._constant_current(voltage)
            growth = a * c + b * d
            p, q = p - growth * i, q - growth * j
        return self._select(p, q, velocity)

    def matrix(self, voltage: Any, current: Any) -> Any:
        """The derivative of `rows` as a dense array ``(m, 2 N)``."""
        xp = voltage.__array_namespace__()
        buses, every = np.arange(self.size), self.grid.admittance()[self.loads].toarray()
        blocks = self._blocks(voltage, current, _parts(every), self.loads[:, None] == buses)
        pins = np.eye(2 * self.size)[self.pinned]
        return xp.concatenate([blocks, xp.asarray(pins, dtype=voltage.dtype)])

    def solve_loads(self, voltage: Any, current: Any, change: Any) -> Any:
        """The loads' velocities ``(2 L,)`` at which their powers change as asked for, ``(2 L,)``.

        **Raises:** `RuntimeError` or `numpy.linalg.LinAlgError` for NumPy's arrays where there are none.
        """
        xp = voltage.__array_namespace__()
        if self.saddle_point is None:
            return xp.linalg.solve(self.load_matrix(voltage, current), change)
        following = np.concatenate([self.loads, self.loads + self.size])
        if isinstance(voltage, np.ndarray):
            from scipy.sparse.linalg import splu

            matrix = constant_power_jacobian(self.grid, self.grid.voltage(voltage))
            return splu(matrix[following][:, following].tocsc()).solve(change)
        import jax
        import jax.numpy as jnp

        saddle, direction = self.saddle_point, self.direction(voltage)
        held = jax.lax.stop_gradient((voltage, self.own_terms(current, direction)))
        of = saddle.factor(*held, saddle.of_loads(self.grid))

        def changed(w: Any) -> Any:
            velocity = jnp.zeros_like(voltage).at[following].set(w, unique_indices=True)
            return self.rate(voltage, current, direction, velocity)[: len(following)]

        def solved(apply: Any, solve: Any, b: Any) -> Any:
            def improved(_: int, x: Any) -> Any:
                return x + solve(of, b - apply(x))

            return jax.lax.fori_loop(0, 2, improved, jnp.zeros_like(b))

        return jax.lax.custom_linear_solve(
            changed,
            change,
            lambda apply, b: solved(apply, saddle.velocities, b),
            lambda apply, b: solved(apply, saddle.transposed, b),
        )

    def load_matrix(self, voltage: Any, current: Any) -> Any:
        """The derivative of the loads' powers by the loads' voltages, ``(2 L, 2 L)``."""
        return self._blocks(voltage, current, self.between, np.eye(len(self.loads), dtype=bool))

    def _blocks(self, voltage: Any, current: Any, part: Any, same: np.ndarray) -> Any:
        """The derivative of the loads' powers by the voltages of some buses.

        `part` are conductance and susceptance between loads and those buses, and `same` marks a
        load itself among them.
        """
        xp = voltage.__array_namespace__()
        g, b = (xp.asarray(x, dtype=voltage.dtype) for x in part)
        own = xp.asarray(same, dtype=voltage.dtype)
        a, c = (x[self.loads][:, None] for x in self.halves(voltage))
        of_p, of_q = self.own_terms(current, self.direction(voltage))
        (p_a, p_b), (q_a, q_b) = ([x[:, None] * own for x in pair] for pair in (of_p, of_q))
        along, across = a * g + c * b, c * g - a * b  # v · conj(Y)
        return xp.concatenate(
            [
                xp.concatenate([p_a + along, p_b + across], axis=1),
                xp.concatenate([q_a + across, q_b - along], axis=1),
            ]
        )

    def own_terms(self, current: Any, direction: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """What a load's own current adds to its rows of P and of Q, at Re v and Im v, ``(L,)``.

        That is i and ji, less the part of the constant current along n.
        """
        c, d = (x[self.loads] for x in self.halves(current))
        if direction is None:
            return (c, d), (-d, c)
        a, b = (x[self.loads] for x in self.halves(direction))
        i, j = (x[self.loads] for x in self._constant_current(current))
        return (c - i * a, d - i * b), (-d - j * a, c - j * b)

    def _constant_current(self, like: Any) -> tuple[Any, Any]:
        xp = like.__array_namespace__()
        assert self.constant_currents is not None
        i, j = self.constant_currents
        return xp.asarray(i, dtype=like.dtype), xp.asarray(j, dtype=like.dtype)

    def _select(self, p: Any, q: Any, x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.concatenate([p[self.loads], q[self.loads], x[self.pinned]])


class _Dense:
    """Product with a complex matrix ``(N, N)`` as one with a real matrix ``(2 N, 2 N)``."""

    def __init__(self, matrix: Any):
        g, b = _parts(matrix.toarray())
        self.matrix = np.block([[g, -b], [b, g]])

    def __call__(self, x: Any) -> Any:
        return x.__array_namespace__().asarray(self.matrix, dtype=x.dtype) @ x


class _Sparse:
    """Product with a complex CSR matrix ``(N, N)``: a gather, and a sum over each row."""

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.g, self.b = _parts(matrix.data)
        self.rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))

    def __call__(self, x: Any) -> Any:
        n = self.matrix.shape[0]
        if isinstance(x, np.ndarray):
            y = self.matrix @ (x[:n] + 1j * x[n:])
            return np.concatenate(_parts(y)).astype(x.dtype)
        import jax.numpy as jnp
        from jax.ops import segment_sum

        g, b = jnp.asarray(self.g, x.dtype), jnp.asarray(self.b, x.dtype)
        real, imag = x[:n][self.matrix.indices], x[n:][self.matrix.indices]
        return jnp.concatenate(
            [
                segment_sum(g * real - b * imag, self.rows, n, indices_are_sorted=True),
                segment_sum(g * imag + b * real, self.rows, n, indices_are_sorted=True),
            ]
        )


def _parts(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(z.real), np.ascontiguousarray(z.imag)
