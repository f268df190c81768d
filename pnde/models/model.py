"""A model as both engines understand it: what it is made of, without its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pnde.config import Config
from pnde.laws import Bounds, Constraint
from pnde.models.kind import ModelKind
from pnde.models.mechanics import Mechanics


@dataclass(frozen=True, eq=False)
class Model:
    """The vector field u̇ = f(u, w, p) of an NDE, SNDE or PNDE (paper, Sec. II), up to the network's weights.

    - `states`: names, `(n,)`.
    - `config`: method, γ, network, projection, solvers.
    - `mean`, `std`: what the network's inputs are normalised by, `(n,)`, physical units (paper, Appendix F.3).
    - `constraint`: the law, bound to `states`; `None` for a model without one. `bounds`: its inequalities, likewise.
    - `speed`: what the network's outputs are multiplied by, one for each, `(outputs,)`, physical units; of a
        skew-gradient form d `(n,)`, with A_ij = a_ij d_i d_j of the outputs a. `None` for outputs that are physical
        themselves (the paper's).
    - `order`: 2 if u = (q, q̇) and the network gives accelerations, else 1.
    - `features`: `"state"`, the normalised state; or `"angles"`, for u = (θ, ω): sin θ, cos θ and normalised ω.
    - `metric`: M of the inner product vᵀMw: `None`, weights `(n,)`, a matrix `(n, n)`, or a function of u giving
        either (paper, Appendix A).
    - `physics`: known part of the velocity, a function of u, and of any of t, w and p by these names, added to the
        network's; `Mechanics` for a model of the mechanical form.
    - `inputs`, `parameters`: names of the inputs w `(k,)` and parameters p `(r,)`, which the network sees too.
    - `condition_mean`, `condition_std`: what these are normalised by, `(k + r,)`, physical units.
    """

    states: tuple[str, ...]
    config: Config
    mean: np.ndarray
    std: np.ndarray
    speed: np.ndarray | None = None
    constraint: Constraint | None = None
    order: Literal[1, 2] = 1
    features: Literal["state", "angles"] = "state"
    metric: Any = None
    physics: Callable[..., Any] | Mechanics | None = None
    inputs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    condition_mean: np.ndarray | None = None
    condition_std: np.ndarray | None = None
    bounds: Bounds | None = None

    @property
    def mechanical(self) -> bool:
        """Whether the network gives a potential, from positions and parameters alone."""
        return self.config.network.form == "mechanical"

    @property
    def outputs(self) -> int:
        """How many velocities, or accelerations, are learned."""
        return len(self.states) // 2 if self.order == 2 else len(self.states)

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Units from input to output: (inputs, width, ..., width, outputs)."""
        n = len(self.states)
        inputs = n // 2 if self.mechanical else n
        inputs += n // 2 if self.features == "angles" else 0
        inputs += len(self.parameters) + (0 if self.mechanical else len(self.inputs))
        outputs = {"mlp": self.outputs, "skew-gradient": n * (n - 1) // 2, "mechanical": 1}
        return self.sizes(inputs, outputs[self.config.network.form])

    def sizes(self, inputs: int, outputs: int) -> tuple[int, ...]:
        """Units from input to output of a network with the hidden layers of the configuration."""
        network = self.config.network
        return (inputs, *(network.width,) * network.layers, outputs)

    @property
    def kind(self) -> ModelKind:
        """Method, γ, coordinates and form."""
        config = self.config
        return ModelKind(
            config.method,
            config.gamma if config.method == "snde" else None,
            "angular" if self.features == "angles" else "given",
            config.network.form,
        )
