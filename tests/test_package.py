"""What is installed: light to import, and complete."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import pnde

ROOT = Path(__file__).parents[1]


def test_import_is_fast_and_loads_no_engine():
    code = (
        "import sys, time; began = time.perf_counter(); import pnde; "
        "seconds = time.perf_counter() - began; "
        "heavy = {'jax', 'juliacall', 'torch', 'matplotlib', 'xarray'} & set(sys.modules); "
        "print(seconds, *heavy)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert float(out[0]) < 0.5
    assert out[1:] == []


def test_public_names_are_there():
    for name in pnde.__all__:
        assert getattr(pnde, name) is not None
    assert set(pnde.__all__) <= set(dir(pnde))
    with pytest.raises(AttributeError, match="nothing"):
        pnde.nothing  # noqa: B018


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build", reason="the package 'build' is not installed")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_wheel_carries_the_julia_package_and_the_presets(built):
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for needed in (
        "pnde/julia/PNDE/Project.toml",
        "pnde/julia/PNDE/src/PNDE.jl",
        "pnde/julia/PNDE/data/ieee14.toml",
        "pnde/presets/lotka-volterra-quick.toml",
        "pnde/presets/quartic-paper.toml",
        "pnde/py.typed",
    ):
        assert needed in names
    top = {name.split("/")[0] for name in names}
    assert top == {"pnde", f"pnde-{pnde.__version__}.dist-info"}
    assert not [name for name in names if name.endswith((".pyc", "Manifest.toml"))]


def test_the_source_distribution_can_build_the_wheel(built):
    (archive,) = built.glob("*.tar.gz")
    names = {name.split("/", 1)[1] for name in tarfile.open(archive).getnames() if "/" in name}
    assert {"pyproject.toml", "julia/PNDE/Project.toml", "LICENSE"} <= names
