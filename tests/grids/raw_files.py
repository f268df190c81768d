"""PSS/E raw data made for tests."""

from pathlib import Path

from pnde.grids import read_psse

DATA = Path(__file__).parent / "data"

HEAD = """0, 100.0, 33, 0, 1, 60.0 / made for a test
title
title
"""
BUSES = """ 1,'A / one', 110.0, 3, 1, 1, 1, 1.02, 5.0
 2,'B', 110.0, 2, 1, 1, 1, 1.0, 0.0
 30 'C'  20.0  1  1 1 1 1.0 0.0
 4,'D', 110.0, 4, 1, 1, 1, 1.0, 0.0
"""
LOADS = """ 30,'1',1,1,1, 40.0, 10.0, 0,0, 5.0,-3.0, 1,1,0
 30,'2',0,1,1, 99.0, 99.0, 0,0, 0,0, 1,1,0
"""
SHUNTS = " 30,'1',1, 1.0, 8.0\n"
GENERATORS = """ 1,'1', 10.0, 0.0, 50, -50, 1.03, 0, 100, 0, 1, 0, 0, 1, 1
 2,'1', 20.0, 0.0, 50, -50, 1.01, 0, 100, 0, 1, 0, 0, 1, 1
 2,'2', 5.0, 0.0, 50, -50, 1.01, 0, 100, 0, 1, 0, 0, 1, 1
"""
BRANCHES = " 1,-2,'1', 0.01, 0.1, 0.04,0,0,0, 0.001, 0.002, 0.003, 0.004, 1\n"
TRANSFORMER = """ 2,30,0,'1',{cw},{cz},{cm}, {mag1}, {mag2}, 2,'T',1
 {r}, {x}, {base}
 {windv1}, {nomv1}, 30.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
 {windv2}, {nomv2}
"""
PLAIN = dict(
    cw=1, cz=1, cm=1, mag1=0, mag2=0, r=0.002, x=0.08, base=100,
    windv1=0.98, nomv1=0, windv2=1.0, nomv2=0,
)  # fmt: skip


def case(
    head=HEAD, buses=BUSES, loads=LOADS, shunts=SHUNTS, generators=GENERATORS, branches=BRANCHES,
    transformers=None, rest="",
):  # fmt: skip
    if transformers is None:
        transformers = TRANSFORMER.format(**PLAIN)
    sections = [buses, loads, shunts, generators, branches, transformers, rest]
    return head + "".join(f"{text}0 / end\n" for text in sections) + "Q\n"


def read(tmp_path, text):
    path = tmp_path / "made.raw"
    path.write_text(text)
    return read_psse(path)


def transformer(tmp_path, **changes):
    grid = read(tmp_path, case(transformers=TRANSFORMER.format(**{**PLAIN, **changes})))
    line = grid.branches
    return 1 / line.admittance[-1], line.tap[-1], line.shift[-1], grid.buses.shunt
