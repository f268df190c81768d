"""The developers' room: one version, and the same commands for a developer, before a commit, and in CI."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pnde

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")


def test_there_is_one_version():
    assert PROJECT["project"]["dynamic"] == ["version"]
    julia = tomllib.loads((ROOT / "julia/PNDE/Project.toml").read_text(encoding="utf-8"))
    assert julia["version"] == pnde.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^\]]*)\]", changes, re.MULTILINE)
    assert released[0] == pnde.__version__


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "pnde", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"pnde, version {pnde.__version__}\n"


def test_before_a_commit_the_commands_of_ci_run():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    script = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE)
    assert len(entries) == 3
    for entry in entries:
        assert entry in script


def test_ci_runs_on_the_oldest_and_the_newest_python():
    lowest, highest = re.findall(r"3\.\d+", PROJECT["project"]["requires-python"])
    newest = f"3.{int(highest.partition('.')[2]) - 1}"  # the bound itself is excluded
    assert f'python: ["{lowest}", "{newest}"]' in WORKFLOW
    assert "resolution: [lowest-direct, highest]" in WORKFLOW


def test_ci_runs_every_group_of_the_julia_package():
    text = (ROOT / "julia/PNDE/test/runtests.jl").read_text(encoding="utf-8")
    groups = set(re.findall(r'^    "(\w+)" => ', text, re.MULTILINE))
    listed = re.search(r"group: \[([^\]]+)\]", WORKFLOW)
    assert groups == {*listed[1].split(", "), "PowerDynamics"}
    assert "GROUP: PowerDynamics" in WORKFLOW
