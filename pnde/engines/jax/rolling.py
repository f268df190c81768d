"""Forecasts of a model, each trajectory with steps of its own, and how each of them went."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.config import SolverConfig
from pnde.engines import Status
from pnde.engines.jax import fields
from pnde.engines.jax.bounds import can_be_kept
from pnde.engines.jax.driving import Drive, instant
from pnde.engines.jax.enclosing import is_inside
from pnde.engines.jax.portions import in_portions
from pnde.engines.jax.retraction import is_on_manifold
from pnde.engines.jax.solve import Solution
from pnde.engines.jax.training import model_dynamics
from pnde.engines.rank import rank_margin
from pnde.models import Model


def rollout(
    model: Model,
    settings: SolverConfig,
    parameters: fields.Parameters,
    u0: Float[Array, "B n"],
    times: Float[Array, "B T"],
    c: Float[Array, "B m"],
    driven: Drive,
) -> tuple[Solution, Float[Array, "B T m"]]:
    """The solution from u0 at times, and the targets then, which differ from c behind jumps of the inputs.

    The status tells of rows that depend on each other, of states off the manifold, and of bounds that cannot be kept,
    beside the solver's own.
    """
    law: Any = model.constraint
    dynamics = model_dynamics(model, None if law is None else law.domain)

    def one(u0, times, c, driven):
        args = (parameters, driven, c)
        solution, c = dynamics.solve(u0, times, args, settings, spread=model.std)
        if not dynamics.retracts:
            return solution, c
        at = jax.vmap(instant, in_axes=(None, 0))(driven, times)
        if dynamics.bounds is not None:
            solution = _within_bounds(model, dynamics, settings, solution, at, c)
        if law is None:
            return solution, c
        singular = _worst_rank_margin(model, at, solution.u) < 1
        status = solution.status
        if settings.retract != "never":
            on = jax.vmap(lambda u, at, c: is_on_manifold(law, u, at, c))(solution.u, at, c)
            off = jnp.any(jnp.all(jnp.isfinite(solution.u), axis=1) & ~on)
            status = jnp.where((status == Status.OK) & off, Status.OFF_MANIFOLD, status)
        return solution._replace(status=jnp.where(singular, Status.RANK_DEFICIENT, status)), c

    return jax.vmap(one)(u0, times, c, driven)


def _within_bounds(model, dynamics, settings, solution, at, c):
    """The solution with the status of one whose bounds cannot be kept, or are not."""
    law, bounds, method = dynamics.law, dynamics.bounds, model.config.projection.method
    retracts = settings.retract != "never"
    moves = any(part.rows.moves for part in bounds.parts) or (law is not None and law.moves)

    def fails(at, u):
        kept = is_inside(bounds, u, at) if retracts else jnp.ones((), bool)
        if moves or not retracts:  # else a state at rest keeps them all
            kept = kept & can_be_kept(law, bounds, model.metric, method, u, at)
        return jnp.all(jnp.isfinite(u)) & ~kept

    failed = jnp.any(in_portions(fails, at, solution.u))
    status = jnp.where(failed & (solution.status == Status.OK), Status.INFEASIBLE, solution.status)
    return solution._replace(status=status)


def _worst_rank_margin(model, at, u):
    """The least rank margin of nine and an eighth of the states `(T, n)`, both ends among them; where it is within four
    digits of singular, of all. A factor of each would take as long as the solve."""
    rounds, last = 8, u.shape[0] - 1
    first = np.unique(np.linspace(0, last, last // rounds + 9).astype(int))
    others = np.setdiff1d(np.arange(last + 1), first)
    missing = -len(others) % len(first)
    parts = np.concatenate([first, others, np.full(missing, last)]).reshape(-1, len(first))
    order = jnp.asarray(parts)

    def unfinished(carry):
        done, worst = carry
        return (done < len(order)) & ((done == 0) | (worst < 1e4))

    def look(carry):
        done, worst = carry
        picked = jax.tree.map(lambda x: x[order[done]], (at, u))
        margins = in_portions(lambda at, u: _rank_margin(model, u, at), *picked)
        return done + 1, jnp.minimum(worst, jnp.min(margins))

    start = (jnp.zeros((), jnp.int32), jnp.asarray(jnp.inf, u.dtype))
    return jax.lax.while_loop(unfinished, look, start)[1]


def _rank_margin(model, u, at):
    """Infinite for a state that is not known."""
    margin = rank_margin(fields.condition_of(model, at, u))
    return jnp.where(jnp.all(jnp.isfinite(u)), margin, jnp.inf)
