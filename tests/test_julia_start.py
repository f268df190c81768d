"""How the julia engine starts and what it says where it cannot, in fresh processes and without a Julia."""

import json
import os
import stat
import subprocess
import sys
import textwrap
import tomllib
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import pnde
from pnde.engines import get
from pnde.engines.julia import environment, setup
from pnde.engines.julia.session import _check_settings
from pnde.errors import EngineError
from pnde.files import julia_package

SEEN = (
    "PYTHON_JULIACALL_EXE",
    "PYTHON_JULIACALL_PROJECT",
    "PYTHON_JULIACALL_THREADS",
    "PYTHON_JULIACALL_HANDLE_SIGNALS",
    "MAGMA_LIB",
)

# Stands for juliacall: it notes what it was imported with, as the real one reads its settings then, and fails.
JULIACALL = f"""
import json, os
with open(os.environ["SEEN"], "a") as file:
    file.write(json.dumps({{name: os.environ.get(name) for name in {SEEN}}}) + "\\n")
raise RuntimeError(os.environ.get("FAILS_WITH", "as far as it goes"))
"""

# Stands for Julia where juliapkg asks: it says its version, and otherwise notes the script it is given.
PROGRAM = """#!{python}
import os, sys
if "--version" in sys.argv:
    print("julia version 1.10.8")
elif "libjulia" in sys.argv[-1]:
    print("/nowhere/libjulia.so\\0/nowhere/bin", end="")
else:
    open({log!r}, "a").write(sys.argv[-1] + "\\n")
    if sys.argv[-1].startswith("import Pkg"):
        project = next(a for a in sys.argv if a.startswith("--project="))[10:]
        open(os.path.join(project, "Manifest.toml"), "w").write("{uuids}")
"""

UUIDS = f"{environment.UUID} {environment._PYTHONCALL}"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Variables of an otherwise empty machine, with a Julia and a project that look right, and that juliacall."""
    for name in [*os.environ]:
        if name.startswith(("PYTHON_JULIA", "JULIA_", "PNDE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "juliacall.py").write_text(JULIACALL)
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "Manifest.toml").write_text(UUIDS)
    executable = tmp_path / "julia"
    executable.write_text(
        PROGRAM.format(python=sys.executable, log=str(tmp_path / "log"), uuids=UUIDS)
    )
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run_python(code, place, **variables):
    """What a fresh process says, and what juliacall was imported with (each time)."""
    paths = [
        str(place / "path"),
        str(Path(pnde.__file__).parents[1]),
        os.environ.get("PYTHONPATH", ""),
    ]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = (place / "seen").read_text().splitlines() if (place / "seen").exists() else []
    return done.stdout, [json.loads(line) for line in lines]


#: Every way in. Each ends where juliacall is imported.
WAYS = """
import numpy as np, pnde
from pnde.engines import get
from pnde.config import SolverConfig
from pnde.engines import Batch
from pnde.errors import EngineError
engine, system = get("julia"), pnde.systems.quartic()
from pnde.laws import Instant
u, t = np.ones((2, 4)), Instant(np.zeros(2))
def model():
    from pnde.models import Model, initial_weights
    m = Model(system.states, pnde.Config(), np.zeros(4), np.ones(4), constraint=system.constraint, order=2)
    return m, initial_weights(m, 1)
batch = Batch(np.ones((1, 2, 4)), np.zeros(1), np.arange(2.0), np.zeros((1, 1)), np.ones(1))
ways = {
    "status": lambda: engine.status(),
    "law": lambda: engine.law(system.constraint, u, t),
    "traced": lambda: engine.law(pnde.Conserved(lambda u: u[0]), u, t),
    "integrate": lambda: engine.integrate(system.rhs, u, np.arange(2.0), SolverConfig(), system.constraint),
    "velocity": lambda: engine.velocity(*model(), u, t, np.zeros((2, 1))),
    "rollout": lambda: engine.rollout(*model(), u, np.arange(2.0), np.zeros((2, 1)), SolverConfig()),
    "loss": lambda: engine.loss_and_gradient(*model(), batch),
    "start": lambda: engine.start(model()[0], [batch], [batch], model()[1]),
    "network": lambda: pnde.systems.from_powerdynamics("1"),
}
try:
    ways[%r]()
except EngineError as error:
    print(error)
"""


def recorded(place, **more):
    made = environment.Environment(place / "julia", place / "project", **more)
    environment.record(made)
    return made


@pytest.mark.parametrize("way", ["status", "law", "traced", "integrate", "start", "network"])
def test_the_recorded_environment_is_set_before_juliacall_is_imported(place, way):
    made = recorded(place, magma="/lib/magma.so")
    out, seen = run_python(WAYS % way, place)
    assert out.startswith("julia does not start: as far as it goes; run pip install")
    assert seen == [
        dict(
            zip(SEEN, (str(made.executable), str(made.project), "1", "no", made.magma), strict=True)
        )
    ]


def test_what_is_set_for_juliacall_is_not_left_to_other_processes(place):
    recorded(place, magma="/lib/magma.so")
    watched = '[n for n in ("PYTHON_JULIACALL_HANDLE_SIGNALS", "MAGMA_LIB") if n in os.environ]'
    out, _ = run_python(f"{WAYS % 'status'}\nimport os\nprint({watched})", place)
    assert out.splitlines()[-1] == "['MAGMA_LIB']"


def test_variables_go_before_the_record(place):
    recorded(place)
    other = place / "other"
    other.mkdir()
    (other / "Manifest-v1.11.toml").write_text(UUIDS)
    names = {"PYTHON_JULIACALL_EXE": str(place / "julia"), "PYTHON_JULIACALL_PROJECT": str(other)}
    for threads, variables in (
        ("3", {"PYTHON_JULIACALL_THREADS": "3"}),
        ("auto", {"JULIA_NUM_THREADS": "auto"}),
    ):
        _, seen = run_python(WAYS % "status", place, **names, **variables)
        assert seen[-1]["PYTHON_JULIACALL_PROJECT"] == str(other)
        # Several threads crash without the signal handlers.
        assert seen[-1]["PYTHON_JULIACALL_THREADS"] == threads
        assert seen[-1]["PYTHON_JULIACALL_HANDLE_SIGNALS"] == "yes"


def test_a_start_that_failed_is_not_tried_again(place):
    recorded(place)
    code = """
    from pnde.engines import get
    from pnde.errors import EngineError
    for _ in range(2):
        try:
            get("julia").status()
        except EngineError as error:
            print(error)
    """
    out, seen = run_python(
        code, place, FAILS_WITH="PythonCall.jl did not start properly\n  at line 3"
    )
    first, second = out.splitlines()
    assert first == second and "did not start properly; run" in first
    assert len(seen) == 1


def test_without_an_environment_nothing_is_imported(place):
    code = """
    import sys
    from pnde.engines import get
    from pnde.engines.julia import is_set_up
    from pnde.errors import EngineError
    assert not is_set_up() and get("auto").name == "jax"
    try:
        get("julia")
    except EngineError as error:
        print(error)
    assert not {"juliacall", "juliapkg"} & sys.modules.keys()
    """
    out, seen = run_python(code, place)
    assert "has not been set up: run pip install 'pnde[julia]' and then pnde setup julia" in out
    assert seen == []


@pytest.mark.parametrize(
    "variables, message",
    [
        ({"PYTHON_JULIACALL_EXE": "/nowhere/julia"}, r"PYTHON_JULIACALL_EXE is set but PYTHON_JULIACALL_PROJECT"),
        ({"PYTHON_JULIACALL_PROJECT": "/nowhere"}, r"PYTHON_JULIACALL_PROJECT is set but PYTHON_JULIACALL_EXE"),
        (
            {"PYTHON_JULIACALL_EXE": "/nowhere/julia", "PYTHON_JULIACALL_PROJECT": "{place}/project"},
            r"there is no program /nowhere/julia; correct PYTHON_JULIACALL_EXE",
        ),
        (
            {"PYTHON_JULIACALL_EXE": "{place}/julia", "PYTHON_JULIACALL_PROJECT": "{place}/path"},
            r"is not a Julia project with a Manifest.toml",
        ),
        (
            {"PYTHON_JULIACALL_EXE": "{place}/julia", "PYTHON_JULIACALL_PROJECT": "{place}/bare"},
            r"has no package PNDE",
        ),
    ],
)  # fmt: skip
def test_a_broken_environment_is_one_sentence(place, monkeypatch, variables, message):
    (place / "bare").mkdir()
    (place / "bare" / "Manifest.toml").write_text("julia_version")
    monkeypatch.setitem(sys.modules, "juliacall", SimpleNamespace())
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(place=place))
    with pytest.raises(EngineError, match=message) as caught:
        get("julia")
    assert len(str(caught.value)) <= 300 and "\n" not in str(caught.value)
    assert not environment.is_set_up()


def test_a_broken_record_is_none(place):
    for text in ("", "[]", "{}", '{"executable": 3, "project": null}'):
        path = recorded(place) and environment._record()
        path.write_text(text)
        assert environment.find() is None


@pytest.mark.parametrize("threads", ["two", "0", "-1", "2,x", ""])
def test_numbers_of_threads_that_end_the_process_are_refused(place, monkeypatch, threads):
    made = environment.Environment(place / "julia", place / "project")
    monkeypatch.setenv("PYTHON_JULIACALL_THREADS", threads)
    if threads:
        with pytest.raises(EngineError, match="PYTHON_JULIACALL_THREADS is '"):
            made.variables()
    else:
        assert made.variables()["PYTHON_JULIACALL_THREADS"] == "1"


def test_threads_without_signal_handlers_are_refused(place, monkeypatch):
    made = environment.Environment(place / "julia", place / "project")
    monkeypatch.setenv("PYTHON_JULIACALL_HANDLE_SIGNALS", "no")
    assert made.variables()["PYTHON_JULIACALL_HANDLE_SIGNALS"] == "no"
    monkeypatch.setenv("PYTHON_JULIACALL_THREADS", "2")
    with pytest.raises(EngineError, match="unset PYTHON_JULIACALL_HANDLE_SIGNALS"):
        made.variables()


def test_a_julia_that_somebody_else_started_is_looked_at():
    other = SimpleNamespace(CONFIG={"opt_threads": "4", "opt_handle_signals": None})
    with pytest.warns(UserWarning, match="HANDLE_SIGNALS=yes"):
        _check_settings(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.CONFIG = {"opt_threads": None, "opt_handle_signals": None}
        _check_settings(other)


class TestSetup:
    def test_juliapkg_is_told_of_one_package_however_many_folders_have_one(self, place):
        pytest.importorskip("juliapkg")
        # It looks for this file beside and inside of every package on the path, and refuses two of different folders.
        home = Path(pnde.__file__).parent
        assert not [path for path in (home, home.parent) if (path / "juliapkg.json").exists()]
        code = """
        from pnde.engines.julia.setup import setup
        setup(powerdynamics=True)
        """
        project = place / "julia_env"
        variables = {
            "PYTHON_JULIAPKG_EXE": str(place / "julia"),
            "PYTHON_JULIAPKG_PROJECT": str(project),
        }
        for _ in range(2):  # twice, as after a change of mind
            run_python(code, place, **variables)
        written = tomllib.loads((project / "Project.toml").read_text())
        assert written["deps"]["PNDE"] == environment.UUID
        assert written["compat"]["PowerDynamics"].endswith("4")
        script = (place / "log").read_text()
        assert f'path=raw"{julia_package()}"' in script
        assert script.count("using PNDE, PythonCall, PowerDynamics") == 2
        found = environment.find()
        assert (found.executable, found.project) == (place / "julia", project)

    def test_the_package_is_the_one_of_this_checkout(self):
        text = (julia_package() / "Project.toml").read_text()
        assert tomllib.loads(text)["uuid"] == environment.UUID

    def test_what_fails_is_one_sentence(self, monkeypatch, place):
        def resolve():
            raise OSError("no route to host\nand more")

        nothing = SimpleNamespace(
            resolve=resolve, add=lambda *_, **__: None, require_julia=lambda _: None
        )
        monkeypatch.setitem(sys.modules, "juliapkg", nothing)
        with pytest.raises(EngineError, match=r"could not be installed: no route to host$"):
            setup.setup()
        monkeypatch.setitem(sys.modules, "juliapkg", None)
        with pytest.raises(EngineError, match=r"run pip install 'pnde\[julia\]'"):
            setup.setup()
        with pytest.raises(EngineError, match=r"no MAGMA library /nowhere.so"):
            setup.setup(magma="/nowhere.so")


def test_a_run_of_an_engine_that_is_not_there_is_loaded_into_another(place, orbits, monkeypatch):
    from pnde.engines.jax.engine import JaxEngine

    folder = place / "run"
    settings = {"epochs": 1, "width": 4, "layers": 1, "batch_size": 8}

    # What trains is the other engine under this name.
    class Other(JaxEngine):
        name = "julia"

    with monkeypatch.context() as as_if_there:
        as_if_there.setattr("pnde.engines.julia.load", Other)
        pnde.train(orbits, engine="julia", folder=folder, progress=False, **settings)
    with pytest.raises(EngineError, match=r"pnde setup julia"):
        pnde.load(folder)
    run = pnde.load(folder, engine="jax")
    assert run.rollout().sizes["trajectory"] > 0
    with pytest.raises(EngineError, match="there is no engine 'jaxx'"):
        pnde.load(folder, engine="jaxx")


def test_asking_whether_it_is_set_up_starts_nothing(place):
    code = """
    import sys
    from pnde.engines.julia import is_set_up
    is_set_up()
    assert not {"juliacall", "juliapkg", "jax"} & sys.modules.keys()
    """
    run_python(code, place)
