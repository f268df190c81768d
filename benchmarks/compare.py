"""Two runs of one benchmark beside each other, as ratios of the second to the first.

    python benchmarks/compare.py before.json after.json

Rows belong together where all their words are the same. The two should have been measured in turn on one machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import record


def ratios(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """after / before of each number, by the words of its row."""
    words = [name for name in before if not pd.api.types.is_numeric_dtype(before[name])]
    if missing := [name for name in words if name not in after]:
        raise SystemExit(
            f"the second file has no column {missing[0]!r}: is it of another benchmark?"
        )
    one, other = before.set_index(words), after.set_index(words)
    both = one.index.intersection(other.index)
    if both.empty:
        raise SystemExit("the two files have no row in common: were they run with other options?")
    numbers = [name for name in one if name in other]
    return other.loc[both, numbers] / one.loc[both, numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    one, other = (record.read(path) for path in (options.before, options.after))
    for name in sorted({*one["facts"], *other["facts"]}):
        a, b = one["facts"].get(name), other["facts"].get(name)
        if a != b:
            print(f"{name}: {a} | {b}")
    table = ratios(pd.DataFrame(one["rows"]), pd.DataFrame(other["rows"]))
    print(table.to_string(float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
