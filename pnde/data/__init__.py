"""Data sets: open, make, save, split, segment, normalise.

Everything here is an ``xarray.Dataset`` in one layout (see `make_dataset`), in float64 and in
physical units.
"""

from ._angles import describe_jumps, unwrap, wrapped
from ._attributes import table_of as attribute_table
from ._completing import complete
from ._differentiating import differentiate
from ._input_tables import as_inputs
from ._inputs import Inputs, Interpolation, inputs_of
from ._interpolating import OntoManifold
from ._layout import make_dataset, state_index, time_label, time_matrix
from ._normalising import Normaliser, condition_scale, mean_velocity
from ._reading import open_data
from ._roles import assign_roles
from ._saving import save_data
from ._segmenting import Segments, segments
from ._splitting import cut, select, split_data
from ._streaming import Store, store_kind
from ._summary import state_table, summary
from ._velocities import check_velocities

__all__ = [
    "Inputs",
    "Interpolation",
    "Normaliser",
    "OntoManifold",
    "Segments",
    "Store",
    "as_inputs",
    "assign_roles",
    "attribute_table",
    "check_velocities",
    "complete",
    "condition_scale",
    "cut",
    "describe_jumps",
    "differentiate",
    "inputs_of",
    "make_dataset",
    "mean_velocity",
    "open_data",
    "save_data",
    "segments",
    "select",
    "split_data",
    "state_index",
    "state_table",
    "store_kind",
    "summary",
    "time_label",
    "time_matrix",
    "unwrap",
    "wrapped",
]
