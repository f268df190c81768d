"""What trajectories are called, and what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnde.errors import DataError, brief, listed, shown

SPLITS = ("train", "valid", "test")
UNUSED = "unused"
# Other words that mean the same and nothing else.
_WORDS = {
    **{name: name for name in (*SPLITS, UNUSED)},
    **dict.fromkeys(("training", "fit"), "train"),
    **dict.fromkeys(("val", "validation", "validate", "dev"), "valid"),
    **dict.fromkeys(("testing", "eval", "evaluation", "holdout"), "test"),
}
# Above it neighbouring whole numbers are one float64, so a label would be another one.
_WHOLE = 2**53


def split_names(
    values: Sequence[Any] | np.ndarray, labels: Sequence[Any] | np.ndarray
) -> list[str]:
    """Splits by their own names, for each trajectory: ``validation`` and ``Val`` are ``valid``.

    **Raises:** `DataError` naming the trajectory whose split has another name.
    """
    names = []
    for value, label in zip(values, labels, strict=True):
        name = split_name(value)
        if name is None:
            raise DataError(
                f"trajectory {brief(label)} is in the split {shown(value)}; splits are "
                f"{', '.join(SPLITS)} and {UNUSED}"
            )
        names.append(name)
    return names


def split_name(value: Any) -> str | None:
    """The split that a word means, or `None`."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return _WORDS.get(text.strip().casefold())


def trajectory_labels(labels: Any) -> np.ndarray:
    """Labels ``(trajectory,)``: whole numbers where they all are, else text.

    **Raises:** `DataError` where one is missing, or two are the same.
    """
    texts = [label_text(label) for label in _listed(labels)]
    for position, text in enumerate(texts):
        if not text:
            raise DataError(f"trajectory {position} has no label")
        if not is_unicode(text):
            raise DataError(f"the label of trajectory {position} is not text in UTF-8; rename it")
    twice = first_twice(texts)
    if twice is not None:
        raise DataError(f"the trajectory label {shown(twice)} occurs twice")
    whole = [text.removeprefix("-").isdecimal() and text.isascii() for text in texts]
    if texts and all(whole) and all(str(int(text)) == text for text in texts):
        numbers = [int(text) for text in texts]
        if all(abs(number) <= _WHOLE for number in numbers):
            return np.array(numbers, np.int64)
    return np.array(texts, str)


def label_text(label: Any) -> str:
    """A label as text, the same for 1, 1.0 and "1.0"; empty for a missing one."""
    if isinstance(label, bytes):
        label = label.decode("utf-8", "replace")
    if isinstance(label, float | np.floating) and np.isnan(label):
        return ""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(label, np.datetime64):
        label = str(label)
    text = str(label).strip()
    if isinstance(label, bool | np.bool_) or not text.isascii() or "_" in text:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if not np.isfinite(number):
        return "" if np.isnan(number) else text
    return str(int(number)) if number.is_integer() and abs(number) <= _WHOLE else text


def is_unicode(text: str) -> bool:
    """Whether a text can be written: one that comes from bytes that are no UTF-8 cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def first_twice(names: Sequence[Any]) -> Any:
    """The first name that occurs a second time, or `None`."""
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def check_count(what: str, given: Any, wanted: int, of: str) -> None:
    """Refuse a list of another length than what it describes."""
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise DataError(
            f"the {what} are a list of {wanted}, one for each of the {of}, not {shown(given)}"
        )
    if len(given) != wanted:
        raise DataError(f"there are {len(given)} {what} for {wanted} {of}: {listed(list(given))}")


def _listed(labels: Any) -> list[Any]:
    if isinstance(labels, list | tuple):
        return list(labels)
    array = np.atleast_1d(np.asarray(labels))
    if array.dtype.kind in "mM":  # as a number, a date would be one of nanoseconds
        array = array.astype(str)
    return [label.item() if isinstance(label, np.generic) else label for label in array]
