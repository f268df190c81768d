"""Models: what they are made of, and the weights that they start from."""

from pnde.models.model import Model
from pnde.models.weights import Weights, initial_weights

__all__ = ["Model", "Weights", "initial_weights"]
