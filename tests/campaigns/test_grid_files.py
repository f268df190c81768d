"""Damaged grid files: each is a grid or one sentence, and nothing that it names is ever run.

pytest tests/campaigns/test_grid_files.py --campaign 1000
"""

import functools
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from campaign import Wrong, run
from damage import damage

from pnde.errors import PndeError

DATA = Path(__file__).parents[1] / "grids" / "data"
_EVENTS = re.compile(
    r"os\.(system|exec|posix_spawn|spawn|fork|remove|rename|rmdir|link|symlink|truncate|putenv)"
    r"|subprocess\.|shutil\.|socket\.(connect|bind)|pickle\.|ctypes\.|webbrowser\.|urllib\."
)

PROGRAM = b"""function mpc = c
%% a case with arithmetic
mpc.version = '2'; mpc.baseMVA = 50 * 2;
mpc.bus = [
 1 3 0 0 0 0 1 1.02 0 110 1 1.1 0.9; % slack
 2 2 20 5 0 0 1 1 0 110 1 1.1 0.9
 3 1 60, 20, 0 0 1 1 0 ... continued
   110 1 1.1 0.9; 4 1 10 2 0 5 1 1 0 110 1 1.1 0.9];
mpc.gen = [1 0 0 300 -300 1.02 100 1 250 0; 2 40 0 300 -300 1.01 100 1 250 0];
mpc.branch = [
 1 2 1/100 0.1 0.02 0 0 0 0 0 1 -360 360;
 2 3 0.01 0.1 0.02 0 0 0 0 0 1 -360 360;
 1 3 0.01 0.1 0.02 0 0 0 0.98 30 1 -360 360;
 3 4 0.01 0.1 0.02 0 0 0 0 0 1 -360 360;
];
mpc.dcline = [2 4 1 5 4.9 0 0 1.01 1.0 0 10 -5 5 -5 5 0 0];
mpc.bus_name = {'A'; 'B b'; 'C''s'; "D"};
[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD] = idx_bus;
pf = 0.95; k = find(mpc.bus(:, BUS_TYPE) == PQ);
mpc.bus(k, QD) = mpc.bus(k, PD) * tan(acos(pf));
if pf > 1, mpc.bus(1, :) = []; else mpc.x.y = mpc.bus'; end
"""

RAW = b"""@!IC,SBASE,REV,XFRRAT,NXFRAT,BASFRQ
0, 100.00, 35, 0, 1, 60.00 / PSS(R)E-35.1
one
two
GENERAL, THRSHZ=0.0001, PQBRAK=0.7
RATING, 1, "RATE1 ", "RATING SET 1"
0 / END OF SYSTEM-WIDE DATA, BEGIN BUS DATA
@!   I,'NAME        ', BASKV, IDE,AREA,ZONE,OWNER, VM,        VA
1,'A',110.0,3,1,1,1,1.02,0.0,1.1,0.9,1.1,0.9
2,"B",110.0,2,1,1,1,1.0,-1.0
3,'C / c',110.0,1,1,1,1,1.0,-2.0
4,'D', 20.0,1,1,1,1,0.99,-3.0
5,'E',110.0,1,1,1,1,1.0,-2.0
0 / END OF BUS DATA, BEGIN LOAD DATA
3,'1',1,1,1,60.0,20.0,5,1,4,-2,1,1,0,1.0,0.5,1
4,'1',1,1,1,10.0,2.0
0 / END OF LOAD DATA, BEGIN FIXED SHUNT DATA
3,'1',1,0.5,10.0
0 / END OF FIXED SHUNT DATA, BEGIN GENERATOR DATA
1,'1',0,0,300,-300,1.02,0,0,100,0,1,0,0,1,1,100,250,0,0,1,1
2,'1',40,0,300,-300,1.01,0,0,100,0,1,0,0,1,1,100,250,0,0,1,1
0 / END OF GENERATOR DATA, BEGIN BRANCH DATA
1,2,'1',0.01,0.1,0.02,'',0,0,0,0,0,0,0,0,0,0,0,0,0,0.01,0,0,1,1,0,1,1
2,-3,'1',0.01,0.1,0.02
3,5,'1',0,0.0001,0
0 / END OF BRANCH DATA, BEGIN SYSTEM SWITCHING DEVICE DATA
1,5,'*1',0.05,0,0,0,0,0,0,0,0,0,0,0,0,1,1,2,3,'s'
0 / END OF SYSTEM SWITCHING DEVICE DATA, BEGIN TRANSFORMER DATA
3,4,0,'1',2,3,2,1000,0.001,2,'T',1
 1000, 0.08, 50
112.0, 115.0, 30.0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,1.1,0.9,1.1,0.9,33,1
20.0, 20.0
1,3,4,'1',1,1,1,0,0,2,'W',1
0,0.1,100,0,0.2,100,0,0.2,100,1.0,-1.0
1.0
1.0
1.0,0,30
0 / END OF TRANSFORMER DATA, BEGIN AREA DATA
0 / END OF AREA DATA, BEGIN TWO-TERMINAL DC DATA
'L',1,6.2,20.0,460.0,300.0,0.0,0.1,I
2,4,20.0,15.0,0,6.8,115.0,0.7478,0.99365
3,4,18.0,20.0,0,6.8,115.0,0.7478,0.935
0 / END OF TWO-TERMINAL DC DATA, BEGIN VSC DC LINE DATA
'V',1,2.0
3,2,2,-20.0,0.8,100.0,0.0,0.0,400,1200,0.1,100,-110,0
2,1,1,100.0,1.01,0.0,0.5,0.0,400,1200,0.1,15,-14,0
0 / END OF VSC DC LINE DATA, BEGIN IMPEDANCE CORRECTION DATA
1,0.9,1.1,0.01,1.0,1.0,0.0,1.1,0.9,0.0,0,0,0
0 / END OF IMPEDANCE CORRECTION DATA, BEGIN MULTI-TERMINAL DC DATA
0 / END OF MULTI-TERMINAL DC DATA, BEGIN FACTS DEVICE DATA
'F',5,0,1,0,0,1.0,50
0 / END OF FACTS DEVICE DATA, BEGIN SWITCHED SHUNT DATA
3,'1',1,0,1,1.1,0.9,0,0,100,'',7.0,1,1,7.0
0 / END OF SWITCHED SHUNT DATA
Q
"""

NAMES = [
    *[("tripwire", "run"), ("tripwire", "function"), ("os", "system"), ("builtins", "eval")],
    *[("subprocess", "Popen"), ("pickle", "loads"), ("pandas", "read_pickle")],
    *[("pandapower.auxiliary", "pandapowerNet"), ("numpy", "load"), ("shutil", "rmtree")],
]


@functools.cache
def net():
    import pandapower

    net = pandapower.create_empty_network(name="ring", sn_mva=100)
    for _ in range(6):
        pandapower.create_bus(net, 110.0)
    pandapower.create_ext_grid(net, 0, vm_pu=1.02)
    for a, b in ((0, 1), (1, 2), (2, 3), (0, 3), (3, 4)):
        pandapower.create_line_from_parameters(net, a, b, 20, 0.06, 0.14, 260, 0.6)
    pandapower.create_load(net, 2, 30, 10, const_i_p_percent=20)
    pandapower.create_sgen(net, 3, 5, 1)
    pandapower.create_gen(net, 1, 20, vm_pu=1.01, min_q_mvar=-5, max_q_mvar=5)
    pandapower.create_switch(net, 4, 5, "b")
    pandapower.create_shunt(net, 5, -3.0, 0.1)
    pandapower.create_svc(net, 4, 10.0, -80.0, 1.0, 145.0)
    pandapower.create_dcline(net, 2, 5, 5, 1.0, 0.1, 1.0, 1.0)
    return pandapower.to_json(net).encode()


def words(content, rng):
    """Words or lines left out, doubled or exchanged: what hands and scripts do to such files."""
    parts = re.split(rb"(\n|,| )", content)
    for _ in range(int(rng.integers(1, 4))):
        a, b = (int(k) for k in rng.integers(len(parts), size=2))
        kind = rng.integers(4)
        if kind == 0:
            parts[a] = b""
        elif kind == 1:
            parts[a] = parts[a] + b" " + parts[a]
        elif kind == 2:
            parts[a], parts[b] = parts[b], parts[a]
        else:
            parts[a] = parts[b]
    return b"".join(parts)


def renamed(content, rng):
    """Other modules, classes and values at random places of the JSON, in its strings too."""
    tree = json.loads(content)
    module, name = NAMES[int(rng.integers(len(NAMES)))]
    named = {"_module": module, "_class": name, "_object": "run"}
    tables = tree["_object"]
    keys = sorted(tables)
    key = keys[int(rng.integers(len(keys)))]
    kind = rng.integers(5)
    if kind == 0:
        tables[key] = named
    elif kind == 1 and isinstance(tables[key], dict):
        tables[key] |= {"_module": module, "_class": name}
    elif kind == 2:
        tree |= {"_module": module, "_class": name}
    elif kind == 3:
        frame = {"columns": ["object", "in_service"], "index": [0], "data": [[named, True]]}
        tables["controller"] = {**tables["bus"], "_object": json.dumps(frame)}
    elif isinstance(tables[key], dict) and isinstance(tables[key].get("_object"), str):
        frame = json.loads(tables[key]["_object"])
        if frame.get("data") and frame["data"][0]:
            row = frame["data"][0]
            row[int(rng.integers(len(row)))] = named if rng.random() < 0.5 else json.dumps(named)
            tables[key]["_object"] = json.dumps(frame)
    return json.dumps(tree).encode()


def damaged(content, rng, more=()):
    kinds = [damage, words, *more]
    return kinds[int(rng.integers(len(kinds)))](content, rng)


class Watch:
    """What happens in this process while it is on: programs started, files changed, modules asked for."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self.hook)

    def hook(self, event, arguments):
        if not self.on:
            return
        writes = (
            event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        )
        if _EVENTS.match(event) or writes or (event == "import" and arguments[0] == "tripwire"):
            self.seen.append(f"{event} {arguments!r}"[:200])


@functools.cache
def watch():
    folder = tempfile.mkdtemp()
    (Path(folder) / "tripwire.py").write_text("def run(*a, **k):\n    return 1\n")
    sys.path.insert(0, folder)
    return Watch()


def check(content, suffix, seed):
    # Nothing is loaded late while the watch is on.
    import pandapower
    import pandapower.convert_format
    import pandapower.converter.pypower.to_ppc  # noqa: F401
    import scipy.sparse.linalg  # noqa: F401

    from pnde.grids import Grid, load_flow, read_grid

    guard = watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"case{suffix}"
        path.write_bytes(content)
        guard.seen.clear()
        guard.on = True
        try:
            grid = read_grid(path)
        finally:
            guard.on = False
            if guard.seen:
                raise Wrong(f"reading did more than read: {guard.seen[:3]}")
            if path.read_bytes() != content or len(list(Path(folder).iterdir())) != 1:
                raise Wrong("reading changed the folder")
    if not all(np.isfinite(x).all() for x in (grid.branches.admittance, grid.buses.shunt)):
        raise Wrong("a grid with values that are not finite")
    copy = Grid.from_dict(json.loads(json.dumps(grid.to_dict())))
    if copy.size != grid.size:
        raise Wrong("the record of the grid is another grid")
    if seed % 4 == 0:
        try:
            flow = load_flow(grid)
        except PndeError:
            return
        if not np.isfinite(flow.voltage).all():
            raise Wrong("a load flow with voltages that are not finite")


def matpower(seed):
    rng = np.random.default_rng(seed)
    content = PROGRAM if rng.random() < 0.7 else (DATA / "ieee14.m").read_bytes()
    check(damaged(content, rng), ".m", seed)


def raw(seed):
    rng = np.random.default_rng(seed)
    content = RAW if rng.random() < 0.7 else (DATA / "ieee14.raw").read_bytes()
    check(damaged(content, rng), ".raw", seed)


def pandapower_json(seed):
    rng = np.random.default_rng(seed)
    check(damaged(net(), rng, (renamed, renamed)), ".json", seed)


@pytest.mark.parametrize("kind", [matpower, raw, pandapower_json])
def test_damaged_grid_files(kind, campaign_size):
    pytest.importorskip("pandapower", reason="pandapower is not installed")
    # pandapower's own reader takes a fifth of a second for each.
    size = campaign_size // 4 if kind is pandapower_json else campaign_size
    run(kind, size, name=f"grid files, {kind.__name__}").assert_clean()


@pytest.mark.parametrize(
    ("content", "suffix"),
    [(PROGRAM, ".m"), (RAW, ".raw"), (None, ".json")],
    ids=["m", "raw", "json"],
)
def test_the_whole_files_are_read(content, suffix):
    pytest.importorskip("pandapower", reason="pandapower is not installed")
    check(content or net(), suffix, 0)
