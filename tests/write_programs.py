"""Writes the programs, and what JAX computes, that the Julia package's tests evaluate: julia/PNDE/test/programs.toml.

    python tests/write_programs.py

Each is a function of test_tracing.py, its derivative, and the pullback of that.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tomli_w
from test_tracing import FUNCTIONS, derivatives

from pnde.engines.julia.programs import flat_program
from pnde.engines.julia.tracing import trace

FILE = Path(__file__).parents[1] / "julia" / "PNDE" / "test" / "programs.toml"


def entries():
    with jax.enable_x64(True):
        for name, function in FUNCTIONS.items():
            for order, derivative in enumerate(derivatives(function)):
                program = trace(derivative, [6, 1], "the law")
                if sum(len(step.integers) for step in program.steps) > 3000:
                    continue  # what it is made of is in the others
                states = np.random.default_rng(0).uniform(0.5, 2.0, (3, 6))
                expected = [derivative(jnp.asarray(u), jnp.asarray([0.3])) for u in states]
                yield {
                    "name": f"{name}, derivative {order}",
                    "states": states.tolist(),
                    "w": 0.3,
                    "expected": np.asarray(expected).tolist(),
                    "program": {
                        key: value.tolist() if isinstance(value, np.ndarray) else value
                        for key, value in flat_program(program).items()
                    },
                }


if __name__ == "__main__":
    FILE.write_text(tomli_w.dumps({"entry": list(entries())}))
