"""Damaged data files of every kind: each is read right, or refused by one sentence."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
import xarray as xr
from campaign import Wrong, run
from damage import damage

from pnde import open_data
from pnde.data import make_dataset, save_data, time_matrix

STATES = ["x", "v", "T"]


def whole(rng):
    """A small data set; its numbers have few digits, so that a text holds them exactly."""
    count, length = int(rng.integers(1, 4)), int(rng.integers(5, 12))
    u = np.round(rng.standard_normal((count, length, len(STATES))), 4)
    t = np.round(np.cumsum(rng.uniform(0.1, 0.5, length)), 3)
    split = ["train", "valid", "test"][:count] if rng.random() < 0.5 else None
    return make_dataset(u, t, STATES, ["m", "m/s", "K"], {"note": "made"}, split, time_units="s")


def csv(ds, path, rng):
    """Long or wide, with commas or semicolons, with a comment, units, or an index; as others write it."""
    u, t = ds["u"].values, ds["time"].values
    labels = np.repeat(np.arange(u.shape[0]), u.shape[1])
    frame = pd.DataFrame(u.reshape(-1, len(STATES)), columns=STATES)
    frame.insert(0, "time", np.tile(t, u.shape[0]))
    frame.insert(0, "run", labels)
    form = int(rng.integers(5))
    settings = {"sep": ";", "decimal": ","} if form == 1 else {"sep": "\t"} if form == 2 else {}
    text = frame.to_csv(index=form == 3, **settings)
    if form == 4:
        header, _, rest = text.partition("\n")
        text = f"# made by hand\n{header}\n-,s,m,m/s,K\n{rest}"
    path.write_text(text)


def netcdf_4(ds, path, rng):
    save_data(ds, path)


def netcdf_3(ds, path, rng):
    states = {
        name: (("trajectory", "time"), ds["u"].values[..., k]) for k, name in enumerate(STATES)
    }
    plain = xr.Dataset(states, {"time": ds["time"].values}, {"note": "made"})
    plain.to_netcdf(path, engine="scipy")


def npz(ds, path, rng):
    save_data(ds, path)


def mat(ds, path, rng):
    arrays = {"t": ds["time"].values, "u": ds["u"].values, "state": STATES}
    scipy.io.savemat(path, arrays, do_compression=bool(rng.integers(2)))


def parquet(ds, path, rng):
    csv_path = path.with_suffix(".csv")
    save_data(ds, csv_path)
    pd.read_csv(csv_path).to_parquet(path)


# Of these kinds, what is read has the right numbers: a checksum or the text tells of all damage to them.
CHECKED = (netcdf_4, npz)
KINDS = {
    "csv": (csv, ".csv"),
    "netcdf 4": (netcdf_4, ".nc"),
    "netcdf 3": (netcdf_3, ".nc"),
    "npz": (npz, ".npz"),
    "mat": (mat, ".mat"),
    "parquet": (parquet, ".parquet"),
}


def read_damaged(kind, seed):
    """Write, damage and read the file of this seed; hold what was read against what was written."""
    rng = np.random.default_rng(seed)
    write, suffix = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        ds = whole(rng)
        write(ds, path, rng)
        before = path.read_bytes()
        path.write_bytes(damage(before, rng))
        after = path.read_bytes()
        read = open_data(path)
    check_layout(read)
    if write is csv:
        check_lines(before, after, read)
    elif write in CHECKED:
        check_numbers(ds, read)


def check_layout(ds):
    """Whatever was read is a data set: increasing times, finite numbers, names that differ."""
    u, t = ds["u"].values, time_matrix(ds)
    if u.shape != (*t.shape, ds.sizes["state"]) or u.dtype != np.float64:
        raise Wrong(f"states of shape {u.shape} and type {u.dtype}, times of shape {t.shape}")
    if np.isinf(u).any() or (np.diff(t, axis=1) <= 0).any():
        raise Wrong("a state is infinite, or times do not increase")
    if np.isnan(u).all(axis=(1)).any() or (np.isnan(t) & ~np.isnan(u).all(axis=-1)).any():
        raise Wrong("a state is unknown in a trajectory, or has no time")
    for name in ("state", "trajectory"):
        if len(set(ds[name].values.tolist())) != ds.sizes[name] or "" in ds[name].values.tolist():
            raise Wrong(f"the names {ds[name].values} are not different")


def check_numbers(ds, read):
    """The numbers of a file with checksums are those that were written."""
    if not np.array_equal(read["u"].values, ds["u"].values):
        raise Wrong(f"{read['u'].values}\nis not\n{ds['u'].values}")
    if not np.array_equal(time_matrix(read), time_matrix(ds)):
        raise Wrong(f"the times {time_matrix(read)} are not {time_matrix(ds)}")


def check_lines(before, after, read):
    """A line of numbers that was not damaged, below names that were not, is a sample that was read."""
    old, new = before.decode().splitlines(), after.decode("utf-8", "replace").splitlines()
    at = next(k for k, line in enumerate(old) if "time" in line)
    if old[: at + 1] != new[: at + 1]:
        return
    header = old[at]
    separator = next(mark for mark in ";\t," if mark in header)
    names = header.split(separator)
    samples = samples_of(read)
    for line in set(old[at + 1 :]) & set(new[at + 1 :]):
        cells = dict(
            zip(
                names,
                line.replace(",", ".").split(separator)
                if separator == ";"
                else line.split(separator),
                strict=True,
            )
        )
        if cells["time"] == "s":
            continue
        key = (cells["run"], float(cells["time"]), *(float(cells[name]) for name in STATES))
        if key not in samples:
            raise Wrong(f"the line {line!r} was not read; there are {sorted(samples)[:5]}")


def samples_of(ds):
    """Label, time and states of every sample, as tuples."""
    order = [list(ds["state"].values).index(name) for name in STATES if name in ds["state"].values]
    times = time_matrix(ds)
    return {
        (str(label), float(times[row, k]), *ds["u"].values[row, k, order].tolist())
        for row, label in enumerate(ds["trajectory"].values)
        for k in range(times.shape[1])
    }


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind, campaign_size):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    run(partial(read_damaged, kind), campaign_size, name=kind).assert_clean()


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files(kind):
    """What is not damaged is read, or the campaign would count nothing but sentences."""
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        write, suffix = KINDS[kind]
        with tempfile.TemporaryDirectory() as folder:
            ds = whole(rng)
            write(ds, Path(folder) / f"data{suffix}", rng)
            read = open_data(Path(folder) / f"data{suffix}")
        check_numbers(ds, read)
        assert list(read["state"].values) == STATES
