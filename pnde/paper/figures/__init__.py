"""The paper's figures, one function each, by the name of their file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from pnde.paper.figures.chain import pendulum_drawing
from pnde.paper.figures.errors import conservation_errors, grid_errors, pendulum_errors
from pnde.paper.figures.fourteen import fourteen_buses
from pnde.paper.figures.limit import limit
from pnde.paper.figures.long_rollout import all_loads, all_sources, long_rollout
from pnde.paper.figures.schematic import schematic
from pnde.paper.figures.trajectories import (
    eight_pendulum,
    four_pendulum,
    lotka_volterra,
    quartic,
)
from pnde.paper.results import Results


@dataclass(frozen=True)
class Entry:
    """A figure: its function, the studies of which it needs one at least, and what it shows."""

    draw: Callable[[Results], Figure]
    studies: tuple[str, ...]
    caption: str


FIGURES: dict[str, Entry] = {
    "figure-01-schematic": Entry(schematic, (), "The velocity is projected on the tangent space"),
    "figure-02-conservation-errors": Entry(
        conservation_errors,
        ("quartic", "lotka-volterra"),
        "State and constraint errors of the quartic potential and of Lotka–Volterra",
    ),
    "figure-03-pendulum": Entry(pendulum_drawing, (), "A 4-pendulum"),
    "figure-04-pendulum-errors": Entry(
        pendulum_errors,
        ("pendulum-4", "pendulum-8"),
        "State and constraint errors of the 4- and the 8-pendulum",
    ),
    "figure-05-ieee14": Entry(fourteen_buses, (), "The IEEE 14-bus grid"),
    "figure-06-ieee14-errors": Entry(
        grid_errors, ("ieee14",), "State and constraint errors of the 14-bus grid"
    ),
    "figure-07-long-rollout": Entry(
        long_rollout, ("ieee14",), "Long rollouts: power of two loads, voltage of two sources"
    ),
    "figure-08-quartic": Entry(quartic, ("quartic",), "Trajectories of the quartic potential"),
    "figure-09-lotka-volterra": Entry(
        lotka_volterra, ("lotka-volterra",), "Trajectories of Lotka–Volterra"
    ),
    "figure-10-pendulum-4": Entry(four_pendulum, ("pendulum-4",), "The last bob of the 4-pendulum"),
    "figure-11-pendulum-8": Entry(
        eight_pendulum, ("pendulum-8",), "The last bob of the 8-pendulum"
    ),
    "figure-12-all-loads": Entry(all_loads, ("ieee14",), "Long rollouts: power of all loads"),
    "figure-13-all-sources": Entry(
        all_sources, ("ieee14",), "Long rollouts: voltage of all sources"
    ),
    "figure-e-limit": Entry(limit, ("quartic",), "SNDE tends to PNDE as γ grows (Appendix E)"),
}
