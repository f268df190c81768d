"""The options that say which columns of a data file are what."""

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from pnde import open_data
from pnde.cli.main import main
from pnde.cli.options import reading_of, reading_options


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("reading") / "a.csv"
    t = 0.5 * np.arange(6)
    table = {"time": t, "x": np.cos(t), "L": 2.0, "F": np.sin(t), "G": t, "v": -np.sin(t)}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def reading(*arguments):
    """The keywords of `open_data` that a command line stands for."""
    found = {}

    @click.command()
    @reading_options
    def command(**options):
        found.update(reading_of(**options))

    result = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return found


def test_inputs_and_parameters(file):
    keywords = reading(
        *("--columns", "x,v", "--inputs", "F,G", "--parameters", "L", "--rename", "G=valve"),
        *("--interpolation", "F=cubic,G=held", "--jumps", "1.5"),
    )
    assert keywords == {
        "states": ["x", "v"],
        "inputs": ["F", "G"],
        "parameters": ["L"],
        "interpolation": {"F": "cubic", "G": "held"},
        "jumps": [1.5],
        "rename": {"G": "valve"},
    }
    ds = open_data(file, **keywords)
    assert ds["input"].values.tolist() == ["F", "valve"]
    assert ds["interpolation"].values.tolist() == ["cubic", "held"]
    assert reading("--interpolation", "held") == {"interpolation": "held"}
    assert reading() == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--parameters", "L=2"], "a parameter of a built-in system is -p L=2"),
        (["check", "--inputs", "F", "--jumps", "1;2"], "write --jumps as times, such as 3.0,4.5"),
        (["check", "--inputs", "f"], "no column 'f' (did you mean 'F'?)"),
        (["check", "--inputs", "F", "--interpolation", "hold"], "did you mean 'held'?"),
        (["check", "--parameters", "G"], "make it an input by inputs="),
        (["project", "--inputs", "L", "-o", "b.nc", "--jumps", "9"], "lies in no trajectory"),
        (["train", "-p", "L=2"], "is a data file, whose system has no L to set with -p"),
    ],
)
def test_bad_input_is_one_sentence(file, monkeypatch, arguments, words):
    monkeypatch.chdir(file.parent)
    command, *rest = arguments
    result = CliRunner().invoke(main, [command, "a.csv", *rest])
    assert result.exit_code == 2, result.output
    assert words in result.output and "Traceback" not in result.output
    assert [path.name for path in file.parent.iterdir()] == ["a.csv"]


def test_a_system_that_is_simulated_has_no_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["train", "quartic", "--inputs", "F"])
    assert result.exit_code == 2 and "quartic is simulated: it has no inputs" in result.output
