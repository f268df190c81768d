"""Pictures. Every function takes the axes to draw on, or makes them, and returns them.

The figures have the paper's colours and the width of its column (245 pt), and tell the models apart
in grey too, by their lines.
"""

from ._animate import animate
from ._check import check
from ._errors import errors
from ._grid import active_power, diagram, voltage
from ._history import history
from ._margins import margins
from ._mechanics import mechanics
from ._phase import phase
from ._saving import save
from ._style import style
from ._sweep import sweep
from ._system import system
from ._trajectories import trajectories

__all__ = [
    "active_power",
    "animate",
    "check",
    "diagram",
    "errors",
    "history",
    "margins",
    "mechanics",
    "phase",
    "save",
    "style",
    "sweep",
    "system",
    "trajectories",
    "voltage",
]
