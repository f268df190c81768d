"""Elements of a pandapower net that its conversion to MATPOWER's tables leaves out or changes.

What is simple becomes generators, loads and shunts of the (copied) net; what takes power and is not
modelled is refused by name; what regulates stays where it is, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pnde.errors import GridError, listed, shown

log = logging.getLogger(__name__)

# Columns that name buses, by table.
_BUSES = {
    **dict.fromkeys(
        ("load", "sgen", "gen", "ext_grid", "motor", "storage", "shunt", "ward", "xward", "svc",
         "ssc", "asymmetric_load", "asymmetric_sgen", "switch"),
        ("bus",),
    ),
    **dict.fromkeys(("line", "impedance", "dcline", "tcsc"), ("from_bus", "to_bus")),
    "trafo": ("hv_bus", "lv_bus"),
    "trafo3w": ("hv_bus", "mv_bus", "lv_bus"),
}  # fmt: skip
_REFUSED = {
    "tcsc": "TCSC", "vsc": "VSC", "vsc_stacked": "stacked VSC", "vsc_bipolar": "bipolar VSC",
    "b2b_vsc": "back-to-back VSC",
}  # fmt: skip
#: Numbers of buses are positions in a table that pandapower makes as long as the largest.
_LARGEST_INDEX = 10_000_000

# Options that change the result and that the conversion knows.
_TAKEN = {"calculate_voltage_angles": True, "trafo_model": "t", "switch_rx_ratio": 2.0}
# Options that change the result, with the values that leave it as it is here.
_ONLY = {
    "trafo3w_losses": "hv", "neglect_open_switch_branches": False, "tdpf": False,
    "distributed_slack": False,
}  # fmt: skip
_HERE = ("voltage_depend_loads", "consider_line_temperature", "enforce_q_lims", "enforce_p_lims")
_WITHOUT_BEARING = (
    "algorithm", "init", "init_vm_pu", "init_va_degree", "max_iteration", "tolerance_mva",
    "trafo_loading", "check_connectivity", "numba", "recycle", "v_debug", "lightsim2grid",
    "only_v_results", "use_umfpack", "permc_spec", "delta_q", "mode", "ac", "tdpf_update_r_theta",
    "tdpf_delay_s", "run_control",
)  # fmt: skip


@dataclass
class Extra:
    """What stands beside the tables, by bus index: MVA at 1 p.u., drawn where positive.

    **Attributes:**

    - `current`: of constant-current loads.
    - `impedance`: of constant-impedance loads, P + jQ.
    - `options`: arguments of pandapower's conversion.
    """

    current: dict[int, complex] = field(default_factory=dict)
    impedance: dict[int, complex] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def prepared(net: Any, title: str) -> Extra:
    """Change a copied net so that pandapower's conversion says all of it; returns the rest.

    **Raises:** [`pnde.errors.GridError`][] for an element or an option that is not modelled, and
    for one at a bus that is not there.
    """
    _check_buses(net, title)
    for table, name in _REFUSED.items():
        rows = _in_service(net, table)
        if len(rows):
            raise GridError(
                f"{title} has the {name} {rows.index[0]} (net.{table}) in service, which pnde does "
                "not model; take it out of service, or replace it by loads and generators"
            )
    options = _options(net, title)
    extra = Extra(options={key: options[key] for key in _TAKEN})
    _limit_powers(net, options)
    if options["consider_line_temperature"]:
        _warm_lines(net)
    if options["voltage_depend_loads"]:
        _split_loads(net, title, extra)
    _add_dc_lines(net, title)
    _add_svcs(net, title)
    _add_sscs(net, title)
    _warn(net, title)
    return extra


def _in_service(net: Any, table: str) -> Any:
    rows = net[table] if table in net else None
    if rows is None or not len(rows):
        return ()
    return rows[rows["in_service"].astype(bool)] if "in_service" in rows.columns else rows


def _check_buses(net: Any, title: str) -> None:
    known = set(net.bus.index.tolist())
    if known and not 0 <= min(known) <= max(known) <= _LARGEST_INDEX:
        raise GridError(
            f"{title} has bus numbers from {min(known)} to {max(known)}; renumber them with "
            "pandapower.toolbox.create_continuous_bus_index(net)"
        )
    for table, columns in _BUSES.items():
        rows: Any = net.get(table)
        for column in columns:
            if rows is None or column not in rows.columns:
                continue
            for index, bus in zip(rows.index, rows[column], strict=True):
                if bus not in known:
                    raise GridError(
                        f"{title}: the {table} {index} stands at bus {shown(bus)} ({column}), which "
                        "is not in net.bus; add the bus or remove the element"
                    )


def _options(net: Any, title: str) -> dict[str, Any]:
    stored: Mapping[str, Any] = dict(net.get("user_pf_options") or {})
    options: dict[str, Any] = {
        **_TAKEN,
        "voltage_depend_loads": True,
        "consider_line_temperature": False,
        "enforce_q_lims": False,
        "enforce_p_lims": False,
    }
    for name, value in stored.items():
        if name in _ONLY and value != _ONLY[name]:
            raise GridError(
                f"{title} stores the option {name} = {shown(value)} (net.user_pf_options), which "
                f"pnde does not model; set it to {_ONLY[name]!r} or remove it"
            )
        if name in options:
            options[name] = value
    if options["calculate_voltage_angles"] == "auto":
        options["calculate_voltage_angles"] = True
    if options["enforce_q_lims"]:
        log.warning(
            "%s stores enforce_q_lims; pnde holds sources at their reactive limits where "
            "load_flow(grid, reactive_limits=True) is asked to",
            title,
        )
    unknown = sorted(set(stored) - {*options, *_ONLY, *_WITHOUT_BEARING})
    if unknown:
        log.warning("%s: ignored the stored options %s", title, listed(unknown))
    return options


def _limit_powers(net: Any, options: Mapping[str, Any]) -> None:
    """Static generators are clipped to their limits where the net asks for it, and only there."""
    for option, kind, tables in (
        ("enforce_q_lims", "q_mvar", ("sgen",)),
        ("enforce_p_lims", "p_mw", ("sgen", "gen")),
    ):
        for table in tables:
            rows = net[table]
            lowest, highest = f"min_{kind}", f"max_{kind}"
            for bound in (lowest, highest):
                if options[option] and bound in rows.columns and len(rows):
                    side = "lower" if bound == lowest else "upper"
                    rows[kind] = rows[kind].clip(**{side: rows[bound]})
    # The conversion would clip the reactive power in any case.
    kept = [x for x in ("min_q_mvar", "max_q_mvar") if x in net.sgen.columns]
    net["sgen"] = net.sgen.drop(columns=kept)
    if "reactive_capability_curve" in net.sgen.columns:
        net.sgen["reactive_capability_curve"] = False


def _warm_lines(net: Any) -> None:
    """R at a line's temperature, R₂₀ (1 + α (T − 20 °C)), as pandapower has it."""
    if "temperature_degree_celsius" not in net.line.columns:
        return
    warmth = net.line["temperature_degree_celsius"].astype(float) - 20
    rate = net.line["alpha"].astype(float).fillna(0.004) if "alpha" in net.line.columns else 0.004
    net.line["r_ohm_per_km"] *= (1 + rate * warmth).fillna(1.0)


def _split_loads(net: Any, title: str, extra: Extra) -> None:
    """Leave the constant power of loads in the net; the other parts go to their bus."""
    load = net.load
    shares = {}
    for kind in "zi":
        for power in "pq":
            column = f"const_{kind}_{power}_percent"
            values = load[column] if column in load.columns else 0 * load["p_mw"]
            shares[kind + power] = values.astype(float).fillna(0.0).to_numpy() / 100
    for power in "pq":
        constant = 1 - shares["z" + power] - shares["i" + power]
        for k in np.flatnonzero(constant < -1e-9).tolist():
            raise GridError(
                f"{title}: the load {load.index[k]} draws more than 100 % at constant impedance and "
                "current; correct its const_z and const_i percentages"
            )
    used = load["in_service"].astype(bool).to_numpy() * load["scaling"].astype(float).to_numpy()
    p, q = load["p_mw"].astype(float).to_numpy(), load["q_mvar"].astype(float).to_numpy()
    for kind, into in (("i", extra.current), ("z", extra.impedance)):
        drawn = used * (p * shares[kind + "p"] + 1j * q * shares[kind + "q"])
        for k in np.flatnonzero(drawn).tolist():
            bus = int(load["bus"].iloc[k])
            into[bus] = into.get(bus, 0j) + complex(drawn[k])
    net.load["p_mw"] = p * (1 - shares["zp"] - shares["ip"])
    net.load["q_mvar"] = q * (1 - shares["zq"] - shares["iq"])


def _add_dc_lines(net: Any, title: str) -> None:
    """Two generators for each DC line, as ``pandapower.runpp`` makes them."""
    from pandapower import create_gen

    lines = _in_service(net, "dcline")
    for row in lines.itertuples() if len(lines) else ():
        power = abs(float(row.p_mw))
        left = power * (1 - float(row.loss_percent) / 100) - float(row.loss_mw)
        given, drawn = (left, -power) if row.p_mw > 0 else (-power, left)
        for end, p_mw in (("to", given), ("from", drawn)):
            create_gen(
                net,
                bus=int(getattr(row, f"{end}_bus")),
                p_mw=p_mw,
                vm_pu=float(getattr(row, f"vm_{end}_pu")),
                min_q_mvar=float(getattr(row, f"min_q_{end}_mvar", np.nan)),
                max_q_mvar=float(getattr(row, f"max_q_{end}_mvar", np.nan)),
            )
    if len(lines):
        log.warning("%s: its %d DC lines are generators at their ends", title, len(lines))


def _add_svcs(net: Any, title: str) -> None:
    """A controllable SVC is a source without active power that keeps its bus's voltage.

    The susceptance of a thyristor-controlled reactor at the firing angle α beside its capacitor is
    B = −(2 (π − α) + sin 2α + π X_L/X_C) / (π X_L), X_C negative.
    """
    from pandapower import create_gen, create_shunt

    svcs = _in_service(net, "svc")
    for row in svcs.itertuples() if len(svcs) else ():
        kv = float(net.bus.at[row.bus, "vn_kv"])

        def injected(degrees: float, x_l: float, x_c: float, kv: float) -> float:
            """Mvar at 1 p.u."""
            angle = np.deg2rad(degrees)
            share = 2 * (np.pi - angle) + np.sin(2 * angle) + np.pi * x_l / x_c
            return float(-(kv**2) * share / (np.pi * x_l))

        x = float(row.x_l_ohm), float(row.x_cvar_ohm), kv
        if not row.controllable:
            q = injected(float(row.thyristor_firing_angle_degree), *x)
            create_shunt(net, bus=int(row.bus), q_mvar=-q, p_mw=0.0)
            continue
        bounds = [
            injected(float(getattr(row, f"{side}_angle_degree", angle)), *x) * row.set_vm_pu**2
            for side, angle in (("min", 90.0), ("max", 180.0))
        ]
        create_gen(
            net,
            bus=int(row.bus),
            p_mw=0.0,
            vm_pu=float(row.set_vm_pu),
            min_q_mvar=min(bounds),
            max_q_mvar=max(bounds),
        )
    if len(svcs):
        log.warning(
            "%s: its %d SVCs are sources of reactive power that keep the voltage of their bus",
            title,
            len(svcs),
        )
        net["svc"] = net.svc.iloc[:0]


def _add_sscs(net: Any, title: str) -> None:
    """A static synchronous compensator (STATCOM) without losses, likewise."""
    from pandapower import create_gen

    sscs = _in_service(net, "ssc")
    for row in sscs.itertuples() if len(sscs) else ():
        if float(row.r_ohm) != 0 or not row.controllable:
            raise GridError(
                f"{title} has the SSC {row.Index} (net.ssc) with losses or without control, which "
                "pnde does not model; set r_ohm to 0 and controllable to True, or replace it by a "
                "generator"
            )
        create_gen(net, bus=int(row.bus), p_mw=0.0, vm_pu=float(row.set_vm_pu))
    if len(sscs):
        log.warning(
            "%s: its %d SSCs are sources of reactive power that keep the voltage of their bus",
            title,
            len(sscs),
        )
        net["ssc"] = net.ssc.iloc[:0]


def _warn(net: Any, title: str) -> None:
    for table, name in (("asymmetric_load", "loads"), ("asymmetric_sgen", "generators")):
        rows = _in_service(net, table)
        if len(rows):
            log.warning(
                "%s: its %d asymmetric %s count with the sum of their phases",
                title,
                len(rows),
                name,
            )
    controllers = _in_service(net, "controller")
    if len(controllers):
        log.warning(
            "%s: %d controllers are left out; what they set stays as the net has it",
            title,
            len(controllers),
        )
