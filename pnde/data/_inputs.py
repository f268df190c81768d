"""Inputs as functions of time: what a trajectory was driven by between its samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy  # of which only what is used is loaded: scipy.interpolate takes a quarter of a second
import xarray as xr

from ._exogenous import Exogenous, Interpolation
from ._layout import padded, time_matrix


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of B trajectories as piecewise polynomials of time.

    From a knot on to the next one, w(t) = Σ_d a_d (t − knot)ᵈ, so at a jump w has its value after it. Before the first
    knot its piece goes on backwards.

    **Attributes:**

    - `knots`: ``(B, K)``, increasing, infinite behind the last of a trajectory.
    - `coefficients`: ``(B, K, 4, k)``, of the powers 0 to 3.
    - `jumps`: the times at which w is not continuous, ``(B, J)``, infinite behind the last.
    - `kinks`: those at which it is, but not its derivative, ``(B, Q)``, infinite behind the last.
    """

    knots: np.ndarray
    coefficients: np.ndarray
    jumps: np.ndarray
    kinks: np.ndarray

    @classmethod
    def through(
        cls,
        w: np.ndarray,
        times: np.ndarray,
        interpolation: Sequence[Interpolation],
        jumps: np.ndarray | None = None,
    ) -> Inputs:
        """Through samples ``(B, T, k)`` at times ``(B, T)``, NaN behind the end of a shorter trajectory.

        Linear and cubic inputs are so between declared jumps; in the interval of a jump that is no sample, the samples
        on its two sides hold up to it. A cubic input is a spline with continuous second derivatives. A held one keeps
        each sample's value until the next, and jumps wherever that is another.

        **Arguments:**

        - `interpolation`: of each of the k inputs.
        - `jumps`: declared jumps ``(B, J)``, NaN behind the last.
        """
        pieces = [
            _pieces(w[row], times[row], interpolation, () if jumps is None else jumps[row])
            for row in range(len(w))
        ]
        knots, coefficients, breaks, kinks = zip(*pieces, strict=True)
        return cls(
            _infinite(padded(knots)),
            np.nan_to_num(padded(coefficients)),
            _infinite(padded(breaks)),
            _infinite(padded(kinks)),
        )

    def __len__(self) -> int:
        return len(self.knots)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`knots`, `coefficients`, `jumps` and `kinks`."""
        return self.knots, self.coefficients, self.jumps, self.kinks

    def of(self, rows: np.ndarray) -> Inputs:
        """Those of the trajectories at the positions ``rows``."""
        return Inputs(*(part[rows] for part in self.arrays))

    def since(self, start: np.ndarray) -> Inputs:
        """The same on clocks that begin at ``start`` ``(B,)``."""
        times = {name: getattr(self, name) for name in ("knots", "jumps", "kinks")}
        return replace(self, **{name: t - start[:, None] for name, t in times.items()})

    def meeting(self, times: np.ndarray, tolerance: float) -> Inputs:
        """The same with knots and jumps that miss one of the times ``(B, T)`` by at most `tolerance` moved onto it."""

        def met(own: np.ndarray) -> np.ndarray:
            if not own.size:
                return own
            away = np.abs(own[..., None] - times[:, None])
            nearest = np.take_along_axis(times, away.argmin(axis=-1), axis=1)
            return np.where(away.min(axis=-1) <= tolerance, nearest, own)

        return Inputs(met(self.knots), self.coefficients, met(self.jumps), met(self.kinks))

    def between(self, start: np.ndarray, end: np.ndarray) -> Inputs:
        """What is needed of them from ``start`` to ``end``, ``(B,)`` each; a jump at the start is over."""
        first = np.maximum((self.knots <= start[:, None]).sum(axis=1) - 1, 0)
        last = np.maximum((self.knots <= end[:, None]).sum(axis=1), first + 1)
        at = first[:, None] + np.arange((last - first).max())
        inside = at < last[:, None]
        at = np.minimum(at, self.knots.shape[1] - 1)
        rows = np.arange(len(self))[:, None]
        knots = np.where(inside, self.knots[rows, at], np.inf)
        breaks = (_within(times, start, end) for times in (self.jumps, self.kinks))
        return Inputs(knots, self.coefficients[rows, at], *breaks)

    def at(self, t: np.ndarray, derivative: int = 0) -> np.ndarray:
        """w, ẇ or ẅ ``(B, ..., k)`` at times ``(B, ...)``."""
        flat = t.reshape(len(t), -1)
        piece = np.maximum((self.knots[:, None] <= flat[..., None]).sum(axis=-1) - 1, 0)
        rows = np.arange(len(t))[:, None]
        s = (flat - self.knots[rows, piece])[..., None]
        a = np.moveaxis(self.coefficients[rows, piece], -2, 0)
        for _ in range(derivative):
            a = np.stack([d * a[d] for d in range(1, len(a))])
        value = np.zeros_like(a[0])
        for power in a[::-1]:
            value = value * s + power
        return value.reshape(*t.shape, -1)


def inputs_of(ds: xr.Dataset) -> Inputs | None:
    """The inputs of a data set in the standard layout; `None` if it has none."""
    own = Exogenous.of(ds)
    if not own.inputs:
        return None
    return Inputs.through(own.w, own.ended(time_matrix(ds)), own.interpolation, own.jumps)


def _within(times: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Those of the times `(B, J)` that come after `start` and not after `end`, in as few columns as that takes."""
    ahead = (times > start[:, None]) & (times <= end[:, None])
    return np.sort(np.where(ahead, times, np.inf))[:, : ahead.sum(axis=1).max(initial=0)]


def _pieces(
    w: np.ndarray, times: np.ndarray, interpolation: Sequence[Interpolation], jumps: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Knots ``(K,)``, coefficients ``(K, 4, k)``, jumps ``(J,)`` and kinks ``(Q,)`` of one trajectory."""
    known = np.isfinite(times)
    w, times = w[known], times[known]
    declared = np.asarray(jumps, float)
    declared = declared[np.isfinite(declared)]
    knots = np.union1d(times, declared)
    # The sample that each knot's piece starts from: its own, or at a jump between samples the one after it.
    sample = np.minimum(np.searchsorted(times, knots), len(times) - 1)
    coefficients = np.zeros((len(knots), 4, w.shape[1]))
    coefficients[:, 0] = w[sample]
    edges = np.concatenate([[0], np.searchsorted(times, declared), [len(times)]])
    for first, end in pairwise(edges):
        if end - first < 2:
            continue
        at = np.searchsorted(knots, times[first : end - 1])
        for i, kind in enumerate(interpolation):
            values = w[first:end, i]
            if kind == "cubic":
                spline = scipy.interpolate.CubicSpline(
                    times[first:end], values, bc_type="not-a-knot"
                ).c
                coefficients[at, : len(spline), i] = spline[::-1].T
            elif kind == "linear":
                coefficients[at, 1, i] = np.diff(values) / np.diff(times[first:end])
    held = np.array([kind == "held" for kind in interpolation])
    changes = times[1:][(np.diff(w[:, held], axis=0) != 0).any(axis=1)]
    jumping = np.union1d(declared, changes)
    length = np.diff(knots)[:, None]
    _, b, c, d = np.moveaxis(coefficients[:-1], 1, 0)
    bend = np.abs(coefficients[1:, 1] - (3 * d * length + 2 * c) * length - b)
    kinked = (bend > 1e-9 * np.abs(coefficients[:, 1]).max(axis=0, initial=0)).any(axis=1)
    return knots, coefficients, jumping, np.setdiff1d(knots[1:][kinked], jumping)


def _infinite(array: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(array), array, np.inf)
