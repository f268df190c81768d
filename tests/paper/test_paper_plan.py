"""What is asked for when the paper is reproduced: presets, variants, horizons, studies."""

import pytest

from pnde.config import Config
from pnde.errors import ConfigError, RunError
from pnde.paper import Plan, Results
from pnde.paper.studies import STUDIES, study


def test_the_settings_of_the_paper_and_of_its_code():
    text, code = Plan(), Plan(variant="code")
    pendulum, grid = study("pendulum-8"), study("ieee14")
    assert text.experiment(pendulum, 1).parameters == {"n": 8}
    assert code.experiment(pendulum, 1).parameters == {"n": 8, "friction_form": "code"}
    assert text.experiment(grid, 1).source == "ieee14"
    assert code.experiment(grid, 1).source == "ieee14-published"
    assert code.experiment(grid, 1).config.rollout.rtol == 1e-4
    assert code.experiment(pendulum, 1).config.data.initial_conditions == "code"
    assert Plan(horizon="table").t_end(study("quartic")) == 25
    assert text.t_end(study("quartic")) == 100


@pytest.mark.parametrize("name", STUDIES)
def test_the_full_preset_is_table_four(name):
    one = study(name)
    config = Plan(preset="full").experiment(one, 3).config
    expected = Config.preset(one.preset, "paper")
    assert config == Config.make(expected, seed=3)
    assert config.optimiser.epochs == 1000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preset": "fast"}, "preset is 'quick', 'medium' or 'full', not 'fast'"),
        ({"variant": "both"}, "variant is 'text' or 'code'"),
        ({"seeds": 0}, "seeds is how many"),
        ({"studies": ("quartik",)}, "did you mean 'quartic'?"),
        ({"settings": {"epoch": 3}}, "did you mean 'epochs'?"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ConfigError) as error:
        Plan(**changes)
    assert words in str(error.value)


def test_a_folder_is_gone_on_with_only_by_the_same_plan(tmp_path):
    folder = tmp_path / "paper"
    Plan(studies=("quartic",)).write(folder)
    joined = Plan(studies=("ieee14",), seeds=2).write(folder)
    assert joined.studies == ("quartic", "ieee14")
    assert Plan.read(folder) == joined
    with pytest.raises(ConfigError, match="was made with variant 'text', not 'code'"):
        Plan(variant="code").write(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ConfigError, match="holds no reproduction"):
        Plan().write(tmp_path / "other")
    with pytest.raises(RunError, match="pnde paper -o"):
        Results(tmp_path / "other")
