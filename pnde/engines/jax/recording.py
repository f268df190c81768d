"""Evaluations of a function whose derivatives wait, as arrays, until a loop comes back to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from jaxtyping import Array

Pullback = Callable[[Array], tuple[Array, Any]]
"""What a function's value, changed by a cotangent, asks of its u and args; a tree of arrays."""


class Pullbacks(eqx.Module):
    """Those of several evaluations of one function.

    `rows` are the leaves that differ between evaluations, `(count, …)` each; `shared` are the others, such as the
    weights of a network, or are numbers.
    """

    rows: list[Array]
    shared: list[Any]
    places: tuple[int, ...] = eqx.field(static=True)  # which of `rows` and `shared` a leaf is
    tree: Any = eqx.field(static=True)

    def put(self, row: Any, pullback: Pullback) -> Pullbacks:
        """With one in a row."""
        leaves = jax.tree.leaves(pullback)
        rows = [
            jax.lax.dynamic_update_index_in_dim(x, leaves[self.places.index(i)], row, 0)
            for i, x in enumerate(self.rows)
        ]
        return Pullbacks(rows, self.shared, self.places, self.tree)

    def at(self, row: Any) -> Pullback:
        """That in a row."""
        rows = [jax.lax.dynamic_index_in_dim(x, row, 0, keepdims=False) for x in self.rows]
        leaves = (*rows, *self.shared)
        return jax.tree.unflatten(self.tree, [leaves[place] for place in self.places])


class Recorder:
    """A function of (t, u, args), to be differentiated by u and args.

    It is traced once, at a first t, u and args, however often it is called.
    """

    def __init__(self, function: Callable[[Any, Array, Any], Array], t: Any, u: Array, args: Any):
        traced, (_, pullback) = jax.make_jaxpr(
            lambda t, u, args: jax.vjp(partial(function, t), u, args), return_shape=True
        )(t, u, args)
        self._run, self._tree = jaxpr_as_fun(traced), jax.tree.structure(pullback)
        # Each leaf is a variable of the program; several may be one.
        leaves = traced.jaxpr.outvars[1:]
        changing = _depending(traced, 2)
        rows = {id(v): v for v in leaves if id(v) in changing}
        shared = {id(v): v for v in leaves if id(v) not in changing}
        places = {name: i for i, name in enumerate((*rows, *shared))}
        self._places, self._rows = tuple(places[id(v)] for v in leaves), len(rows)

    def __call__(self, t: Any, u: Array, args: Any) -> tuple[Array, Pullback]:
        """The value and its pullback."""
        value, *leaves = self._run(t, u, *jax.tree.leaves(args))
        return value, jax.tree.unflatten(self._tree, leaves)

    def pullbacks(self, count: int, first: Pullback) -> Pullbacks:
        """Room for so many, of evaluations with the args of this one."""
        leaves = jax.tree.leaves(first)
        each = [leaves[self._places.index(i)] for i in range(len(set(self._places)))]
        rows = [jnp.zeros((count, *x.shape), x.dtype) for x in each[: self._rows]]
        return Pullbacks(rows, each[self._rows :], self._places, self._tree)


def _depending(traced: ClosedJaxpr, first: int) -> set[int]:
    """The variables, by identity, that follow from the first so many arguments."""
    found = {id(v) for v in traced.jaxpr.invars[:first]}
    for equation in traced.jaxpr.eqns:
        if any(id(v) in found for v in equation.invars if not isinstance(v, Literal)):
            found.update(id(v) for v in equation.outvars)
    return found
