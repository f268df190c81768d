"""What the julia engine refuses, and that the page of engines says so; without a Julia."""

import re
from pathlib import Path
from typing import get_args

import pytest

import pnde
from pnde.config import Config, NetworkConfig, TrainingSolverConfig
from pnde.engines.julia.engine import JuliaEngine
from pnde.errors import ConfigError


def test_settings_that_it_cannot_follow_are_refused(monkeypatch):
    monkeypatch.setattr("pnde.engines.julia.engine.has_card", lambda device: False)
    engine = JuliaEngine()
    for retract in ("step", "save", "never"):
        engine.check(pnde.Config.make(**{"solver.retract": retract}))
    with pytest.raises(ConfigError, match='device = "gpu", but Julia has no card here'):
        engine.check(pnde.Config.make(device="gpu"))
    with pytest.raises(ConfigError, match='engine="jax"; in Julia'):
        engine.check(pnde.Config.make(matmul_precision="high"))
    with pytest.raises(ConfigError, match=r'cannot train with solver.solver = "kvaerno5"'):
        engine.check(pnde.Config.make(**{"solver.solver": "kvaerno5"}))
    engine.check(pnde.Config.make(**{"rollout.solver": "kvaerno5"}))


def test_the_page_s_table_of_what_is_refused_is_true(monkeypatch):
    """docs/engines.md: each setting with the values that are refused, in quotes, or all but one."""
    monkeypatch.setattr("pnde.engines.julia.engine.has_card", lambda device: False)
    page = (Path(__file__).parents[1] / "docs" / "engines.md").read_text(encoding="utf-8")
    table = page[page.index("## What the julia engine refuses") :]
    listed = {}
    for setting, cell in re.findall(r"^\| `([\w.]+)` \| ([^|]*) \|", table, re.MULTILINE):
        values, all_but = set(re.findall(r'"(\w+)"', cell)), cell.startswith("all but")
        listed[setting] = (values, all_but)
    engine, refused = JuliaEngine(), {}
    for section, kind in (
        ("", Config),
        ("solver.", TrainingSolverConfig),
        ("network.", NetworkConfig),
    ):
        for name, field in kind.model_fields.items():
            choices = get_args(field.annotation)
            for value in choices if any(isinstance(choice, str) for choice in choices) else ():
                try:
                    engine.check(pnde.Config.make(**{section + name: value}))
                except ConfigError:
                    refused.setdefault(section + name, set()).add(value)
                settings = listed.get(section + name, (set(), False))
                told = (value in settings[0]) != settings[1]
                assert told == (value in refused.get(section + name, set())), (name, value)
    assert refused.keys() == listed.keys()
