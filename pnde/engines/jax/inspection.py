"""Functions of the user's, tried on one state before they are used: what is wrong with them is said in one sentence.

JAX takes an index outside of an array for the nearest one inside, and the rest of a slice for nothing. So a law that is
written for seven states would give numbers on three.
"""

from __future__ import annotations

import inspect
import re
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from pnde.errors import ConfigError, ConstraintError, PndeError
from pnde.laws import Constraint, Instant
from pnde.laws.signature import Arguments, Role, arguments_of
from pnde.models import Mechanics, Model

# What NumPy and JAX call an index outside of an array.
_OUTSIDE = re.compile(r"index (-?\d+) is out of bounds for axis \d+ with size (\d+)")

_inspected: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()


def inspect_law(constraint: Constraint, u: np.ndarray, at: Instant) -> None:
    """Try the user's functions in a law on the first of the states `(B, n)` and instants; once for each law.

    **Raises:** `pnde.errors.ConstraintError` naming the law, and what is wrong with it.
    """
    sizes = tuple(None if part is None else part.shape[1:] for part in (u, at.w, at.p))
    if sizes in _inspected.setdefault(constraint, set()):
        return
    state, first = jax.tree.map(lambda x: x[0] if len(x) else np.ones(x.shape[1:]), (u, at))
    for what, function, arguments in constraint.own_functions():
        outcome = inspect_function(what, function, arguments, state, first)
        if what.startswith("the domain") and outcome.shape != ():
            raise ConstraintError(
                f"{what} returns an array of shape {outcome.shape}; it has to return one truth value"
            )
    # Joined laws learn here how many rows each of them has; a compiled program does not tell.
    jax.eval_shape(constraint.value, *jax.tree.map(jnp.asarray, (state, first)))
    _inspected[constraint].add(sizes)


def inspect_model(model: Model) -> None:
    """Try the physics and the metric of a model on the mean state; once for each model.

    **Raises:** `pnde.errors.ConfigError` naming what returns which shape instead of which;
    `pnde.errors.ConstraintError` if it cannot be evaluated at all.
    """
    if model in _inspected:
        return
    n = len(model.states)
    vector, matrix = (n,), (n, n)
    _inspect_part("metric", model.metric, model, [vector, matrix], frozenset())
    if isinstance(model.physics, Mechanics):
        _inspect_mechanics(model.physics, model)
    else:
        _inspect_part("physics", model.physics, model, [vector], frozenset({"t", "w", "p"}))
    if model.mechanical and model.config.method == "pnde":
        _inspect_rates(model)
    _inspected[model] = set()


def _inspect_mechanics(known: Mechanics, model: Model) -> None:
    half = model.outputs
    vector, matrix = (half,), (half, half)
    of_trajectory: frozenset[Role] = frozenset({"p"})
    q = model.mean[:half]
    _inspect_part("masses", known.masses, model, [vector, matrix], of_trajectory, q)
    _inspect_part("potential", known.potential, model, [()], of_trajectory, q)
    _inspect_part("dissipation", known.dissipation, model, [vector, matrix], of_trajectory, q)
    _inspect_part("forces", known.forces, model, [vector], frozenset({"t", "w", "p"}))


def _inspect_rates(model: Model) -> None:
    """Whether the rows that hold accelerations tell about velocities.

    **Raises:** `pnde.errors.ConstraintError` naming the first that does not.
    """
    law, half = model.constraint, model.outputs
    assert law is not None
    at = jax.tree.map(jnp.asarray, _usual_instant(model))
    away = np.random.default_rng(0).normal(size=(3, 2 * half)) * model.std + model.mean

    def slopes(u):
        return jax.jacfwd(lambda v: law.value(jnp.concatenate([u[:half], v]), at))(u[half:])

    found = np.abs(jax.vmap(slopes)(jnp.asarray(away))).max(axis=(0, 2))
    rows = law.velocity_rows(len(found))
    still = rows[found[rows] == 0]
    if still.size:
        raise ConstraintError(
            f"the row {law.row_names(len(found))[still[0]]!r} of the law {law.label!r} is one of positions "
            'alone, which holds no acceleration: with network.form = "mechanical" state it as pnde.Holonomic'
        )


def _inspect_part(
    kind: str,
    function: Any,
    model: Model,
    shapes: list[tuple[int, ...]],
    allowed: frozenset[Role],
    x: np.ndarray | None = None,
) -> None:
    """Try a function of the state on the mean, or one of anything else on `x`."""
    if not callable(function):
        return
    x = model.mean if x is None else x
    what = f"the {kind} {getattr(function, '__name__', type(function).__name__)!r}"
    arguments = arguments_of(function, what, allowed)
    outcome = inspect_function(what, function, arguments, x, _usual_instant(model))
    if outcome.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ConfigError(
            f"{what} returns an array of shape {outcome.shape} instead of {wanted} for the {len(x)} "
            + ("states" if len(x) == len(model.mean) else "positions")
        )
    if outcome.dtype.kind not in "iuf":
        raise ConfigError(f"{what} returns {outcome.dtype} instead of real numbers")


def _usual_instant(model: Model) -> Instant:
    """The time 0 with the mean inputs and parameters of a model."""
    w = p = None
    if model.condition_mean is not None:
        inputs = len(model.inputs)
        w = model.condition_mean[:inputs] if inputs else None
        p = model.condition_mean[inputs:] if model.parameters else None
    still = None if w is None else np.zeros_like(w)
    return Instant(np.asarray(0.0), w, still, still, p)


def inspect_function(
    what: str, function: Callable[..., Any], arguments: Arguments, u: np.ndarray, at: Instant
) -> jax.ShapeDtypeStruct:
    """The shape and type of what a function of a state `(n,)` at an instant returns; a sequence counts as an array.

    **Raises:** `pnde.errors.ConstraintError` if it fails, returns no numbers, cannot be differentiated, or asks for
    entries of an array that it does not have.
    """

    def evaluate(u: Any, at: Instant) -> Any:
        outcome = arguments.call(function, u, at)
        if outcome is None or isinstance(outcome, str | bytes | dict | set):
            kind = "None (is a return missing?)" if outcome is None else type(outcome).__name__
            raise ConstraintError(f"{what} returns {kind} instead of numbers")
        if isinstance(outcome, tuple | list):
            return jnp.stack([jnp.asarray(entry) for entry in outcome]) if outcome else jnp.zeros(0)
        return jnp.asarray(outcome)

    with explained(what, function, len(u)):
        outcome = jax.eval_shape(evaluate, *jax.tree.map(jnp.asarray, (u, at)))
    found = _index_of_numpy(partial(arguments.call, function), u, at)
    found = found or _index_of_jax(evaluate, u, at)
    if found is not None:
        raise ConstraintError(f"{what} asks for {found}{_where(None, function)}")
    return outcome


@contextmanager
def explained(what: str, function: Any, n: int) -> Iterator[None]:
    """Whatever a function of the user's raises on a state of n numbers, as one sentence.

    **Raises:** `pnde.errors.ConstraintError`.
    """
    try:
        yield
    except PndeError:
        raise
    except jax.errors.TracerArrayConversionError as error:
        raise ConstraintError(
            f"{what} calls a NumPy function, which cannot be differentiated; write it with jax.numpy (import jax.numpy "
            f"as np), or with arithmetic only{_where(error, function)}"
        ) from None
    except jax.errors.ConcretizationTypeError as error:
        raise ConstraintError(
            f"{what} branches on the state (if, while, float, math); use jax.numpy.where instead"
            f"{_where(error, function)}"
        ) from None
    except Exception as error:
        if re.search("item assignment", str(error)):
            raise ConstraintError(
                f"{what} changes the state in place, which cannot be differentiated; make a new array, such as "
                f"u.at[0].set(1.0){_where(error, function)}"
            ) from None
        said = (str(error).strip().splitlines() or [""])[0][:100]
        raise ConstraintError(
            f"{what} fails on a state of {n} numbers{_where(error, function)}: {type(error).__name__}: {said}"
        ) from None


class _Watched(np.ndarray):
    """A state that notes the first slice beyond its end, of which NumPy gives the rest without a word."""

    beyond: list[tuple[str, int]]

    def __array_finalize__(self, other: Any) -> None:
        self.beyond = getattr(other, "beyond", [])

    def __getitem__(self, key: Any) -> Any:
        axes = key if isinstance(key, tuple) else (key,)
        for axis, part in enumerate(axes):
            if part is None or part is Ellipsis or axis >= self.ndim:
                break
            if isinstance(part, slice) and _is_beyond(part, self.shape[axis]):
                first, last = ("" if end is None else end for end in (part.start, part.stop))
                self.beyond.append((f"entries {first}:{last}", self.shape[axis]))
        return super().__getitem__(key)


def _is_beyond(part: slice, size: int) -> bool:
    ends = [end for end in (part.start, part.stop) if isinstance(end, int | np.integer)]
    return any(not -size <= end <= size for end in ends)


def _index_of_numpy(function: Callable[..., Any], u: np.ndarray, at: Instant) -> str | None:
    """The first index outside, found on a NumPy array, which has names for them as the user wrote them."""
    watched = np.array(u, dtype=float).view(_Watched)
    watched.beyond = []
    conditions = at._replace(
        w=None if at.w is None else np.array(at.w, dtype=float).view(_Watched),
        p=None if at.p is None else np.array(at.p, dtype=float).view(_Watched),
    )
    for part in (conditions.w, conditions.p):
        if part is not None:
            part.beyond = watched.beyond
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(watched, conditions)
    except IndexError as error:
        outside = _OUTSIDE.search(str(error))
        if outside is not None:
            return f"index {outside[1]} of {_size(int(outside[2]), len(u))}"
    except Exception:
        pass  # it uses what only JAX's arrays have
    if not watched.beyond:
        return None
    entries, size = watched.beyond[0]
    return f"{entries} of {_size(size, len(u))}"


def _index_of_jax(function: Callable[..., Any], u: np.ndarray, at: Instant) -> str | None:
    """The first index outside, on JAX's arrays."""
    try:
        checked = checkify.checkify(function, errors=checkify.index_checks)
        error, _ = checked(*jax.tree.map(jnp.asarray, (u, at)))
    except Exception:
        return (
            None  # it has operations that checkify does not know; they are no look-ups of its kind
        )
    outside = _OUTSIDE.search(error.get() or "")
    if outside is None:
        return None
    # JAX has counted negative ones from the end already, once.
    index, size = int(outside[1]), int(outside[2])
    return f"index {index - size if index < 0 else index} of {_size(size, len(u))}"


def _size(size: int, n: int) -> str:
    return f"{n} states (0 to {n - 1})" if size == n else f"an array of {size}"


def _where(error: Exception | None, function: Any) -> str:
    """The line of the user's file."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
        line = inspect.getsourcelines(inspect.unwrap(function))[1]
    except (TypeError, OSError):
        return ""
    if error is not None:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        if frames and frames[-1].lineno is not None:
            line = frames[-1].lineno
    return "" if file is None else f" (line {line} of {Path(file).name})"
