"""Times as numbers: one function for every way in, whatever clock the source has."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde.errors import DataError, listed, shown

#: Two times are one when they agree to this share of the span of all.
TIME_TOLERANCE = 1e-9

# Year first, so that no day is taken for a month; hours and a zone may follow.
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?"
)
_ZONE = re.compile(r"\d[T ].*(Z|[+-]\d{2}:?\d{2})$")
_DURATION = re.compile(r"[+-]?(\d+ days?,? )?[+-]?\d{1,6}:\d{2}:\d{2}(\.\d+)?")
# What other programs write for a moment that is not known.
_MISSING = ("", "nat", "nan", "none", "na", "null")

#: How many seconds the units of time have that have a fixed length; words as in the CF conventions.
_SECONDS = {
    **dict.fromkeys(("day", "days", "d"), 86400.0),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), 3600.0),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), 60.0),
    **dict.fromkeys(("second", "seconds", "s", "sec", "secs"), 1.0),
    **dict.fromkeys(("millisecond", "milliseconds", "ms", "msec"), 1e-3),
    **dict.fromkeys(("microsecond", "microseconds", "us", "µs"), 1e-6),
    **dict.fromkeys(("nanosecond", "nanoseconds", "ns"), 1e-9),
}


@dataclass(frozen=True)
class Times:
    """Times as numbers.

    **Attributes:**

    - `values`: float64, of the shape given; NaN where there is no time.
    - `unit`: ``"s"`` where the source has dates or durations, else the source's own label.
    - `since`: the date that is 0, as ISO 8601 text in UTC; empty where there is none.
    """

    values: np.ndarray
    unit: str
    since: str = ""


def as_times(values: Any, unit: str = "", where: Callable[[int], str] | None = None) -> Times:
    """Times of any kind as numbers.

    Numbers stay what they are, in the unit that they have. Dates become seconds since the first of
    them, durations become seconds: ``datetime64`` and ``timedelta64`` of any resolution, the dates
    and durations of Python, pandas (with a time zone too, counted in UTC) and cftime, texts such as
    ``2020-12-31 23:59:59.5`` and ``00:01:30``, and numbers whose unit is ``hours since 2020-01-01``.

    **Arguments:**

    - `values`: of any shape; all trajectories together, for they share one clock.
    - `unit`: the unit's label, such as ``s``, or that of a NetCDF file, ``… since …``.
    - `where`: what to call the element at a position, in messages.

    **Raises:** `DataError` where the values are neither, or mixed, or complex.
    """
    if not isinstance(unit, str):
        raise DataError(f"the unit of time is text, such as 's', not {shown(unit)}")
    if isinstance(getattr(values, "dtype", None), pd.DatetimeTZDtype):
        values = pd.Series(values).dt.tz_convert(None).to_numpy()
    elif hasattr(values, "dtype") and not isinstance(values.dtype, np.dtype):
        values = pd.Series(values).astype(object).to_numpy()  # nullable numbers, text
    if np.ma.isMaskedArray(values):
        objects: Any = np.array(values.data, object)
        objects[np.ma.getmaskarray(values)] = None
        values = objects
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError("the times are not an array: their rows differ in length") from None
    where = where or (lambda position: f"time {position}")
    flat = array.reshape(-1)
    if array.dtype.kind in "OUST":
        return _shaped(_of_objects(flat.astype(object), unit, where), array.shape)
    if array.dtype.kind == "M":
        return _shaped(_of_dates(flat), array.shape)
    if array.dtype.kind == "m":
        return Times(_durations(array), "s")
    if array.dtype.kind not in "iuf":
        kind = {"c": "complex", "b": "true or false"}.get(array.dtype.kind, str(array.dtype))
        raise DataError(f"the times are {kind}; they must be numbers, dates or durations")
    return _shaped(_of_numbers(flat.astype(np.float64), unit), array.shape)


def times_of_variable(variable: xr.DataArray) -> Times:
    """The times that a variable of xarray holds, decoded or as a NetCDF file has them.

    Numbers of which the attribute ``dtype`` says that they were durations become seconds too.
    """
    attributes = variable.attrs
    unit = str(attributes.get("units", ""))
    times = as_times(variable.values, unit)
    factor = _SECONDS.get(unit.strip().casefold())
    was_duration = str(attributes.get("dtype", "")).startswith("timedelta64")
    if was_duration and factor is not None and variable.dtype.kind in "iuf":
        return Times(times.values * factor, "s")
    since = attributes.get("since", "")
    return Times(times.values, times.unit, times.since or (since if _is_date(since) else ""))


def _is_date(text: Any) -> bool:
    try:
        return isinstance(text, str) and not np.isnat(np.datetime64(text))
    except ValueError:
        return False


def on_one_clock(parts: Sequence[Times]) -> tuple[list[np.ndarray], str, str]:
    """Several times counted from the earliest of their dates: the values, their unit and that date.

    **Raises:** `DataError` where some are dates and some are numbers, or the units differ.
    """
    units = list(dict.fromkeys(part.unit for part in parts))
    dated = [bool(part.since) for part in parts]
    if any(dated) and not all(dated):
        raise DataError("some times are dates and some are numbers; give all of them one clock")
    if len(units) > 1:
        raise DataError(f"the times are in different units: {listed(units)}; give them one")
    if not any(dated):
        return [part.values for part in parts], units[0], ""
    starts = [np.datetime64(part.since) for part in parts]
    first = min(starts)
    shifts = [float((start - first) / np.timedelta64(1, "s")) for start in starts]
    values = [part.values + shift for part, shift in zip(parts, shifts, strict=True)]
    return values, units[0], parts[starts.index(first)].since


def _of_numbers(values: np.ndarray, unit: str) -> Times:
    word, joined, reference = unit.strip().partition(" since ")
    if not joined:
        return Times(values, unit.strip())
    factor = _SECONDS.get(word.strip().casefold())
    if factor is None:
        raise DataError(
            f"the times are counted in {shown(unit.strip())}, and {shown(word)} has no fixed "
            "length in seconds; write days, hours or seconds"
        )
    if not np.isfinite(values).any():
        return Times(values, "s")
    first = float(np.nanmin(values))
    return Times((values - first) * factor, "s", _date_of(reference, first * factor))


def _date_of(reference: str, seconds: float) -> str:
    """The date `seconds` after a reference; empty in calendars other than ours, or far away."""
    try:
        start = pd.to_datetime([reference.strip()], format="ISO8601", utc=True)[0]
        return str((start + pd.to_timedelta(seconds, unit="s")).tz_convert(None).isoformat())
    except (ValueError, OverflowError, pd.errors.OutOfBoundsDatetime):
        return ""


def _of_dates(dates: np.ndarray) -> Times:
    """Dates ``datetime64`` ``(k,)``, of which any may be NaT."""
    if np.datetime_data(dates.dtype)[0] in ("Y", "M", "W", "D", "h", "m", "generic"):
        dates = dates.astype("datetime64[s]")
    if np.isnat(dates).all():
        return Times(np.full(dates.shape, np.nan), "s")
    first = dates[~np.isnat(dates)].min()
    since = str(first)
    return Times(
        _durations(dates - first), "s", since.rstrip("0").rstrip(".") if "." in since else since
    )


def _durations(durations: np.ndarray) -> np.ndarray:
    """``timedelta64`` in seconds; NaN for NaT."""
    if np.datetime_data(durations.dtype)[0] in ("Y", "M"):
        raise DataError("the times are counted in months or years, which have no fixed length")
    with np.errstate(invalid="ignore"):
        seconds = durations / np.timedelta64(1, "s")
    return np.where(np.isnat(durations), np.nan, seconds)


def _of_objects(values: np.ndarray, unit: str, where: Callable[[int], str]) -> Times:
    known = np.array([not _is_missing(value) for value in values], bool)
    if not known.any():
        return Times(np.full(values.shape, np.nan), unit)
    position = int(np.argmax(known))
    found = values[known]
    texts = [isinstance(value, str | bytes) for value in found]
    if all(texts):
        times = _of_texts(found, unit, lambda at: where(int(np.flatnonzero(known)[at])))
    elif isinstance(found[0], datetime.date | np.datetime64):  # datetime and Timestamp are dates
        zones = {getattr(value, "tzinfo", None) is not None for value in found}
        times = _of_dates(_parsed(found, zones))
    elif isinstance(found[0], datetime.timedelta | np.timedelta64):
        times = Times(_durations(pd.to_timedelta(list(found)).to_numpy()), "s")
    elif hasattr(found[0], "calendar"):  # cftime: its differences are durations
        first = min(found)
        seconds = [(value - first).total_seconds() for value in found]
        times = Times(np.array(seconds), "s")
    else:
        try:
            times = _of_numbers(found.astype(np.float64), unit)
        except (TypeError, ValueError):
            raise DataError(
                f"{where(position)} is {shown(values[position])} of type "
                f"{type(values[position]).__name__}; times must be numbers, dates or durations"
            ) from None
    full = np.full(values.shape, np.nan)
    full[known] = times.values
    return Times(full, times.unit, times.since)


def _of_texts(found: np.ndarray, unit: str, where: Callable[[int], str]) -> Times:
    """Texts ``(k,)``, none of them missing: all dates, or all durations, or all numbers."""
    texts = [_plain(text) for text in found]
    for pattern, read in ((_DATE, _of_date_texts), (_DURATION, _of_duration_texts)):
        if pattern.fullmatch(texts[0]):
            for at, text in enumerate(texts):
                if not pattern.fullmatch(text):
                    raise DataError(_unlike(where(at), text, texts[0]))
            return read(texts, where)
    values = np.empty(len(texts))
    for at, text in enumerate(texts):
        try:
            values[at] = float(text.replace("_", "?"))  # Python would skip an underscore
        except ValueError:
            if at:
                raise DataError(_unlike(where(at), text, texts[0])) from None
            raise DataError(
                f"{where(at)}: {shown(text)} is no time; write a number, a date such as "
                "2020-12-31 23:59:59, or a duration such as 00:01:30"
            ) from None
    return _of_numbers(values, unit)


def _of_date_texts(texts: list[str], where: Callable[[int], str]) -> Times:
    return _of_dates(_parsed(texts, {_ZONE.search(text) is not None for text in texts}, where))


def _of_duration_texts(texts: list[str], where: Callable[[int], str]) -> Times:
    try:
        return Times(_durations(pd.to_timedelta(texts).to_numpy()), "s")
    except (ValueError, OverflowError):
        raise DataError(f"{where(0)} and others: the durations cannot be read") from None


def _parsed(
    dates: Any, zones: set[bool], where: Callable[[int], str] = lambda at: f"date {at}"
) -> np.ndarray:
    """Dates or their texts as ``datetime64`` in UTC; `zones`: whether they have a time zone."""
    if len(zones) > 1:
        raise DataError("some dates have a time zone and some have none; give all of them one")
    try:
        parsed = pd.to_datetime(list(dates), format="ISO8601", utc=True)
    except (ValueError, OverflowError, TypeError):
        # Which of them it is, one by one: this is the end of the road anyway.
        for at, date in enumerate(dates):
            try:
                pd.to_datetime([date], format="ISO8601", utc=True)
            except (ValueError, OverflowError, TypeError):
                raise DataError(f"{where(at)}: there is no such date as {shown(date)}") from None
        raise DataError("the dates cannot be read together; write them all in one form") from None
    return parsed.tz_localize(None).to_numpy()


def _plain(text: str | bytes) -> str:
    """A text without what differs between programs: slashes, decimal commas, the word UTC."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    text = text.strip()
    if text.endswith("UTC"):
        text = text[:-3].rstrip() + "Z"
    if re.match(r"\d{4}/", text):
        text = text.replace("/", "-")
    return text.replace(",", ".") if ":" in text and "day" not in text else text


def _unlike(place: str, text: str, first: str) -> str:
    return f"{place}: {shown(text)} is another kind of time than {shown(first)} at the beginning"


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() in _MISSING
    missing = pd.isna(value)
    return missing if isinstance(missing, bool) else False


def _shaped(times: Times, shape: tuple[int, ...]) -> Times:
    return Times(times.values.reshape(shape), times.unit, times.since)
