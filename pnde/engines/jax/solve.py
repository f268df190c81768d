"""Integration with diffrax, with the state retracted onto the manifold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from pnde.config import SolverConfig, TrainingSolverConfig
from pnde.engines import Status
from pnde.engines.jax.checks import without_checks
from pnde.engines.jax.fixed_steps import FixedSteps
from pnde.engines.jax.portions import in_portions
from pnde.engines.jax.replaying import Replay
from pnde.engines.jax.sharding import Across
from pnde.errors import ConfigError

SOLVERS: dict[str, Any] = {
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
    "kvaerno5": diffrax.Kvaerno5,
}

# Not the one that equinox jits: it would keep each field, and what that is made of, for as long as the process lives.
_diffeqsolve = inspect.unwrap(diffrax.diffeqsolve)

Retraction = Callable[[Any, Array, Any], Array]
"""(t, u, args) ↦ u on the manifold."""


class Solution(NamedTuple):
    """States at the T save times, `(T, *shape of u0)`, and how the solve went.

    `room` is the array that steps were stored in for their derivative, if one was given for that.
    """

    u: Array
    status: Int[Array, ""]
    steps: Int[Array, ""]
    room: Array | None = None


def solve(
    field: Callable[[Any, Array, Any], Array],
    u0: Array,
    times: Array,
    args: Any,
    settings: SolverConfig,
    retraction: Retraction | None = None,
    domain: Callable[[Array], Array] | None = None,
    stop_at_times: bool = False,
    spread: np.ndarray | None = None,
    jumps: Float[Array, " J"] | None = None,
    kinks: Float[Array, " Q"] | None = None,
    jump: Retraction | None = None,
    carried: int = 0,
    across: Across | None = None,
) -> Solution:
    """Solve u̇ = field(t, u, args) from u0 at times[0], saved at `times`.

    u0 of shape `(B, n)` is one system: all trajectories share the steps and one error norm, as in the paper's training.
    Use `jax.vmap` for trajectories with steps of their own.

    **Arguments:**

    - `retraction`: applied as `settings.retract` says: to every accepted step and saved state, to saved states, or not.
    - `domain`: true while the state is inside; the solve ends where it is not.
    - `stop_at_times`: adaptive steps end on the save times exactly, where interpolation is not accurate enough.
    - `spread`: what `settings.atol` is in units of, `(n,)`; 1 if absent.
    - `jumps`: times at which the field jumps, in order, infinite behind the last: steps end just before each and go on
        just after it, so the state saved at one is that after it. `jump`: what it does to the state.
    - `kinks`: times at which its derivative does: adaptive steps end there, which else would be found by trial.
    - `carried`: so many last entries of the state have no part in the errors of steps.
    - `across`: of one system that is spread over devices; its steps are common to all of it.

    **Raises:** `pnde.errors.ConfigError` for a backward or implicit solve of a field that jumps, in a training.
    """
    dtype = u0.dtype
    times = jnp.asarray(times, dtype)
    in_training = isinstance(settings, TrainingSolverConfig) and not _goes_back(settings)
    if jumps is not None:
        check_inputs(settings, jump=True)
    # Traced once, however often diffrax calls them.
    field, retraction = jax.jit(field), None if retraction is None else jax.jit(retraction)
    kind, norm = SOLVERS[settings.solver], error_norm if across is None else across.norm
    atol = absolute_tolerance(settings, spread, u0[..., : u0.shape[-1] - carried])
    if carried:
        moving = u0.shape[-1] - carried
        own = jnp.broadcast_to(jnp.asarray(atol, dtype), (moving,))
        atol = jnp.concatenate([own, jnp.full(carried, jnp.inf, dtype)])
        norm = partial(error_norm, first=moving)
    if is_explicit(settings):
        solver = kind()
    else:  # its equations are solved as well as errors of a step are kept
        newton = diffrax.VeryChord(rtol=settings.rtol, atol=atol, norm=norm)
        solver = kind(root_finder=newton)
    after_steps = retraction if settings.retract == "step" else None
    if after_steps is not None or jump is not None:
        solver = _OnManifold(solver, after_steps, jump)
    terms = diffrax.ODETerm(field)
    controller: diffrax.AbstractStepSizeController
    ends = [] if kinks is None else [kinks]
    ends += [times] if stop_at_times else []
    if settings.step is None:
        # Below this step the time no longer changes: the field is infinite, NaN or hopelessly stiff. (A step that is
        # cut short to meet a save time may well be smaller.)
        smallest = 16 * jnp.finfo(dtype).eps * jnp.max(jnp.abs(times))
        controller = diffrax.PIDController(
            rtol=settings.rtol,
            atol=atol,
            norm=norm,
            dtmin=smallest if jumps is None and not ends else None,
            force_dtmin=False,
        )
        # Chosen here, for `diffeqsolve` wraps the term and then falls back to 0.01.
        order = solver.error_order(terms)
        first, _ = controller.init(terms, times[0], times[-1], u0, None, args, solver.func, order)
        dt0 = jnp.where(first > times[0], first - times[0], smallest)  # NaN where the field is
        if jumps is not None or ends:
            controller = diffrax.ClipStepSizeController(
                controller, step_ts=jnp.concatenate(ends) if ends else None, jump_ts=jumps
            )
    else:
        controller, dt0 = diffrax.ConstantStepSize(), jnp.asarray(settings.step, dtype)
        if jumps is not None:
            controller = diffrax.ClipStepSizeController(FixedSteps(), jump_ts=jumps)
    end = times[-1]
    if jumps is not None:  # behind a jump at the last time, for the state after it
        end = end + 128 * jnp.finfo(dtype).eps * jnp.max(jnp.abs(times))
    run = partial(
        without_checks(_diffeqsolve),
        terms,
        solver,
        t0=times[0],
        t1=end,
        adjoint=_adjoint(settings),
        event=None if domain is None else diffrax.Event(lambda t, y, args, **_: ~domain(y)),
        max_steps=settings.max_steps,
        throw=False,
    )
    found = None
    if in_training and not is_explicit(settings):
        # Of a step that was rejected because its equations have no solution there is no derivative: the steps are found
        # first, and those that were taken are gone over again for theirs.
        still_u0, still_args = jax.lax.stop_gradient((u0, args))
        found = run(
            dt0=dt0,
            y0=still_u0,
            args=still_args,
            saveat=diffrax.SaveAt(steps=True, fn=lambda t, u, args: None),
            stepsize_controller=controller,
        )
        controller = Replay(found.ts)
    solution = run(
        dt0=dt0, y0=u0, args=args, saveat=diffrax.SaveAt(ts=times), stepsize_controller=controller
    )
    counted = solution if found is None else found
    ys: Any = solution.ys
    finite = jnp.all(jnp.isfinite(ys))
    u = ys.at[0].set(u0)  # known even if no step succeeds
    if retraction is not None and settings.retract != "never":
        back: Retraction = retraction
        u = in_portions(lambda t, u: back(t, u, args), times, u)
    status = _status(counted.result, finite)
    if domain is not None:
        # The last step ends outside, and another may leap over a border: of its states those outside are not known.
        outside = (~jax.vmap(domain)(u)).at[0].set(False)
        left = jnp.any(outside) & (jnp.arange(len(u)) >= jnp.argmax(outside))
        out_of_it = jnp.any(outside & jnp.all(jnp.isfinite(u), axis=-1))
        u = jnp.where(left[:, None], jnp.nan, u)
        status = jnp.where((status == Status.OK) & out_of_it, Status.LEFT_DOMAIN, status)
    return Solution(u, status, counted.stats["num_steps"])


def is_explicit(settings: SolverConfig) -> bool:
    """Whether a step is computed without solving equations."""
    return issubclass(SOLVERS[settings.solver], diffrax.AbstractERK)


def absolute_tolerance(settings: SolverConfig, spread: np.ndarray | None, u: Array) -> Any:
    """`settings.atol` in the units of the states, so that a solve does not depend on these."""
    # The backward solve has the adjoint beside the state, in other units: one number for all, as in the paper.
    if spread is None or _goes_back(settings):
        return settings.atol
    return jnp.asarray(np.reshape(settings.atol * spread, (1,) * (u.ndim - 1) + (-1,)), u.dtype)


def error_norm(error: Any, first: int | None = None) -> Array:
    """Root mean square, and infinite for NaN: a step to where the field is not defined is rejected and shortened.

    `first` is how many entries of the state count, if not all.
    """
    leaves = jax.tree.leaves(jax.lax.stop_gradient(error))
    if first is not None:
        leaves = [leaf[..., :first] for leaf in leaves]
    squares = sum(jnp.sum(leaf**2) for leaf in leaves)
    size = jnp.sqrt(squares / sum(leaf.size for leaf in leaves))
    return jnp.where(jnp.isnan(size), jnp.inf, size)


def evaluations(steps: Any, settings: SolverConfig) -> Any:
    """Evaluations of the field in `steps` steps of an explicit solver, with those that choose the first; else 0."""
    if not is_explicit(settings):
        return 0 * steps
    solver = SOLVERS[settings.solver]
    # All of them carry the last stage over to the next step.
    return steps * (solver.tableau.num_stages - 1) + (1 if settings.step is not None else 3)


def _goes_back(settings: SolverConfig) -> bool:
    """Whether the gradient is that of the paper's backward solve, not that of the solver's steps."""
    return isinstance(settings, TrainingSolverConfig) and settings.adjoint == "backsolve"


def _adjoint(settings: SolverConfig) -> diffrax.AbstractAdjoint:
    if _goes_back(settings):
        return diffrax.BacksolveAdjoint()
    return diffrax.RecursiveCheckpointAdjoint()


def _status(result: diffrax.RESULTS, finite: Array) -> Int[Array, ""]:
    status = jnp.asarray(Status.NON_FINITE, jnp.int32)
    status = jnp.where(result == diffrax.RESULTS.max_steps_reached, Status.MAX_STEPS, status)
    status = jnp.where(result == diffrax.RESULTS.event_occurred, Status.LEFT_DOMAIN, status)
    return jnp.where((result == diffrax.RESULTS.successful) & finite, Status.OK, status)


def check_inputs(settings: SolverConfig, jump: bool) -> None:
    """Whether inputs, which may `jump`, can be solved for as the settings say.

    **Raises:** `pnde.errors.ConfigError` naming the setting, if not.
    """
    if _goes_back(settings):
        raise ConfigError(
            'solver.adjoint = "backsolve" cannot go back through inputs: leave it out'
        )
    if jump and isinstance(settings, TrainingSolverConfig) and not is_explicit(settings):
        raise ConfigError(
            f'solver.solver = "{settings.solver}" cannot train on inputs that jump: use "tsit5" or "dopri8" there; '
            "a forecast (rollout.solver) may have it"
        )


class _OnManifold(diffrax.AbstractAdaptiveSolver[Any], diffrax.AbstractWrappedSolver[Any]):
    """A solver whose every step ends on the manifold, and starts on that of the inputs after a jump.

    The stage that a first-same-as-last method carries over was evaluated just off it, at a distance of the local error;
    it is kept, for the difference is of the order of that error times the step.
    """

    solver: diffrax.AbstractSolver[Any]  # type: ignore[misc]
    retraction: Retraction | None = eqx.field(static=True)
    jump: Retraction | None = eqx.field(static=True)

    @property
    def term_structure(self):
        return self.solver.term_structure

    @property
    def interpolation_cls(self):  # type: ignore[override]
        return self.solver.interpolation_cls

    @property
    def term_compatible_contr_kwargs(self):
        return self.solver.term_compatible_contr_kwargs

    @property
    def root_finder(self):
        implicit: Any = self.solver
        return implicit.root_finder

    @property
    def root_find_max_steps(self):
        implicit: Any = self.solver
        return implicit.root_find_max_steps

    def order(self, terms):
        return self.solver.order(terms)

    def strong_order(self, terms):
        return self.solver.strong_order(terms)

    def error_order(self, terms):
        return self.solver.error_order(terms)

    def init(self, terms, t0, t1, y0, args):
        return self.solver.init(terms, t0, t1, y0, args)

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        jump = self.jump
        if jump is not None and made_jump is not False:
            # A step in a thousand jumps: `unvmap_any` spares a batch the others.
            y0 = jax.lax.cond(
                eqxi.unvmap_any(made_jump),
                lambda y: jnp.where(made_jump, jump(t0, y, args), y),
                lambda y: y,
                y0,
            )
        y1, error, dense, state, result = self.solver.step(
            terms, t0, t1, y0, args, solver_state, made_jump
        )
        if self.retraction is not None:
            y1 = self.retraction(t1, y1, args)
        return y1, error, dense, state, result

    def func(self, terms, t0, y0, args):
        return self.solver.func(terms, t0, y0, args)
