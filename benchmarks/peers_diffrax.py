"""The projected neural ODE as one writes it with diffrax, equinox and optax alone."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from problems import Problem


class Field(eqx.Module):
    """u̇ = v - Gᵀ(G Gᵀ)⁻¹ G v for one state, by a linear solve that JAX differentiates."""

    layers: list[eqx.nn.Linear]
    skip: bool = eqx.field(static=True)
    order: int = eqx.field(static=True)
    mean: np.ndarray
    std: np.ndarray
    speed: np.ndarray
    law: Any = eqx.field(static=True)

    def __init__(self, problem: Problem):
        model, dtype = problem.model, problem.model.config.solver.precision
        self.layers = []
        for i in range(len(problem.weights) // 2):
            weight, bias = (problem.weights[f"layers.{i}.{kind}"] for kind in ("weight", "bias"))
            layer = eqx.nn.Linear(*weight.shape, key=jax.random.key(0))
            values = jnp.asarray(weight.T, dtype), jnp.asarray(bias, dtype)
            self.layers.append(eqx.tree_at(lambda x: (x.weight, x.bias), layer, values))
        self.skip, self.order = model.config.network.skip, model.order
        self.mean, self.std = model.mean.astype(dtype), model.std.astype(dtype)
        self.speed = model.speed.astype(dtype)
        self.law = model.constraint

    def __call__(self, t, u, args):
        x = (u - self.mean) / self.std
        for i, layer in enumerate(self.layers[:-1]):
            y = jax.nn.gelu(layer(x))
            x = x + y if self.skip and i > 0 else y
        v = self.layers[-1](x) * self.speed
        if self.order == 2:
            v = jnp.concatenate([u[len(u) // 2 :], v])
        G = self.law.jacobian(u)
        pinned = getattr(self.law.structure, "pinned", ())
        if len(pinned):  # the slack stays where it is, and the loads are projected over the others
            free = np.ones(len(u), u.dtype)
            free[pinned] = 0
            G, v = (G * free)[: -len(pinned)], v * free
        return v - G.T @ jnp.linalg.solve(G @ G.T, G @ v)


class Diffrax:
    """diffrax, each trajectory with steps of its own as in its documentation, or the batch as one system."""

    def __init__(self, problem: Problem, common_steps: bool):
        self._problem, self._common = problem, common_steps
        dtype = problem.model.config.solver.precision
        self._field = Field(problem)
        self._u = jnp.asarray(problem.batch.u, dtype)
        self._times = jnp.asarray(problem.batch.grid, dtype)
        self._scale = jnp.asarray(problem.model.std, dtype)
        optimiser = problem.model.config.optimiser
        self._optimiser = optax.adamw(1e-5, weight_decay=optimiser.weight_decay)
        self._state = self._optimiser.init(eqx.filter(self._field, _trained(self._field)))
        self._rollout = eqx.filter_jit(self._solve)

    def _solve(self, field, u0, times, tolerance):
        def solve(vector_field, u0):
            return diffrax.diffeqsolve(
                diffrax.ODETerm(vector_field),
                diffrax.Dopri5(),
                times[0],
                times[-1],
                None,
                u0,
                saveat=diffrax.SaveAt(ts=times),
                stepsize_controller=diffrax.PIDController(tolerance, tolerance * self._scale),
                max_steps=4096 if len(times) > 8 else 64,
            ).ys

        if self._common:

            def batch(t, u, args):
                return jax.vmap(field, (None, 0, None))(t, u, args)

            return jnp.swapaxes(solve(batch, u0), 0, 1)

        return jax.vmap(lambda u: solve(field, u))(u0)

    def _loss(self, field):
        tolerance = self._problem.model.config.solver.rtol
        predicted = self._solve(field, self._u[:, 0], self._times, tolerance)
        return jnp.mean(((predicted - self._u)[:, 1:] / self._scale) ** 2)

    def loss_and_gradient(self) -> tuple[float, np.ndarray]:
        value, gradient = _value_and_grad(self._loss, self._field)
        parts = [[layer.weight.T.ravel(), layer.bias] for layer in gradient.layers]
        return float(value), np.concatenate([np.asarray(x) for pair in parts for x in pair])

    def train_step(self):
        self._field, self._state, loss = _step(
            self._loss, self._optimiser, self._field, self._state
        )
        return loss

    def rollout(self, times: np.ndarray, tolerance: float) -> np.ndarray:
        times = jnp.asarray(times, self._u.dtype)
        return np.asarray(self._rollout(self._field, self._u[:, 0], times, tolerance))


def _trained(field: Field) -> Any:
    """The layers are trained, the constants are not."""
    frozen = jax.tree.map(lambda _: False, field)
    return eqx.tree_at(lambda f: f.layers, frozen, jax.tree.map(eqx.is_array, field.layers))


@eqx.filter_jit
def _value_and_grad(loss, field):
    trained, constants = eqx.partition(field, _trained(field))
    return jax.value_and_grad(lambda x: loss(eqx.combine(x, constants)))(trained)


@eqx.filter_jit
def _step(loss, optimiser, field, state):
    trained, constants = eqx.partition(field, _trained(field))
    value, gradient = jax.value_and_grad(lambda x: loss(eqx.combine(x, constants)))(trained)
    with jax.numpy_dtype_promotion("standard"):
        updates, state = optimiser.update(gradient, state, trained)
    return eqx.combine(eqx.apply_updates(trained, updates), constants), state, value
