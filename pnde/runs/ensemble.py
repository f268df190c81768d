"""Several models that were trained together, used as one: `Ensemble`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from pnde.errors import ConfigError, RunError
from pnde.files import cannot_write
from pnde.models import Model, Weights
from pnde.runs import folder as disk
from pnde.runs.run import Run


class Ensemble(Run):
    """Members that differ in their first weights and in the order of their batches, used as one run.

    Its forecast is the mean of theirs, put back onto the law, with their standard deviation as `spread`;
    `rollout(bands=0.9)` has calibrated bands around it. `weights` and `history` are those of the best member.

    - `members`: the runs, whose folders are `member-1`, … in that of the ensemble.
    """

    def __init__(self, model: Model, members: Sequence[Run]):
        self.members = tuple(members)
        best = members[int(np.argmin([member.report["best_loss"] for member in members]))]
        seconds = sum(member.report["train_seconds"] for member in members)
        super().__init__(
            model,
            best.weights,
            best._rows,
            best.report | {"train_seconds": seconds, "members": len(members)},
            best.data,
            best._engine,
            best._sources,
        )

    def __repr__(self) -> str:
        one = super().__repr__().removeprefix("<pnde.Run")
        return f"<pnde.Ensemble of {len(self.members)},{one}"

    def _all_weights(self) -> list[Weights]:
        return [member.weights for member in self.members]

    def export(self, *_: Any, **__: Any) -> NoReturn:
        """An ensemble is not one program.

        **Raises:** `pnde.errors.ConfigError`.
        """
        raise ConfigError(
            "an ensemble is exported a member at a time: ensemble.members[0].export(…), or pnde export FOLDER/member-1"
        )

    def mechanics(self, *_: Any, **__: Any) -> NoReturn:
        """Each member has learned its own.

        **Raises:** `pnde.errors.ConfigError`.
        """
        raise ConfigError(
            "each member of an ensemble has an energy and masses of its own: ensemble.members[0].mechanics(…)"
        )

    def _finish(self, path: Path, data: Path) -> None:
        for k, member in enumerate(self.members):
            folder = disk.member_folder(path, k)
            if folder.is_symlink():
                raise RunError(f"{folder} is a link: a run keeps to its own folder")
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise cannot_write(folder, error) from None
            disk.write_config(folder, member.model.config)
            member._finish(folder, data)
        disk.write_report(path, self.report)
        self._complete(path, data, disk.CONFIG, disk.REPORT)
