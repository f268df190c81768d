"""Training on several devices, and in several processes, is training on one."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pnde
from pnde import engines
from pnde.config import Config
from pnde.engines.jax import devices, processes
from pnde.engines.julia.engine import JuliaEngine
from pnde.errors import ConfigError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    """What came of each way of training, and the folder of the run of which one process ended in the 3rd epoch."""
    folder = tmp_path_factory.mktemp("spread")
    with socket.socket() as free:
        free.bind(("", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, str(Path(__file__).parent / "spread.py"), str(folder)]
    subprocess.run(command, check=True, timeout=300)
    two = [subprocess.Popen([*command, port, process]) for process in ("0", "1")]
    assert [process.wait(timeout=300) for process in two] == [2, 9]
    found = [json.loads((folder / name).read_text()) for name in ("one.json", "two.json")]
    return folder, *found


def test_four_devices_train_as_one(spread):
    _, one, _ = spread
    np.testing.assert_allclose(one["four"], one["lotka-volterra"], rtol=1e-12)
    assert one["forecasts"] < 1e-10


def test_two_processes_train_as_one(spread):
    folder, one, two = spread
    np.testing.assert_allclose(two["ieee14"], one["ieee14"], rtol=1e-12)
    done = pnde.load(folder / "run")
    columns = ["loss", "valid_loss", "gradient_norm", "solver_steps"]
    np.testing.assert_allclose(done.history[columns], one["lotka-volterra"][:2], rtol=1e-12)


def test_a_process_that_is_left_alone_says_so_and_its_run_goes_on(spread):
    folder, one, _ = spread
    assert (folder / "error.txt").read_text().startswith("another process of this training has")
    run = pnde.resume(folder / "run", progress=False)  # on the one device that is here
    assert run.history["valid_loss"].tolist() == pytest.approx(
        [row[1] for row in one["lotka-volterra"]], rel=1e-10
    )


def test_virtual_devices_of_a_cpu_have_threads_to_work_with(monkeypatch):
    """With a thread for each core, 14 buses of two devices waited forever in their first step."""
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    devices.leave_threads()
    assert "NPROC" not in os.environ
    os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX2 --xla_force_host_platform_device_count=4"
    devices.leave_threads()
    assert os.environ.pop("NPROC") == "10"
    os.environ.update(XLA_FLAGS="", NPROC="3")
    monkeypatch.setattr(devices.jax, "config", SimpleNamespace(jax_num_cpu_devices=8))
    devices.leave_threads()
    assert os.environ.pop("NPROC") == "3"
    devices.leave_threads()
    assert os.environ["NPROC"] == "18"


@pytest.mark.parametrize(
    "given, says",
    [
        (("localhost:1", 2, None), "go together: give all three, or none in a cluster"),
        (("localhost", 2, 0), r"an address with a port, such as node1:4321, not 'localhost'"),
        (("localhost:1", 2, 2), "of 2 processes this one cannot be number 2"),
        ((None, None, None), r"finds no cluster here.*--coordinator HOST:PORT"),
    ],
)
def test_processes_that_cannot_be_joined_are_refused(given, says, monkeypatch):
    for name in ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "OMPI_MCA_orte_hnp_uri"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(processes.jax.distributed, "initialize", _finds_none)
    with pytest.raises(ConfigError, match=says):
        engines.join(*given)


def _finds_none(*_, **__):
    raise ValueError("coordinator_address should be defined.")


def test_settings_that_cannot_be_spread_are_refused(monkeypatch):
    monkeypatch.setattr(devices, "devices_of", lambda device: [None, None])
    with pytest.raises(ConfigError, match=r"set devices = 1, or solver.adjoint"):
        engines.get("jax").check(Config.make(devices="all", adjoint="backsolve"))
    monkeypatch.setattr(devices, "count", lambda: 2)
    with pytest.raises(ConfigError, match=r'2 processes train together: set devices = "all"'):
        engines.get("jax").check(Config.make())
    with pytest.raises(ConfigError, match=r'on one device: leave devices = "all" out'):
        JuliaEngine().check(Config.make(devices="all"))


def test_one_process_leads_and_waits_for_nobody():
    assert engines.leads()
    engines.meet()
