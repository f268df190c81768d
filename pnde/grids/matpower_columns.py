"""The columns of MATPOWER's tables by name (MATPOWER User's Manual, appendix B), from 1 on."""

from __future__ import annotations

_BUS = (
    "BUS_I", "BUS_TYPE", "PD", "QD", "GS", "BS", "BUS_AREA", "VM", "VA", "BASE_KV", "ZONE", "VMAX",
    "VMIN", "LAM_P", "LAM_Q", "MU_VMAX", "MU_VMIN",
)  # fmt: skip
_GENERATOR = (
    "GEN_BUS", "PG", "QG", "QMAX", "QMIN", "VG", "MBASE", "GEN_STATUS", "PMAX", "PMIN", "PC1",
    "PC2", "QC1MIN", "QC1MAX", "QC2MIN", "QC2MAX", "RAMP_AGC", "RAMP_10", "RAMP_30", "RAMP_Q",
    "APF", "MU_PMAX", "MU_PMIN", "MU_QMAX", "MU_QMIN",
)  # fmt: skip
_BRANCH = (
    "F_BUS", "T_BUS", "BR_R", "BR_X", "BR_B", "RATE_A", "RATE_B", "RATE_C", "TAP", "SHIFT",
    "BR_STATUS", "ANGMIN", "ANGMAX", "PF", "QF", "PT", "QT", "MU_SF", "MU_ST", "MU_ANGMIN",
    "MU_ANGMAX",
)  # fmt: skip
_DC_LINE = (
    "F_BUS", "T_BUS", "BR_STATUS", "PF", "PT", "QF", "QT", "VF", "VT", "PMIN", "PMAX", "QMINF",
    "QMAXF", "QMINT", "QMAXT", "LOSS0", "LOSS1", "MU_PMIN", "MU_PMAX", "MU_QMINF", "MU_QMAXF",
    "MU_QMINT", "MU_QMAXT",
)  # fmt: skip
_COST = {"PW_LINEAR": 1, "POLYNOMIAL": 2, "MODEL": 1, "STARTUP": 2, "SHUTDOWN": 3, "NCOST": 4,
         "COST": 5}  # fmt: skip

#: Names of the columns of a table, in their order.
NAMES = {"bus": _BUS, "gen": _GENERATOR, "branch": _BRANCH, "dcline": _DC_LINE}


def _numbered(names: tuple[str, ...]) -> dict[str, float]:
    return {name: float(k) for k, name in enumerate(names, start=1)}


def _ordered(names: tuple[str, ...], order: str) -> dict[str, float]:
    """The numbers in the order of a function's outputs, which is not that of the columns."""
    numbers = _numbered(names)
    return {name: numbers[name] for name in order.split()}


#: What MATPOWER's functions of named columns return, in the order of their outputs.
CONSTANTS: dict[str, dict[str, float]] = {
    "idx_bus": {"PQ": 1.0, "PV": 2.0, "REF": 3.0, "NONE": 4.0, **_numbered(_BUS)},
    "idx_gen": _ordered(
        _GENERATOR,
        "GEN_BUS PG QG QMAX QMIN VG MBASE GEN_STATUS PMAX PMIN MU_PMAX MU_PMIN MU_QMAX MU_QMIN PC1 "
        "PC2 QC1MIN QC1MAX QC2MIN QC2MAX RAMP_AGC RAMP_10 RAMP_30 RAMP_Q APF",
    ),
    "idx_brch": _ordered(
        _BRANCH,
        "F_BUS T_BUS BR_R BR_X BR_B RATE_A RATE_B RATE_C TAP SHIFT BR_STATUS PF QF PT QT MU_SF "
        "MU_ST ANGMIN ANGMAX MU_ANGMIN MU_ANGMAX",
    ),
    "idx_cost": {name: float(number) for name, number in _COST.items()},
    "idx_dcline": _numbered(_DC_LINE),
}  # fmt: skip
CONSTANTS["define_constants"] = {
    name: number
    for key in ("idx_bus", "idx_brch", "idx_gen", "idx_cost")
    for name, number in CONSTANTS[key].items()
}
