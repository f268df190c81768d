"""The configuration: what it accepts, what it says of mistakes, TOML, presets."""

from importlib import resources

import pytest

from pnde.config import Config
from pnde.errors import ConfigError


def test_settings_by_section_leaf_and_full_name():
    config = Config.make(
        method="snde", width=8, network={"layers": 3}, **{"solver.rtol": 1e-5, "rollout.rtol": 1e-9}
    )
    assert (config.method, config.network.width, config.network.layers) == ("snde", 8, 3)
    assert (config.solver.rtol, config.rollout.rtol) == (1e-5, 1e-9)


def test_settings_change_a_base_and_leave_it_alone():
    base = Config.make(width=8)
    config = Config.make(base, epochs=7)
    assert (config.network.width, config.optimiser.epochs) == (8, 7)
    assert base.optimiser.epochs == Config().optimiser.epochs
    assert Config.make(base, network=Config().network).network.width == Config().network.width
    with pytest.raises(Exception, match="frozen"):
        base.seed = 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"widht": 8}, r"unknown setting 'widht' \(did you mean 'width'\?\)"),
        ({"metod": "nde"}, r"unknown setting 'metod' \(did you mean 'method'\?\)"),
        ({"zzz": 8}, r"unknown setting 'zzz'$"),
        ({"network": {"widht": 8}}, r"'network.widht' \(did you mean 'width'\?\)"),
        ({"network.widht": 8}, r"'network.widht' \(did you mean 'width'\?\)"),
        ({"rtol": 1e-3}, "'rtol' is in several sections: say solver.rtol or rollout.rtol"),
        ({"retract": "save"}, "say solver.retract or rollout.retract"),
        ({"solver": "tsit5"}, "'solver' is a section"),
        ({"method": "ode"}, "method = 'ode': .*'nde'.*'pnde'"),
        ({"width": 0}, "network.width = 0: .*greater than 0"),
        ({"weight_decay": -1}, "optimiser.weight_decay = -1"),
        ({"epochs": "many"}, "optimiser.epochs = 'many'"),
    ],
)
def test_a_mistake_is_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        Config.make(**settings)


@pytest.mark.parametrize("retract", ["save", "never"])
def test_the_backward_solve_cannot_retract_each_step(retract):
    with pytest.raises(ConfigError, match=r'backsolve.*set solver.retract to "save" or "never"'):
        Config.make(adjoint="backsolve", **{"solver.retract": "step"})
    assert Config.make(adjoint="backsolve", **{"solver.retract": retract})


def test_toml_there_and_back(tmp_path):
    config = Config.make(
        method="snde", gamma=3.5, clip=0.1, learning_rate=1e-7, **{"solver.step": 0.25}
    )
    config.write(tmp_path / "config.toml")
    assert Config.read(tmp_path / "config.toml") == config
    text = (tmp_path / "config.toml").read_text()
    assert "decay_epochs" not in text  # None has no TOML
    assert "[optimiser]" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[network]\nwidht = 3", r"config.toml: unknown setting 'network.widht' \(did you mean"),
        ("[netwrok]\nwidth = 3", r"unknown setting 'netwrok' \(did you mean 'network'\?\)"),
        ("network = 3", "config.toml: network = 3"),
        ("seed = -1", "config.toml: seed = -1"),
        ("seed = ", "config.toml is not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_the_file(tmp_path, text, message):
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        Config.read(tmp_path / "config.toml")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none.toml: No such file"):
        Config.read(tmp_path / "none.toml")


PRESETS = sorted(
    entry.name.removesuffix(".toml")
    for entry in (resources.files("pnde") / "presets").iterdir()
    if entry.name.endswith(".toml")
)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_load(name):
    system, preset = name.rsplit("-", 1)
    assert preset in ("paper", "medium", "quick")
    config = Config.preset(system, preset)
    if preset == "paper" and not system.startswith("mechanical-"):
        assert config.network.width >= 256


def test_presets_of_the_two_conservation_laws():
    for system, layers in (("quartic", 4), ("lotka-volterra", 6)):
        paper, quick = Config.preset(system, "paper"), Config.preset(system, "quick")
        assert (paper.network.layers, paper.network.width) == (layers, 512)
        assert paper.optimiser.epochs == 1000
        assert quick.optimiser.epochs < 1000


def test_mechanical_models_have_presets_of_their_own():
    plain, own = (Config.preset("pendulum", "quick", form) for form in ("mlp", "mechanical"))
    assert own.data == plain.data
    assert (own.network.dissipation, plain.network.dissipation) == ("state", "constant")
    assert Config.preset("quartic", "quick", "mechanical") == Config.preset("quartic", "quick")


def test_an_unknown_preset_is_named():
    with pytest.raises(ConfigError, match=r"no preset 'papr' .*did you mean 'paper'.*paper, quick"):
        Config.preset("quartic", "papr")
    with pytest.raises(ConfigError, match="there are: none"):
        Config.preset("nothing", "paper")
