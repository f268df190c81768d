"""Networks on JAX arrays, and their weights as the engine holds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.models import Model, Weights

Layers = list[tuple[Array, Array]]
"""Weight `(inputs, outputs)` and bias `(outputs,)` of each layer."""
Parameters = Layers | dict[str, Array]
"""Of a mechanical model, arrays by the names of `pnde.models.Weights`."""


@jax.custom_jvp
def _gelu(z: Array) -> Array:
    """x Φ(x) in the tanh form, as NNlib's."""
    return jax.nn.gelu(z)


@_gelu.defjvp
def _gelu_jvp(primals, tangents):
    # Only the slope is kept for the way back; JAX would keep each factor that it is made of.
    (z,), (z_dot,) = primals, tangents
    a, b = math.sqrt(2 / math.pi), 0.044715
    tanh = jnp.tanh(a * (z + b * z**3))
    slope = 0.5 * (1 + tanh) + 0.5 * a * z * (1 - tanh**2) * (1 + 3 * b * z**2)
    return 0.5 * z * (1 + tanh), slope * z_dot


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": _gelu,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
}


def parameters(weights: Weights, dtype: Any) -> Parameters:
    """Weights as the engine holds them."""
    arrays = {name: jnp.asarray(array, dtype) for name, array in weights.items()}
    return layers_of(arrays, "layers") if "layers.0.weight" in arrays else arrays


def weights(parameters: Parameters) -> Weights:
    """The inverse of `parameters`, on the host and in the parameters' precision."""
    if isinstance(parameters, dict):
        return {name: np.asarray(array) for name, array in jax.device_get(parameters).items()}
    out: Weights = {}
    for i, (weight, bias) in enumerate(jax.device_get(parameters)):
        out[f"layers.{i}.weight"], out[f"layers.{i}.bias"] = np.asarray(weight), np.asarray(bias)
    return out


def layers_of(arrays: dict[str, Array], name: str) -> Layers:
    """The layers of one network of several."""
    count = sum(key.startswith(f"{name}.") and key.endswith(".bias") for key in arrays)
    return [(arrays[f"{name}.{i}.weight"], arrays[f"{name}.{i}.bias"]) for i in range(count)]


def network(model: Model, layers: Layers, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
    """The multilayer perceptron."""
    settings = model.config.network
    activation = _ACTIVATIONS[settings.activation]

    def layer(x, weight, bias):
        return jnp.matmul(x, weight, precision=settings.matmul_precision) + bias

    for i, (weight, bias) in enumerate(layers[:-1]):
        y = activation(layer(x, weight, bias))
        x = x + y if settings.skip and i > 0 else y
    return layer(x, *layers[-1])
