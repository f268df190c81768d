"""How a training shows that it goes on."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from pnde.engines import Step
from pnde.training import EpochRow, Progress

# Where standard error is no terminal, one line in so many seconds.
_SECONDS = 10.0
_FORMAT = (
    "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total} epochs [{elapsed}<{remaining}{postfix}]"
)


class Bar:
    """A progress bar that counts epochs, so that the time left is that of the whole run; or lines."""

    def __init__(self, bar: object, label: str, done: Progress, epochs: int, lines: bool):
        self._bar, self._label, self._epochs, self._lines = bar, label, epochs, lines
        self._epoch = done.epoch
        self._valid = done.history[-1].valid_loss if done.history else None
        self._told = time.monotonic()

    def on_step(self, number: int, count: int, step: Step) -> None:
        """After a step of the optimiser."""
        known = f"valid {self._valid:.2e}, " if self._valid is not None else ""
        text = f"loss {step.loss:.2e}, {known}{step.solver_steps:.0f} solver steps"
        if self._lines:
            self._line(text)
            return
        bar = self._bar
        bar.set_postfix_str(text, refresh=False)  # type: ignore[attr-defined]
        bar.update(self._epoch + number / count - bar.n)  # type: ignore[attr-defined]

    def on_epoch(self, row: EpochRow) -> None:
        """After an epoch."""
        self._epoch, self._valid = int(row.epoch), row.valid_loss

    def _line(self, text: str) -> None:
        now = time.monotonic()
        if now - self._told >= _SECONDS:
            self._told = now
            print(
                f"{self._label}: epoch {self._epoch + 1} of {self._epochs}, {text}",
                file=sys.stderr,
                flush=True,
            )


@contextlib.contextmanager
def progress_bar(label: str, done: Progress, epochs: int, show: bool) -> Iterator[Bar]:
    """A bar on standard error, or lines where that is no terminal; nothing if it is not to `show`."""
    from tqdm.auto import tqdm

    lines = show and not sys.stderr.isatty() and "ipykernel" not in sys.modules
    with tqdm(
        total=epochs,
        initial=done.epoch,
        desc=label,
        unit="epoch",
        disable=not show or lines,
        bar_format=_FORMAT,
    ) as bar:
        bar.set_postfix_str("compiling")  # until the first step is done
        yield Bar(bar, label, done, epochs, lines)


@contextlib.contextmanager
def counting(
    label: str, done: int, total: int, unit: str, show: bool
) -> Iterator[Callable[[int, str], None]]:
    """A bar, or lines, with the time left; call what it gives with how many are done, and a text."""
    from tqdm.auto import tqdm

    lines = show and not sys.stderr.isatty() and "ipykernel" not in sys.modules
    began = told = time.monotonic()
    with tqdm(
        total=total, initial=done, desc=label, unit=f" {unit}", disable=not show or lines
    ) as bar:

        def tell(now_done: int, text: str) -> None:
            nonlocal told
            bar.set_postfix_str(text, refresh=False)
            bar.update(now_done - bar.n)
            now = time.monotonic()
            if lines and (now - told >= _SECONDS or now_done == total):
                told = now
                left = tqdm.format_interval((now - began) * (total - now_done) / (now_done - done))
                print(
                    f"{label}: {now_done} of {total} {unit}, {left} left{text and f', {text}'}",
                    file=sys.stderr,
                    flush=True,
                )

        yield tell
