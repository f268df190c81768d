"""The paper's claims as assertions on results, by name and in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable

from pnde.paper.claims.conservation import beats_nde, best_state, snde_cannot_be_trained
from pnde.paper.claims.constraint import constraint_error, larger_gamma, more_steps
from pnde.paper.claims.finding import Finding
from pnde.paper.claims.grid import loads_turn, power_drift, similar_states, voltage_converges
from pnde.paper.claims.limit import infinite_gamma
from pnde.paper.claims.pendulum import cartesian_beats_angular, gap_grows
from pnde.paper.claims.times import forward_ratio, snde_is_slower, solve_ratio, training_ratio
from pnde.paper.results import Results

Claim = Callable[[Results], Finding]

#: On trained models: held against each seed.
OF_MODELS: dict[str, Claim] = {
    "constraint-error": constraint_error,
    "beats-nde": beats_nde,
    "best-state": best_state,
    "snde-lotka-volterra": snde_cannot_be_trained,
    "cartesian": cartesian_beats_angular,
    "gap-grows": gap_grows,
    "similar-states": similar_states,
    "larger-gamma": larger_gamma,
    "more-steps": more_steps,
    "power-drift": power_drift,
    "loads-turn": loads_turn,
    "voltage-converges": voltage_converges,
}

#: On what was measured once.
OF_MEASUREMENTS: dict[str, Claim] = {
    "infinite-gamma": infinite_gamma,
    "training-time": training_ratio,
    "forward-time": forward_ratio,
    "solve-time": solve_ratio,
    "snde-slower": snde_is_slower,
}
