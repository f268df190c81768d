"""Independent tasks: here, in processes of this machine, or on a cluster of dask."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from pnde.errors import ConfigError, EngineError

# So often a task is begun again whose process was killed.
_TRIES = 3

T = TypeVar("T")


def spread(
    function: Callable[[T], Any], tasks: Sequence[T], jobs: int = 1, scheduler: str | None = None
) -> Iterator[tuple[T, Any]]:
    """Each task with what the function gives for it, in the order in which they end.

    A task whose process or worker is killed is begun again.

    **Arguments:**

    - `function`: one that other processes can import.
    - `jobs`: how many processes of this machine; with 1 it is this process.
    - `scheduler`: the address of a scheduler of dask.distributed, whose workers have it instead.

    **Raises:** `pnde.errors.EngineError` if a task's process is killed again and again, or the package distributed is
    missing; `pnde.errors.ConfigError` if there is no scheduler at the address.
    """
    if scheduler is not None:
        yield from _on_cluster(function, tasks, scheduler)
    elif jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, function(task)
    else:
        yield from _in_processes(function, list(tasks), jobs)


def _in_processes(
    function: Callable[[T], Any], todo: list[T], jobs: int
) -> Iterator[tuple[T, Any]]:
    for tries in range(_TRIES + 1):
        # JAX has threads, which a forked process would not have.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(
            min(jobs, len(todo)), mp_context=context, initializer=_end_with_parent
        ) as pool:
            try:
                begun = {pool.submit(function, task): task for task in todo}
                while begun:
                    for future in wait(begun, return_when=FIRST_COMPLETED).done:
                        result, task = future.result(), begun.pop(future)
                        todo.remove(task)
                        yield task, result
                return
            except BrokenProcessPool:
                if tries == _TRIES:
                    break
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    raise EngineError(
        f"a process was killed {_TRIES + 1} times, the last {len(todo)} tasks are not done: take fewer at a time, if "
        "memory was short; the same command goes on"
    )


def _end_with_parent() -> None:
    """End this process when the one that gives it tasks has ended: one that was killed could not tell it to."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_for_it() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_it, daemon=True).start()


def _on_cluster(
    function: Callable[[T], Any], tasks: Sequence[T], scheduler: str
) -> Iterator[tuple[T, Any]]:
    try:
        from distributed import Client, as_completed
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise EngineError(
            "a cluster needs the package distributed: pip install 'pnde[cluster]'"
        ) from None
    try:
        client = Client(scheduler, timeout="20s", set_as_default=False)
    except (OSError, ValueError) as error:
        text = str(error).partition("\n")[0][:100]
        raise ConfigError(f"there is no scheduler of dask at {scheduler[:80]!r}: {text}") from None
    with client:
        begun = {client.submit(_on_worker, function, task, pure=False): task for task in tasks}
        try:
            for future in as_completed(list(begun), loop=client.loop):
                yield begun[future], future.result()
        except KilledWorker:
            raise EngineError(
                "workers of the cluster were killed again and again: give them more memory; the same command goes on"
            ) from None
        finally:
            client.cancel(list(begun))


def _on_worker(function: Callable[[T], Any], task: T) -> Any:
    import dask

    # xarray would lock the files that it writes on the whole cluster, by a lock that only dask's own graphs have.
    with dask.config.set(scheduler="threads"):
        return function(task)
