"""Table IV: data and hyper-parameters."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pnde.data import open_data
from pnde.paper.results import Results
from pnde.paper.studies import slug, study
from pnde.paper.tables.writing import Table, number
from pnde.runs.folder import read_config
from pnde.runs.record import Record, find_data


def settings(results: Results) -> Table | None:
    """What the runs were made with, read from their folders; a column for each study.

    Where the models of a study differ (they do not, unless a run was made by hand), PNDE's settings are shown.
    """
    columns: dict[str, dict[str, Any]] = {}
    for one in results.studies:
        seed = results.seeds(one.name)[0]
        models = results.models(one.name, seed)
        model = "pnde" if "pnde" in models else models[0]
        path = results.path(one.name, seed)
        config = read_config(path / slug(model))
        run_folder = path / slug(model)
        data = open_data(find_data(run_folder, Record.read(run_folder).data))
        counts = {
            split: int((data["split"] == split).sum()) for split in ("train", "valid", "test")
        }
        experiment = results.plan.experiment(study(one.name), seed)
        optimiser, network, solver = config.optimiser, config.network, config.solver
        columns[one.title] = {
            "n_train": counts["train"],
            "n_valid": counts["valid"],
            "n_test": counts["test"],
            "T": float(data["time"].max()),
            "dt": float(data["time"][1] - data["time"][0]),
            "T of the test": float(results.truth(one.name, seed)["time"].max()),
            "initial states": f"the {'paper' if config.data.initial_conditions == 'paper' else 'code'}'s",
            "system": _system(experiment),
            "hidden layers": network.layers,
            "hidden width": network.width,
            "activation": network.activation,
            "skip connections": "yes" if network.skip else "no",
            "learning rate": optimiser.learning_rate,
            "final learning rate": optimiser.final_learning_rate,
            "epochs of decay": optimiser.decay_epochs or max(1, (optimiser.epochs or 0) // 2),
            "weight decay": optimiser.weight_decay,
            "batch size": optimiser.batch_size,
            "epochs": optimiser.epochs,
            "steps of a segment": optimiser.segment,
            "solver in training": solver.solver
            + (f", step {solver.step:g}" if solver.step else f", tolerance {solver.rtol:g}"),
            "gradient": solver.adjoint,
            "tolerance of the test": config.rollout.rtol,
            "retraction in the test": config.rollout.retract,
            "seeds": len(results.seeds(one.name)),
        }
    if not columns:
        return None
    frame = pd.DataFrame(columns)
    frame.insert(0, "setting", frame.index)
    shown = frame.map(number)
    return Table("Data and hyper-parameters of the runs.", frame, shown)


def _system(experiment: Any) -> str:
    """What a system's name does not tell."""
    if experiment.source.startswith("ieee14"):
        return "published set-points" if "published" in experiment.source else "consistent"
    form = experiment.parameters.get("friction_form", "paper")
    return f"friction of the {form}" if experiment.source == "pendulum" else "–"
