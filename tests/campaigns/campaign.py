"""Many seeded cases, each run for itself and counted by how it ends.

    def check(seed):            # a function of a module, so that a worker process finds it
        ...                     # make the case of this number, use it; raise `Wrong` for a wrong result

    run(check, size).assert_clean()

A case ends as

- ``ok``: `check` returned;
- ``sentence``: a `PndeError` of one line and at most 300 characters;
- ``traceback``: any other exception, a longer sentence, too much memory, or the death of the process;
- ``hang``: it took longer than its time;
- ``wrong``: `check` raised `Wrong`: there was a result, and it was not right.

The cases run one after the other in one process of their own. A hang or a crash ends that process
and not the campaign; the rest goes on in a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

KINDS = ("ok", "sentence", "traceback", "hang", "wrong")
LONGEST = 300


class Wrong(AssertionError):
    """Raised by a check whose result is there but not right."""


class Outcome(NamedTuple):
    """How the case of one seed ended."""

    seed: int
    kind: str
    detail: str


@dataclass(frozen=True)
class Report:
    """What came of a campaign."""

    name: str
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many cases ended in each way, in the order of `KINDS`."""
        found = Counter(outcome.kind for outcome in self.outcomes)
        return {kind: found[kind] for kind in KINDS}

    def assert_clean(self) -> None:
        """Fail on any traceback, hang or wrong result, with the first seeds that repeat them."""
        bad = [outcome for outcome in self.outcomes if outcome.kind not in ("ok", "sentence")]
        shown = "\n\n".join(f"seed {seed}: {kind}\n{detail}" for seed, kind, detail in bad[:5])
        assert not bad, f"{self}\n\n{shown}"

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {kind}" for kind, number in self.counts.items())
        return f"{self.name}: {len(self.outcomes)} cases: {counts}"


def run(
    check: Callable[[int], None],
    cases: int | Iterable[int],
    *,
    seconds: float = 30.0,
    memory: int = 2 << 30,
    name: str = "",
) -> Report:
    """Run `check` for every seed; no outcome of a case ends the campaign.

    **Arguments:**

    - `check`: a function of the seed at the top of a module (or a `functools.partial` of one).
    - `cases`: the seeds, or how many from 0 on.
    - `seconds`: what one case may take; `memory`: bytes it may use beside what is loaded.
    """
    seeds = list(range(cases)) if isinstance(cases, int) else list(cases)
    outcomes: list[Outcome] = []
    while len(outcomes) < len(seeds):
        outcomes += _in_a_process(check, seeds[len(outcomes) :], seconds, memory)
    function = getattr(check, "func", check)
    report = Report(name or function.__name__, outcomes)
    print(report)
    return report


def _in_a_process(
    check: Callable[[int], None], seeds: list[int], seconds: float, memory: int
) -> list[Outcome]:
    """The outcomes up to the first case that hangs or kills its process."""
    # A fresh interpreter: a fork would share the locks of whatever threads run here.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, check, seeds, memory), daemon=True)
    process.start()
    there.close()
    outcomes: list[Outcome] = []
    try:
        # The first case pays for the imports.
        allowed = seconds + 60.0
        for seed in seeds:
            if not here.poll(allowed):
                outcomes.append(Outcome(seed, "hang", f"longer than {seconds:g} s"))
                break
            allowed = seconds
            try:
                outcomes.append(Outcome(seed, *here.recv()))
            except EOFError:
                process.join(10)
                outcomes.append(
                    Outcome(seed, "traceback", f"the process died ({process.exitcode})")
                )
                break
    finally:
        process.kill()
        process.join()
        here.close()
    return outcomes


def _work(pipe: Connection, check: Callable[[int], None], seeds: list[int], memory: int) -> None:
    import logging
    import warnings

    import pnde.errors  # noqa: F401  what is loaded now does not count as the cases' memory

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    _limit_memory(memory)
    for seed in seeds:
        pipe.send(_classified(check, seed))
    pipe.close()


def _classified(check: Callable[[int], None], seed: int) -> tuple[str, str]:
    from pnde.errors import PndeError

    try:
        check(seed)
    except PndeError as error:
        message = str(error)
        if len(message) > LONGEST or "\n" in message:
            return "traceback", f"{len(message)} characters: {message[:1000]}"
        return "sentence", message
    except Wrong as error:
        return "wrong", str(error)[:2000]
    except Exception:  # everything else is what a campaign looks for
        return "traceback", traceback.format_exc()[-3000:]
    return "ok", ""


def _limit_memory(beside: int) -> None:
    """Let this process take `beside` bytes more than it has; only Linux tells how much that is."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        import resource

        size = int(pages.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") + beside
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
