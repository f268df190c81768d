"""Evaluations of a function whose derivatives wait, as arrays, until a loop comes back to them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from jaxtyping import Array

Pullback = Callable[[Array], tuple[Array, Any]]
"""What a function's value, changed by a cotangent, asks of its u and args; a tree of arrays."""


class _Place(NamedTuple):
    """Where the values of a leaf are: from `offset` on in the room, one evaluation's after another's."""

    offset: int
    shape: tuple[int, ...]

    def start(self, row: Any) -> Any:
        return self.offset + row * math.prod(self.shape)


class Pullbacks(eqx.Module):
    """Those of several evaluations of one function.

    `room` is one array, with the leaves that differ between evaluations one after another: it need not be cleared, so
    that the same one can serve solve after solve. Leaves of another type, such as choices, are `rows` `(count, …)`.
    `shared` are the leaves that do not differ, such as the weights of a network, or are numbers.
    """

    room: Array
    rows: list[Array]
    shared: list[Any]
    in_room: tuple[_Place, ...] = eqx.field(static=True)
    # Which of those in room, of `rows` and of `shared` a leaf is.
    places: tuple[int, ...] = eqx.field(static=True)
    tree: Any = eqx.field(static=True)

    def put(self, row: Any, pullback: Pullback) -> Pullbacks:
        """With one in a row."""
        leaves = jax.tree.leaves(pullback)
        each = [leaves[self.places.index(i)] for i in range(len(self.in_room) + len(self.rows))]
        room = self.room
        for leaf, place in zip(each, self.in_room, strict=False):
            room = jax.lax.dynamic_update_slice(room, leaf.ravel(), (place.start(row),))
        rows = [
            jax.lax.dynamic_update_index_in_dim(x, leaf, row, 0)
            for x, leaf in zip(self.rows, each[len(self.in_room) :], strict=True)
        ]
        return Pullbacks(room, rows, self.shared, self.in_room, self.places, self.tree)

    def at(self, row: Any) -> Pullback:
        """That in a row."""
        in_room = [
            jax.lax.dynamic_slice(self.room, (place.start(row),), (math.prod(place.shape),))
            for place in self.in_room
        ]
        leaves = (
            *(x.reshape(place.shape) for x, place in zip(in_room, self.in_room, strict=True)),
            *(jax.lax.dynamic_index_in_dim(x, row, 0, keepdims=False) for x in self.rows),
            *self.shared,
        )
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
        kinds: tuple[dict[int, Any], ...] = ({}, {}, {})
        for v in leaves:
            kind = 2 if id(v) not in changing else int(v.aval.dtype != u.dtype)
            kinds[kind][id(v)] = v
        places = {name: i for i, name in enumerate(itertools.chain(*kinds))}
        self._places, self._dtype = tuple(places[id(v)] for v in leaves), u.dtype
        self._in_room, self._rows, _ = ([v.aval for v in kind.values()] for kind in kinds)

    def __call__(self, t: Any, u: Array, args: Any) -> tuple[Array, Pullback]:
        """The value and its pullback."""
        value, *leaves = self._run(t, u, *jax.tree.leaves(args))
        return value, jax.tree.unflatten(self._tree, leaves)

    @property
    def size(self) -> int:
        """How many numbers of a room one evaluation takes."""
        return sum(x.size for x in self._in_room)

    def pullbacks(self, count: int, first: Pullback, room: Array | None = None) -> Pullbacks:
        """Place for so many, of evaluations with the args of this one; in a room of `count * size` numbers or more."""
        if room is None:
            room = jnp.empty(count * self.size, self._dtype)
        sizes = [count * x.size for x in self._in_room]
        offsets = itertools.accumulate(sizes, initial=0)
        in_room = tuple(
            _Place(offset, x.shape) for offset, x in zip(offsets, self._in_room, strict=False)
        )
        leaves = jax.tree.leaves(first)
        held = len(self._in_room) + len(self._rows)
        shared = [leaves[self._places.index(i)] for i in range(held, len(set(self._places)))]
        rows = [jnp.empty((count, *x.shape), x.dtype) for x in self._rows]
        return Pullbacks(room, rows, shared, in_room, self._places, self._tree)


def _depending(traced: ClosedJaxpr, first: int) -> set[int]:
    """The variables, by identity, that follow from the first so many arguments."""
    found = {id(v) for v in traced.jaxpr.invars[:first]}
    for equation in traced.jaxpr.eqns:
        if any(id(v) in found for v in equation.invars if not isinstance(v, Literal)):
            found.update(id(v) for v in equation.outvars)
    return found
