"""What the tests share: the embedded engine, exact arithmetic in JAX, and a small data set."""

import atexit
import os
import shutil
import sys
import tempfile

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # Many tests compile the same programs; they and the processes that they start share them.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="pnde-tests-")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
# Programs that run a few times are not worth optimising, but where a test is of what users run: `full_compilation`.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("PNDE_ENGINE", "jax")
os.environ.setdefault("MPLBACKEND", "agg")

import numpy as np
import pytest
from jaxtyping import install_import_hook

# Types and shapes that the embedded engine names are checked wherever a test calls it.
install_import_hook("pnde.engines.jax", "typechecker.checked")


def pytest_addoption(parser):
    parser.addoption(
        "--campaign",
        type=int,
        default=200,
        metavar="N",
        help="cases of each kind in tests/campaigns (default: 200)",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """For `pytest -n auto`: a worker takes up to 3 GB."""
    return min(os.cpu_count() or 1, 4)


def pytest_collection_modifyitems(items):
    """Slow files first, so that workers end together.

    Before Python 3.12 tests that trace JAX go without coverage, which costs them a fifth of their time there.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if sys.version_info < (3, 12):
        for item in items:
            if "jax" in vars(item.module):
                item.add_marker(pytest.mark.no_cover)


@pytest.fixture
def campaign_size(request):
    """How many cases a campaign runs: `--campaign N`."""
    return request.config.getoption("--campaign")


@pytest.fixture(scope="module")
def strict():
    """Double precision, no implicit dtype or rank promotion. For a whole module: `usefixtures("strict")`."""
    import jax

    with (
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("strict"),
        jax.numpy_rank_promotion("raise"),
    ):
        yield


@pytest.fixture(scope="module")
def full_compilation():
    """Programs as users have them, which take longer to compile. For a whole module, by `usefixtures`."""
    import jax

    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="session")
def orbits():
    """Six orbits of the quartic potential at 13 times up to 1.2."""
    from pnde.systems import quartic

    return quartic().simulate(trajectories=6, t_end=1.2, dt=0.1, seed=3)


@pytest.fixture(scope="module")
def data():
    """Twelve trajectories of Lotka-Volterra up to 2, split for training."""
    import pnde

    ds = pnde.systems.lotka_volterra().simulate(trajectories=12, t_end=2.0, seed=3)
    return pnde.split_data(ds, 6, 3, 3)


@pytest.fixture(scope="session")
def make_model():
    """A function that makes a model with a small network: `make_model(system, method, **settings)`."""
    from pnde.config import Config
    from pnde.models import Model

    def make(system, method="pnde", constraint=None, metric=None, physics=None, **settings):
        n = len(system.states)
        return Model(
            states=system.states,
            config=Config.make(method=method, **{"layers": 1, "width": 4, **settings}),
            mean=np.linspace(-0.1, 0.1, n),
            std=np.linspace(0.8, 1.2, n),
            constraint=constraint or system.constraint,
            order=system.order,
            metric=metric,
            physics=physics,
        )

    return make


@pytest.fixture
def plain_engine(monkeypatch):
    """Runs are trained by `tests.plain_engine`, in no time."""
    from plain_engine import PlainEngine

    from pnde.runs import lifecycle

    monkeypatch.setattr(lifecycle, "get", lambda name="auto": PlainEngine())
