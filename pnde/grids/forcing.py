"""Random pushes for ambient forcing: where the perturbed initial states of a grid come from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid

#: Pseudo-time that the state is pushed for (paper, table IV; not seconds of grid dynamics).
TAU = 0.2
#: Bounds of the squared size of a push at one bus, p.u.² (paper's code).
SQUARE_BOUNDS = (0.15, 1.0)


def ambient_forcing(
    grid: Grid,
    count: int,
    seed: int | np.random.Generator,
    *,
    buses: Iterable[int | str] | None = None,
    square_bounds: tuple[float, float] = SQUARE_BOUNDS,
) -> np.ndarray:
    """Constant vectors F for du/ds = (I − Jᵀ(JJᵀ)⁻¹J) F, s ∈ [0, τ] (Büttner et al. 2022).

    At each bus F has squared size r² ~ U(0.15, 1) and an angle ~ U(0, 2π), independently. The flow
    itself projects out what would break a load's power balance or move the slack.

    **Arguments:**

    - `grid`: the grid.
    - `count`: number of vectors.
    - `seed`: seed or generator.
    - `buses`: numbers or names of the buses to push; by default all of them.
    - `square_bounds`: bounds of r².

    **Returns:** ``(count, 2 N)`` in the order of the state; zero at buses that are not pushed.
    """
    low, high = square_bounds
    if not 0 <= low <= high:
        raise GridError(f"square_bounds is {square_bounds}; it must be 0 ≤ low ≤ high")
    at = np.arange(grid.size) if buses is None else np.array([grid.index(bus) for bus in buses])
    rng = np.random.default_rng(seed)
    # Drawn for every bus, so that a bus gets the same push whether alone or with others.
    radius = np.sqrt(rng.uniform(low, high, (count, grid.size)))
    angle = rng.uniform(0.0, 2 * np.pi, (count, grid.size))
    push = np.zeros((count, grid.size), complex)
    push[:, at] = (radius * np.exp(1j * angle))[:, at]
    return grid.state(push)
