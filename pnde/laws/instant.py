"""When and under which conditions a law, metric or physics is evaluated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Instant(NamedTuple):
    """The time, with the inputs and parameters that a system has then.

    - `t`: the time `()`.
    - `w`: inputs `(k,)`, and their derivatives `rate` ẇ and `curvature` ẅ; `None` without inputs.
    - `p`: parameters of the trajectory `(r,)`; `None` without parameters.

    With other axes in front of each, it is as many instants.
    """

    t: Any
    w: Any = None
    rate: Any = None
    curvature: Any = None
    p: Any = None

    def pick(self, which: Any) -> Instant:
        """Some of many instants: `which` is an index or mask of the axes in front."""
        return Instant(*(None if part is None else part[which] for part in self))

    def each(self, count: int) -> Instant:
        """The same with a time of its own for each of so many instants, where they share one."""
        return self._replace(t=np.broadcast_to(self.t, (count,)))
