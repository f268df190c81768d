"""Where to draw the buses of a one-line diagram."""

from __future__ import annotations

import numpy as np

from pnde.grids.grid import Grid

# Drawn for this package: the high-voltage side below, the low-voltage side above; no two branches
# cross.
_FOURTEEN = {
    1: (0.0, 2.0), 2: (1.6, 0.4), 3: (5.4, 0.0), 4: (5.0, 2.2), 5: (2.2, 2.2), 6: (2.2, 4.0),
    7: (6.2, 3.1), 8: (7.6, 3.1), 9: (5.4, 4.0), 10: (4.4, 4.9), 11: (3.2, 4.9), 12: (0.6, 5.2),
    13: (2.0, 6.0), 14: (5.0, 6.0),
}  # fmt: skip
_FOURTEEN_EDGES = {
    (1, 2), (1, 5), (2, 3), (2, 4), (2, 5), (3, 4), (4, 5), (4, 7), (4, 9), (5, 6), (6, 11),
    (6, 12), (6, 13), (7, 8), (7, 9), (9, 10), (9, 14), (10, 11), (12, 13), (13, 14),
}  # fmt: skip

#: Above this many buses the layout stays spectral: distances between all pairs would not fit.
_LARGE = 1500


def layout(grid: Grid, *, iterations: int = 100) -> np.ndarray:
    """Coordinates for a one-line diagram; the same grid always gets the same ones.

    The IEEE 14-bus topology, whatever its parameters, is drawn by hand. Any other grid starts from
    the eigenvectors of its graph and is relaxed until drawn distances resemble the number of
    branches between buses (stress majorisation; Gansner, Koren & North 2004).

    **Arguments:**

    - `grid`: the grid.
    - `iterations`: of the relaxation.

    **Returns:** ``(N, 2)``; neighbouring buses are about one unit apart.
    """
    number, line = grid.buses.number, grid.branches
    ends = np.sort(np.stack([number[line.start], number[line.end]], axis=1), axis=1)
    edges = {(int(a), int(b)) for a, b in ends}
    if grid.size == 14 and edges == _FOURTEEN_EDGES and set(number) == set(_FOURTEEN):
        return np.array([_FOURTEEN[int(n)] for n in number])
    if grid.size < 3:
        return np.stack([np.arange(grid.size, dtype=float), np.zeros(grid.size)], axis=1)
    adjacency = _adjacency(grid)
    points = _spectral(adjacency)
    return points if grid.size > _LARGE else _relax(adjacency, points, iterations)


def _adjacency(grid: Grid):
    from scipy.sparse import coo_array

    line, n = grid.branches, grid.size
    rows = np.concatenate([line.start, line.end])
    columns = np.concatenate([line.end, line.start])
    matrix = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    matrix.data[:] = 1.0  # parallel branches count once
    return matrix


def _spectral(adjacency) -> np.ndarray:
    """The two slowest modes of diffusion on the graph, scaled so that branches are of unit size."""
    from scipy.sparse import diags_array

    n = adjacency.shape[0]
    matrix = diags_array(adjacency.sum(axis=1)) - adjacency
    if n <= _LARGE:
        vectors = np.linalg.eigh(matrix.toarray())[1][:, 1:3]
    else:
        from scipy.sparse.linalg import eigsh

        # Shift-invert just below 0 finds the smallest eigenvalues of the singular Laplacian.
        start = np.cos(np.arange(n))
        vectors = eigsh(matrix.tocsc(), k=3, sigma=-1e-3, v0=start)[1][:, 1:3]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])
    start, end = adjacency.nonzero()
    length = np.linalg.norm(vectors[start] - vectors[end], axis=1).mean()
    return vectors / (length or 1.0)


def _relax(adjacency, points: np.ndarray, iterations: int) -> np.ndarray:
    """Minimise Σ (|x_i − x_j| − d_ij)²/d_ij², d_ij the number of branches between i and j."""
    from scipy.sparse.csgraph import shortest_path

    n = len(points)
    distance = shortest_path(adjacency, unweighted=True)
    # Islands (each with its own slack) are placed as if they were a few branches apart.
    apart = np.isinf(distance)
    if apart.any():
        distance[apart] = distance[~apart].max() + 2
    np.fill_diagonal(distance, 1.0)
    weight = distance**-2.0
    np.fill_diagonal(weight, 0.0)
    system = np.diag(weight.sum(axis=1)) - weight
    # The system is singular for a common shift; holding the mean at 0 removes it.
    inverse = np.linalg.inv(system + 1.0 / n) - 1.0 / n
    # Symmetric grids have buses on top of each other, which no force would part.
    points = points + 1e-3 * np.stack([np.cos(np.arange(n)), np.sin(np.arange(n) ** 2)], axis=1)
    for _ in range(iterations):
        gap = points[:, None, :] - points[None, :, :]
        length = np.sqrt((gap**2).sum(axis=-1))
        pull = weight * distance / np.maximum(length, 1e-9)
        np.fill_diagonal(pull, 0.0)
        points = inverse @ (pull.sum(axis=1)[:, None] * points - pull @ points)
    return points
