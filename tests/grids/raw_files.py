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


def of_version(version):
    rates = "0," * (12 if version >= 34 else 3)
    shunts = "0.0,19.0," if version <= 30 else ""
    buses = (
        f"1,'A',110.0,3,{shunts.replace('19', '0')}1,1,{'' if version <= 30 else '1,'}1.02,0.0\n"
        f"2,'B',110.0,2,{shunts.replace('19', '0')}1,1,{'' if version <= 30 else '1,'}1.0,0.0\n"
        f"3,'C',110.0,1,{shunts}1,1,{'' if version <= 30 else '1,'}1.0,0.0\n"
    )
    loads = "3,'1',1,1,1,60.0,20.0,0,0,0,0,1\n"
    node, base = ("0,", "0,") if version >= 35 else ("", "")
    machines = "".join(
        f"{n},'1',{p},0,300,-300,{v},0,{node}100,0,1,0,0,1,1,100,250,0,{base}1,1\n"
        for n, p, v in ((1, 0, 1.02), (2, 40, 1.01))
    )
    name = "'a line'," if version >= 34 else ""
    met = "" if version <= 30 else "1,"
    branches = "".join(
        f"{i},{j},'1',0.01,0.1,0.02,{name}{rates}0,0,0,0,1,{met}0,1,1\n"
        for i, j in ((1, 2), (2, 3))
    )
    switches = "1,3,'1',0.1," + 12 * "0," + "1,1,1,2,'switch'\n"
    plain = "1,3,'1',0,0.1,0," + name + rates + "0,0,0,0,1\n"
    control = "0,0," + node + "1.1,0.9,1.1,0.9,33,0,0,0,0"
    transformer = (
        f"1,3,0,'1',1,1,1,0,0,2,'T',1,1,1\n0.002,0.05,100\n1.02,0,30,{rates}{control}\n1,0\n"
    )
    switched = {
        29: "3,1,1.1,0.9,0,'',7.0,1,7.0\n", 30: "3,1,1.1,0.9,0,100,'',7.0,1,7.0\n",
        31: "3,1,1.1,0.9,0,100,'',7.0,1,7.0\n", 35: "3,'1',1,0,1,1.1,0.9,0,0,100,'',7.0,1,1,7.0\n",
    }.get(version, "3,1,0,1,1.1,0.9,0,100,'',7.0,1,7.0\n")  # fmt: skip
    fixed = ["3,'1',1,0.0,19.0\n"] if version > 30 else []
    devices = [switches] if version >= 34 else []
    branches += "" if version >= 34 else plain
    dc = ["", "", ""]  # areas, two-terminal lines, converters
    if version <= 30:
        rest = [*dc, switched, "1,0.9,1.1,1.1,0.9\n", *6 * [""]]
    else:
        rest = [*dc, "1,0.9,1.1,1.1,0.9\n", *6 * [""], switched]
    head = f"0,100.0,{version},0,0,50.0\none\ntwo\n"
    if version >= 34:
        head = f'@!IC,SBASE\n{head}GENERAL, THRSHZ=0.0002\nRATING, 1, "R", "r"\n0 / END OF SYSTEM-WIDE DATA\n'
    sections = [buses, loads, *fixed, machines, branches, *devices, transformer, *rest]
    return head, sections
