"""Compiled programs that belong to what they were made of, and go with it.

`jax.jit` keeps what it compiled for as long as the process lives, for each model anew: a static argument is known by
its identity. Here two models of equal content have one set of programs, which go when the last of the two goes.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import weakref
from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any

import jax
import numpy as np
from pydantic import BaseModel

from pnde.laws import Constraint
from pnde.models import Model

# So many laws and right-hand sides that belong to no model keep their programs: those of the last ones used.
_RECENT = 8
# So many models that are in use at once keep theirs; the others compile again. The programs of a training hold a
# thousand memory maps, of which Linux allows a process 65530.
_MODELS = 32


def of_model(
    static_argnums: tuple[int, ...] = (), donate_argnums: tuple[int, ...] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`jax.jit` for a function whose first argument is a `Model`.

    **Arguments:**

    - `static_argnums`, `donate_argnums`: those of `jax.jit`, counted from the first argument after the model.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(model: Model, *arguments: Any) -> Any:
            programs = _programs(model)
            if function not in programs.compiled:
                programs.compiled[function] = jax.jit(
                    functools.partial(function, programs.model),
                    static_argnums=static_argnums,
                    donate_argnums=donate_argnums,
                )
            return programs.compiled[function](*arguments)

        return call

    return decorate


def of_recent(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` for a function whose first argument is a tuple of laws, metrics, settings or right-hand sides.

    They belong to no model; those of the last few calls keep their programs.
    """

    @functools.lru_cache(maxsize=_RECENT)
    def compiled(made_of: _Content) -> Callable[..., Any]:
        return jax.jit(functools.partial(function, made_of.thing))

    @functools.wraps(function)
    def call(made_of: tuple[Any, ...], *arguments: Any) -> Any:
        return compiled(_Content(made_of))(*arguments)

    return call


class _Programs:
    """What models of equal content share.

    It has a model of its own: if it held one of the users', that one would never go.
    """

    def __init__(self, model: Model):
        self.model = dataclasses.replace(model)
        self.compiled: dict[Callable[..., Any], Callable[..., Any]] = {}


_by_content: weakref.WeakValueDictionary[_Content, _Programs] = weakref.WeakValueDictionary()
_by_model: weakref.WeakKeyDictionary[Model, _Programs] = weakref.WeakKeyDictionary()


def _programs(model: Model) -> _Programs:
    found = _by_model.get(model)
    if found is None:
        new = _Programs(model)
        found = _by_content.setdefault(_Content(new.model), new)
        _by_model[model] = found
        if found is new:
            in_use = list(_by_content.values())  # in the order in which they were made
            for programs in in_use[:-_MODELS]:
                programs.compiled.clear()
    return found


class _Content:
    """Anything, as a key of a dictionary that is equal to another if the two are made of the same."""

    def __init__(self, thing: Any):
        self.thing = thing
        self._key = _key(thing, ())

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._key == other._key


class _Same:
    """An object that is equal to itself alone."""

    def __init__(self, thing: Any):
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing


def _key(thing: Any, around: tuple[Any, ...]) -> Hashable:
    """Values by what they hold, objects of this package by their attributes, functions and all others by identity.

    `around` are the objects that this one was found in: a law may hold methods of its own.
    """
    for depth, outer in enumerate(around):
        if outer is thing:
            return ("around", depth)
    inside = (*around, thing)
    if thing is None or isinstance(thing, bool | int | str | bytes):
        return (type(thing), thing)
    if isinstance(thing, float):
        return (float, thing.hex())  # NaN is not equal to itself
    if isinstance(thing, np.ndarray | np.generic | jax.Array) and not isinstance(
        thing, jax.core.Tracer
    ):
        array = np.asarray(thing)
        if array.dtype != object:
            digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()
            return (np.ndarray, array.dtype.str, array.shape, digest)
    if isinstance(thing, BaseModel):
        return (type(thing), thing)
    if isinstance(thing, tuple | list):
        return (type(thing), *(_key(entry, inside) for entry in thing))
    if isinstance(thing, frozenset):
        return (frozenset, frozenset(_key(entry, inside) for entry in thing))
    if isinstance(thing, dict):
        return (dict, *((_key(k, inside), _key(v, inside)) for k, v in thing.items()))
    if isinstance(thing, MethodType):
        return (MethodType, thing.__func__, _key(thing.__self__, inside))
    if isinstance(thing, functools.partial):
        return (functools.partial, _key((thing.func, thing.args, thing.keywords), inside))
    kind = type(thing)
    if dataclasses.is_dataclass(kind):
        fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(kind)}
        return (kind, _key(fields, inside))
    if isinstance(thing, Constraint) or kind.__module__.startswith("pnde."):
        return (kind, _key(vars(thing), inside))
    return _Same(thing)
