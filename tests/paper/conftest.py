"""What the tests of the reproduction share: results that are as the paper says, and results that contradict it."""

import pytest
from invented import PAPERS_WAY, invent

from pnde.paper import Results, draw


@pytest.fixture(scope="session")
def paper(tmp_path_factory):
    """Results that are as the paper says."""
    return Results(invent(tmp_path_factory.mktemp("paper") / "good", PAPERS_WAY))


@pytest.fixture(scope="session")
def drawn(paper):
    return draw(paper)


@pytest.fixture(scope="session")
def otherwise(tmp_path_factory):
    """Results that contradict the paper in everything."""
    papers = {name: level for name, level in PAPERS_WAY.items() if "mechanical" not in name}
    reverse = dict(zip(papers, reversed(papers.values()), strict=True))
    reverse["mechanical-pnde"] = PAPERS_WAY["mechanical-pnde"]
    reverse["angular-nde"] = (0.1, 1e-1, 100)
    reverse["nde"] = (0.01, 1e-1, 100)
    folder = tmp_path_factory.mktemp("paper") / "bad"
    return Results(invent(folder, reverse, as_paper=False))
