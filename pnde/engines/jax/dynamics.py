"""A vector field under conditions, with the manifold that its trajectories stay on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.config import SolverConfig
from pnde.engines.jax.driving import Drive, instant
from pnde.engines.jax.enclosing import put_back
from pnde.engines.jax.jumping import jump, meets_jumps
from pnde.engines.jax.sharding import Across
from pnde.engines.jax.solve import Solution, solve
from pnde.laws import Bounds, Constraint, Instant

Arguments = tuple[Any, Drive, Array]
"""What a solve is differentiated by: the field's own parameters, the conditions, and the targets."""


@dataclass(frozen=True)
class Dynamics:
    """u̇ = velocity(parameters, instant, u, c), of one trajectory or of a batch.

    - `law`: whose manifold it belongs to, with the targets c; `None` for none. `metric`, `method`: with which states
        are put there.
    - `bounds`: of which states stay inside.
    - `retracts`: whether a solver puts states there after its steps.
    - `domain`: true for states inside; the solve ends where one is not.
    """

    velocity: Callable[[Any, Instant, Array, Array], Array]
    law: Constraint | None = None
    metric: Any = None
    method: str = "cholesky"
    retracts: bool = False
    domain: Callable[[Array], Array] | None = None
    bounds: Bounds | None = None

    def field(self, t: Any, u: Array, args: Arguments) -> Array:
        parameters, drive, c = args
        return self.velocity(parameters, instant(drive, t), u, c)

    @property
    def retraction(self) -> Callable[[Any, Array, Arguments], Array] | None:
        return self._retract if self.retracts else None

    def _retract(self, t: Any, u: Array, args: Arguments) -> Array:
        _, drive, c = args
        back: Any = partial(put_back, self.law, self.bounds, self.metric, self.method)
        return (back if u.ndim == 1 else jax.vmap(back))(u, instant(drive, t), c)

    def solve(
        self,
        u0: Array,
        times: Float[Array, " T"],
        args: Arguments,
        settings: SolverConfig,
        stop_at_times: bool = False,
        stop_at_kinks: bool = True,
        spread: np.ndarray | None = None,
        across: Across | None = None,
    ) -> tuple[Solution, Array]:
        """The solution from u0, and the targets at its times `(T, m)`, which jumps of the inputs change.

        See `pnde.engines.jax.solve.solve`. A batch with common steps can have neither jumps nor stop at kinks.
        """
        parameters, drive, c = args
        kinks = drive.kinks if stop_at_kinks else None
        if drive.jumps is None or not meets_jumps(self.law):
            solution = solve(
                self.field,
                u0,
                times,
                args,
                settings,
                self.retraction,
                self.domain,
                stop_at_times,
                spread,
                jumps=drive.jumps,
                kinks=kinks,
                across=across,
            )
            return solution, jnp.broadcast_to(c, (*times.shape, *c.shape))
        # The targets are part of the state then: they keep their values between the jumps.
        assert self.law is not None
        law, n, m = self.law, u0.shape[0], c.shape[0]

        def field(t, x, args):
            velocity = self.field(t, x[:n], (*args, x[n:]))
            return jnp.concatenate([velocity, jnp.zeros(m, x.dtype)])

        def retraction(t, x, args):
            return jnp.concatenate([self._retract(t, x[:n], (*args, x[n:])), x[n:]])

        def jumped(t, x, args):
            at = instant(args[1], t)
            return jnp.concatenate(jump(law, self.metric, self.method, x[:n], at, x[n:]))

        domain = self.domain
        solution = solve(
            field,
            jnp.concatenate([u0, c]),
            times,
            (parameters, drive),
            settings,
            retraction if self.retracts else None,
            None if domain is None else lambda x: domain(x[:n]),
            stop_at_times,
            spread,
            jumps=drive.jumps,
            kinks=kinks,
            jump=jumped,
            carried=m,
        )
        return solution._replace(u=solution.u[:, :n]), solution.u[:, n:]
