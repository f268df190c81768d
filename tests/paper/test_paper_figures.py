"""The paper's figures and tables, of results that are made up."""

import numpy as np
import pandas as pd
import pytest

from pnde.paper.figures import FIGURES
from pnde.published import TIMES


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_for_print_and_for_screens(paper, drawn, name):
    for suffix, start in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        content = (paper.folder / "figures" / f"{name}.{suffix}").read_bytes()
        assert content.startswith(start)
        assert len(content) > 3000


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_wide_as_a_column_at_most(paper, name):
    import matplotlib.pyplot as plt

    figure = FIGURES[name].draw(paper)
    assert figure.get_figwidth() <= 245 / 72 + 1e-9
    plt.close(figure)


def test_tables_are_text_numbers_and_latex(paper, drawn):
    names = {path.stem for path in drawn if path.parent.name == "tables"}
    assert len(names) == 5
    for name in names:
        frame = pd.read_csv(paper.folder / "tables" / f"{name}.csv")
        assert len(frame)
        latex = (paper.folder / "tables" / f"{name}.tex").read_text()
        assert latex.count(r" \\") == len(frame) + 1
        assert "γ" not in latex
        assert (paper.folder / "tables" / f"{name}.txt").read_text().count("\n") >= len(frame) + 3


def test_the_table_of_times_leaves_compilation_out(paper, drawn):
    times = pd.read_csv(paper.folder / "tables" / "table-1-times.csv").set_index(["study", "model"])
    row = times.loc["quartic", "PNDE"]
    assert row["train_min"] == pytest.approx(8.0)
    assert row["train_compile_s"] == pytest.approx(5.0)
    assert times.loc["quartic", "NDE"]["train_min"] == pytest.approx(4.0)
    assert row["forward_median_ms"] == 2.0
    assert row["paper_solve_ms"] == TIMES["quartic", "PNDE"][2]
    # Failed models have no times.
    assert ("lotka-volterra", "SNDE γ=1") not in times.index


def test_the_table_of_complexity_finds_the_exponents(paper, drawn):
    table = pd.read_csv(paper.folder / "tables" / "table-2-complexity.csv")
    np.testing.assert_allclose(table["measured in m"], table["exponent of m"], atol=1e-9)
    known = table["exponent of n"].notna()
    np.testing.assert_allclose(
        table["measured in n"][known], table["exponent of n"][known], atol=1e-9
    )


def test_dimensions_are_those_of_the_paper(paper, drawn):
    table = pd.read_csv(paper.folder / "tables" / "table-3-dimensions.csv")
    assert table["n"].tolist() == [4, 2, 16, 32, 28]
    assert table["m"].tolist() == [1, 1, 8, 16, 18]
