"""The modes of a grid at its operation point, and whether one of them grows."""

from __future__ import annotations

import numpy as np

from pnde.grids.grid import Grid
from pnde.grids.operation_point import residual_jacobian
from pnde.grids.sources import NormalForm, normal_form

#: Up to so many sources all modes are computed; the time grows with the cube of their number.
_FEW = 60


def slow_modes(grid: Grid, voltage: np.ndarray, sources: NormalForm | None = None) -> np.ndarray:
    """Eigenvalues of the dynamics linearised at a state, loads and slack eliminated.

    **Arguments:**

    - `grid`: the grid; every source needs its reactive set-point.
    - `voltage`: complex voltages of the operation point, p.u., ``(N,)``.
    - `sources`: its sources; by default dVOC with the reference's parameters.

    **Returns:** complex, 1/s, ``(2 · number of sources,)``, the most stable first. A positive real
    part means that the operation point is unstable.
    """
    from scipy.sparse.linalg import splu

    if not len(grid.sources):
        return np.zeros(0, complex)
    jacobian, moving = _linearised(grid, voltage, sources)
    still = np.setdiff1d(np.arange(2 * grid.size), moving)
    of_moving = jacobian[:, moving].tocsc()
    follow = splu(jacobian[:, still][still].tocsc()).solve(of_moving[still].toarray())
    reduced = of_moving[moving].toarray() - jacobian[moving][:, still] @ follow
    modes = np.linalg.eigvals(reduced)
    return modes[np.argsort(modes.real)]


def growth_rate(grid: Grid, voltage: np.ndarray, sources: NormalForm | None = None) -> float:
    """Growth rate of the fastest growing mode, 1/s; 0 where none grows.

    Arguments as in [`pnde.grids.slow_modes`][]. With many sources it is found without the other
    modes: A ↦ (A − σ)⁻¹ (A + σ), σ > 0, takes modes that grow, and no others, out of the unit
    circle (Cayley transform), where Arnoldi's method finds them first.
    """
    if len(grid.sources) <= _FEW:
        modes = slow_modes(grid, voltage, sources)
        slight = 1e-9 * np.abs(modes).max(initial=0.0)
        growth = modes.real.max(initial=0.0)
        return float(growth) if growth > slight else 0.0

    from scipy.sparse import coo_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, splu

    jacobian, moving = _linearised(grid, voltage, sources)
    sigma = float(np.median(np.abs(jacobian.diagonal()[moving])))
    ones = np.full(len(moving), sigma)
    shift = coo_array((ones, (moving, moving)), shape=jacobian.shape)
    factor = splu((jacobian - shift).tocsc())

    def cayley(x: np.ndarray) -> np.ndarray:
        right = np.zeros(2 * grid.size)
        right[moving] = x
        return x + 2 * sigma * factor.solve(right)[moving]

    transform = LinearOperator((len(moving),) * 2, matvec=cayley, dtype=float)
    start = np.random.default_rng(0).normal(size=len(moving))
    try:
        found = eigs(
            transform, k=4, v0=start, which="LM", tol=1e-6, maxiter=200, return_eigenvectors=False
        )
    except ArpackNoConvergence as stopped:  # modes crowd inside the circle: then none is outside
        found = np.asarray(stopped.eigenvalues)
    out = found[np.abs(found) > 1 + 1e-6]
    return float((sigma * (out + 1) / (out - 1)).real.max(initial=0.0))


def _linearised(grid: Grid, voltage: np.ndarray, sources: NormalForm | None):
    """The Jacobian of (u̇ at sources, what is 0 elsewhere), CSR ``(2 N, 2 N)``, and its moving rows.

    The rows of `residual` at a source are u̇/u divided by |Gc|; at rest d(u̇) = u · d(u̇/u).
    """
    from scipy.sparse import block_array, diags_array

    sources = normal_form(grid) if sources is None else sources
    at, factor = grid.sources, np.ones(grid.size, complex)
    factor[at] = voltage[at] * np.abs(sources.Gc)
    real, imag = diags_array(factor.real), diags_array(factor.imag)
    turned = block_array([[real, -imag], [imag, real]]) @ residual_jacobian(grid, sources, voltage)
    return turned.tocsr(), np.concatenate([at, at + grid.size])
