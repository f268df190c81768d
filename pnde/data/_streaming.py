"""Forecasts that are written a block of trajectories at a time, to NetCDF or Zarr, in memory for one block."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, listed, nearest, shown
from pnde.files import cannot_write

from ._attributes import plain_attributes
from ._seal import seal_file

KINDS = (".nc", ".zarr")


def store_kind(path: Path) -> str:
    """The suffix that says how a stream of blocks is written to `path`.

    **Raises:** `DataError` for an unknown suffix, or if the package is missing that writes it.
    """
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        raise DataError(
            f"{path.name}: unknown kind of file {shown(suffix)}{nearest(suffix, KINDS)}; forecasts "
            f"are streamed to {listed(KINDS)}"
        )
    if suffix == ".zarr":
        try:
            import zarr  # noqa: F401
        except ImportError:
            raise DataError(
                f"{path.name}: zarr is not installed: pip install 'pnde[zarr]', or write to a .nc "
                "file"
            ) from None
    return suffix


class Store:
    """A data set on the disk, of which blocks of trajectories are filled in.

    Space is there before the first block, and a block changes nothing but its own numbers: a kill
    leaves all others as they are.
    """

    def __init__(self, path: Path, kind: str):
        self.path, self._kind = path, kind

    def begin(self, block: xr.Dataset, labels: np.ndarray, size: int) -> None:
        """Make the file for the trajectories `labels`, like `block`, the first `size` of them.

        **Raises:** `pnde.errors.RunError` if the disk does not take it.
        """
        over = {str(k): v for k, v in block.data_vars.items() if "trajectory" in v.dims}
        base = block.drop_vars(list(over)).drop_encoding()
        base = base.isel(trajectory=[0] * len(labels)).assign_coords(trajectory=labels)
        base.attrs = plain_attributes(base.attrs)
        whole = {
            name: ((len(labels), *v.transpose("trajectory", ...).shape[1:]), v.dtype)
            for name, v in over.items()
        }
        dims = {name: v.transpose("trajectory", ...).dims for name, v in over.items()}
        try:
            if self._kind == ".zarr":
                self._begin_zarr(base, whole, dims, size)
            else:
                self._begin_netcdf(base, whole, dims)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def _begin_zarr(self, base: xr.Dataset, whole: Any, dims: Any, size: int) -> None:
        import zarr

        base.to_zarr(self.path, mode="w", consolidated=False, zarr_format=2)
        group = zarr.open_group(self.path, mode="r+")
        for name, (shape, dtype) in whole.items():
            group.create_array(
                name,
                shape=shape,
                chunks=(size, *shape[1:]),
                fill_value=None,
                dtype=dtype,
                attributes={"_ARRAY_DIMENSIONS": list(dims[name])},
            )

    def _begin_netcdf(self, base: xr.Dataset, whole: Any, dims: Any) -> None:
        import h5netcdf

        base.to_netcdf(self.path, engine="h5netcdf")
        with h5netcdf.File(self.path, "a") as file:
            for name, (shape, dtype) in whole.items():
                variable = file.create_variable(name, dims[name], dtype)
                variable[shape[0] - 1] = np.zeros(shape[1:], dtype)  # its space is taken here
        with self.path.open("r+b") as raw:
            if hasattr(os, "posix_fallocate"):
                # HDF5 ends the process where a disk is full.
                os.posix_fallocate(raw.fileno(), 0, self.path.stat().st_size)

    def fill(self, block: xr.Dataset, first: int) -> None:
        """Write the trajectories of `block`, from the position `first` on, down to the disk.

        **Raises:** `pnde.errors.RunError` if the disk does not take them.
        """
        over = [str(k) for k, v in block.data_vars.items() if "trajectory" in v.dims]
        rows = slice(first, first + block.sizes["trajectory"])
        arrays = {name: block[name].transpose("trajectory", ...).values for name in over}
        try:
            if self._kind == ".zarr":
                import zarr

                for name, array in arrays.items():
                    zarr.open_array(self.path, path=name, mode="r+")[rows] = array
                return
            import h5py

            with h5py.File(self.path, "r+") as file:
                for name, array in arrays.items():
                    file[name][rows] = array
            with self.path.open("rb") as raw:
                os.fsync(raw.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def end(self) -> None:
        """Make it whole: a checksum behind the file, or the metadata of a store in one place."""
        if self._kind == ".zarr":
            import zarr

            zarr.consolidate_metadata(self.path)
        else:
            seal_file(self.path)
