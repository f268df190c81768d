"""Figures and tables from the results that are there."""

from __future__ import annotations

import logging
from pathlib import Path

from pnde.files import make_folder, write_bytes
from pnde.paper.results import MEASURED, Results

logger = logging.getLogger("pnde")


def draw(results: Results) -> list[Path]:
    """Draw every figure (PDF and PNG) and write every table (text, CSV, LaTeX) for which there are results.

    **Returns:** the files.
    """
    return [*draw_figures(results), *write_tables(results)]


def draw_figures(results: Results) -> list[Path]:
    """The figures, in `figures/`."""
    import matplotlib.pyplot as plt

    from pnde import plot
    from pnde.paper.figures import FIGURES

    folder = results.folder / "figures"
    make_folder(folder)
    files = []
    for name, entry in FIGURES.items():
        if entry.studies and not any(results.has(study) for study in entry.studies):
            continue
        if name == "figure-e-limit" and not (results.folder / MEASURED / "limit.csv").exists():
            continue
        with plot.style():
            figure = entry.draw(results)
            for suffix, metadata in (("pdf", {"CreationDate": None}), ("png", {})):
                path = folder / f"{name}.{suffix}"
                figure.savefig(path, metadata=metadata)
                files.append(path)
            plt.close(figure)
    logger.info("%s: %d figures", folder, len(files) // 2)
    return files


def write_tables(results: Results) -> list[Path]:
    """The tables, in `tables/`."""
    from pnde.paper.tables import TABLES

    folder = results.folder / "tables"
    make_folder(folder)
    files = []
    for name, make in TABLES.items():
        table = make(results)
        if table is None:
            continue
        for suffix, text in (
            ("csv", table.frame.to_csv(index=False)),
            ("txt", table.text()),
            ("tex", table.latex()),
        ):
            path = folder / f"{name}.{suffix}"
            write_bytes(path, text.encode())
            files.append(path)
    return files
