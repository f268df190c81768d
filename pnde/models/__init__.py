"""Models: their kinds, what they are made of, and the weights that they start from."""

from pnde.models.kind import ModelKind
from pnde.models.mechanics import Mechanics, check_mechanics, scales
from pnde.models.metric import checked_metric, default_metric
from pnde.models.model import Model
from pnde.models.skew_gradient import check_skew_gradient
from pnde.models.weights import (
    Weights,
    array_shapes,
    check_weights,
    initial_weights,
    network_sizes,
    weight_shapes,
)

__all__ = [
    "Mechanics",
    "Model",
    "ModelKind",
    "Weights",
    "array_shapes",
    "check_mechanics",
    "check_skew_gradient",
    "check_weights",
    "checked_metric",
    "default_metric",
    "initial_weights",
    "network_sizes",
    "scales",
    "weight_shapes",
]
