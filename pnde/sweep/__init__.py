"""Many runs: over seeds, systems and settings, on one machine or on a cluster."""

from pnde.sweep.plan import Planned, Sweep
from pnde.sweep.spreading import spread
from pnde.sweep.sweeping import sweep

__all__ = ["Planned", "Sweep", "spread", "sweep"]
