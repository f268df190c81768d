"""The process of `_trial`: reads files, and says of each whether it could. It imports nothing of pnde."""

import json
import math
import sys

BLOCK = 1 << 24


def read_hdf5(path: str, most: float) -> None:
    """Read all attributes and values of an HDF5 file, in blocks; only the former where it is too large."""
    import h5py

    with h5py.File(path, "r") as file:
        items = [file]
        file.visititems(lambda _, item: items.append(item))
        for item in items:
            for _ in item.attrs.items():
                pass
        data = [item for item in items if isinstance(item, h5py.Dataset)]
        if sum(item.nbytes for item in data) > most:
            return
        for item in data:
            rows = item.shape[0] if item.shape else 0
            step = max(1, BLOCK * rows // max(item.nbytes, 1))
            for row in range(0, rows, step):
                item[row : row + step]
            if item.shape == ():
                item[()]


def read_matlab(path: str, most: float) -> None:
    """Read a MATLAB file, unless it is too large."""
    import scipy.io

    held = scipy.io.whosmat(path)
    if 8 * sum(math.prod(map(int, shape)) for _, shape, _ in held) <= most:
        scipy.io.loadmat(path, simplify_cells=True)


def main() -> None:
    """Answer each line of the standard input: JSON with `kind`, `path` and `most`, by an error or nothing."""
    # What the libraries print is none of it.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        question = json.loads(line)
        read = {"hdf5": read_hdf5, "matlab": read_matlab}[question["kind"]]
        try:
            read(question["path"], question["most"])
            answer = ""
        except Exception as error:
            answer = str(error) or type(error).__name__
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
