"""When a model may have the skew-gradient form."""

from __future__ import annotations

from pnde.errors import ConfigError, listed
from pnde.models.model import Model


def check_skew_gradient(model: Model, rows: tuple[str, ...]) -> None:
    """Whether the method, the order and the law, of which `rows` are the names, allow the form.

    **Raises:** `pnde.errors.ConfigError` naming the setting and the remedy.
    """
    wanted = 'network.form = "skew-gradient" learns A = -Aᵀ of the velocity A ∇h'
    if model.config.method == "nde":
        raise ConfigError(f'{wanted}, so it needs the law h: set method = "pnde"')
    if model.order == 2:
        raise ConfigError(
            f'{wanted}, and not accelerations: leave order=2 out, or set network.form = "mlp"'
        )
    if len(rows) != 1:
        raise ConfigError(
            f'{wanted} of one row h, but the law has {len(rows)} ({listed(rows)}): set network.form = "mlp"'
        )
