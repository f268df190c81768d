"""CSV, TSV and TXT: read as meant where there is one meaning, else one sentence with line, column and remedy."""

import gzip
import time

import numpy as np
import pytest

from pnde import open_data
from pnde.data import make_dataset, save_data, time_label
from pnde.errors import DataError


@pytest.fixture
def read(tmp_path):
    """Reads a text as a file of that name."""

    def read(text, name="a.csv", encoding="utf-8", **settings):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return open_data(path, **settings)

    return read


def table(ds):
    """Times and states of the first trajectory, by name."""
    names = [str(name) for name in ds["state"].values]
    columns = dict(zip(names, ds["u"].values[0].T.tolist(), strict=True))
    return {"time": ds["time"].values.tolist(), **columns}


PLAIN = {"time": [0.0, 0.5, 1.0], "x": [1.0, 2.5, -3.0], "v": [0.0, 1e-3, 4.0]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "time,x,v\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n"),
        ("a.csv", "time, x, v\r\n0, 1, 0\r\n0.5, 2.5, 1e-3\r\n1, -3, 4"),
        ("a.csv", "time,x,v\r0,1,0\r0.5,2.5,1e-3\r1,-3,4\r"),
        ("a.csv", '"time","x","v"\n"0","1","0"\n"0.5","2.5","1e-3"\n"1","-3","4"\n'),
        ("a.csv", "time;x;v\n0;1;0\n0,5;2,5;1e-3\n1;-3;4\n"),
        ("a.csv", "sep=;\ntime;x;v\n0;1;0\n0,5;2,5;0,001\n1;-3;4\n"),
        ("a.csv", "time|x|v\n0|1|0\n0.5|2.5|1e-3\n1|-3|4\n"),
        ("a.csv", "time,x,v,\n0,1,0,\n0.5,2.5,1e-3,\n1,-3,4,\n"),
        ("a.csv", "time,x,v\n0,1,0,\n0.5,2.5,1e-3,\n1,-3,4,\n"),
        ("a.csv", "time,x,v,\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n"),
        ("a.csv", "# a note\n#time,x,v\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n# end\n"),
        ("a.csv", "% time x v\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n"),
        ("a.csv", "# a note, with commas\n\ntime,x,v\n0,1,0\n,,\n0.5,2.5,1e-3\n% half\n1,-3,4\n"),
        ("a.csv", ",time,x,v\n0,0,1,0\n1,0.5,2.5,1e-3\n2,1,-3,4\n"),
        ("a.csv", "Unnamed: 0,time,x,v\n1,0,1,0\n2,0.5,2.5,1e-3\n3,1,-3,4\n"),
        ("a.csv", '"time","x","v"\n"1",0,1,0\n"2",0.5,2.5,1e-3\n"3",1,-3,4\n'),
        ("a.tsv", "time\tx\tv\n0\t1\t0\n0.5\t2.5\t1e-3\n1\t-3\t4\n"),
        ("a.tsv", "time\tx\tv\n0\t1\t0\n0,5\t2,5\t0,001\n1\t-3\t4\n"),
        ("a.txt", "  time    x      v\n   0    1.0   0.0\n 0.5    2.5  1D-3\n 1.0   -3.0   4.0\n"),
        (
            "a.txt",
            "   time    x      v\n0   0    1.0   0.0\n1 0.5    2.5  1e-3\n2 1.0   -3.0   4.0\n",
        ),
        ("a.txt", "# time x v\n0 1 0\n0,5 2,5 0,001\n1 -3 4\n"),
        ("a.csv", "Time,x,v\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n"),
        ("a.csv", "t,x,v\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n"),
        ("a.csv", "split,time,x,v\nTraining,0,1,0\ntrain,0.5,2.5,1e-3\ntrain,1,-3,4\n"),
    ],
)
def test_one_table_in_many_forms(read, name, text):
    assert table(read(text, name)) == PLAIN


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_unicode_and_gzip(tmp_path, encoding, suffix):
    text = "time,α,v\n0,1,0\n0.5,2.5,1e-3\n1,-3,4\n".encode(encoding)
    (tmp_path / f"a{suffix}").write_bytes(text)
    (tmp_path / f"a{suffix}.gz").write_bytes(gzip.compress(text))
    for name in (f"a{suffix}", f"a{suffix}.gz"):
        assert table(open_data(tmp_path / name)) == {
            "time": PLAIN["time"],
            "α": PLAIN["x"],
            "v": PLAIN["v"],
        }


@pytest.mark.parametrize(
    ("text", "states", "units"),
    [
        ("time,x,v\ns,m,m/s\n0,1,0\n1,2,3\n", ["x", "v"], ["m", "m/s"]),
        ("time,x,v\n[s],[m],-\n0,1,0\n1,2,3\n", ["x", "v"], ["m", ""]),
        ("time [s],x [m],v (m/s)\n0,1,0\n1,2,3\n", ["x", "v"], ["m", "m/s"]),
        ("time [s],x[0],x (1)\n0,1,0\n1,2,3\n", ["x[0]", "x (1)"], ["", ""]),
        ("time [s],x (left),x (right)\n0,1,0\n1,2,3\n", ["x (left)", "x (right)"], ["", ""]),
    ],
)
def test_units(read, text, states, units):
    ds = read(text)
    assert list(ds["state"].values) == states
    assert list(ds["units"].values) == units
    assert time_label(ds) == "s"


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("1,1,2,2", [1, 2]),
        ("1.0,1,2.0,2", [1, 2]),
        ("1,1,1e30,1e30", ["1", "1e+30"]),
        ("True,True,False,False", ["True", "False"]),
        ("a,a,b,b", ["a", "b"]),
        ("a,a,1.0,1", ["a", "1"]),
        ("007,7,8,8", [7, 8]),
    ],
)
@pytest.mark.parametrize("name", ["trajectory", "Run", "trial", "id"])
def test_labels_of_trajectories(read, column, labels, name):
    rows = [f"{label},{k % 2},{k}" for k, label in enumerate(column.split(","))]
    ds = read("\n".join([f"{name},time,x", *rows]))
    assert ds["trajectory"].values.tolist() == labels
    np.testing.assert_array_equal(ds["u"].values[..., 0], [[0, 1], [2, 3]])


def test_a_current_called_id_is_a_state(read):
    ds = read("time,id,iq\n0,0.5,1\n1,0.25,2\n2,0,3\n")
    assert list(ds["state"].values) == ["id", "iq"]
    for values in ("0,0,0", "0,1,0"):
        rows = [f"{k},{value},{k}" for k, value in enumerate(values.split(","))]
        with pytest.raises(DataError, match="'id' could be a state or the trajectories' names"):
            read("\n".join(["time,id,iq", *rows]))


@pytest.mark.parametrize(
    ("words", "splits"),
    [
        ("Train,train,val,valid", ["train", "valid"]),
        ("test,test,unused,unused", ["test", "unused"]),
    ],
)
@pytest.mark.parametrize("name", ["split", "set", "subset"])
def test_splits(read, words, splits, name):
    rows = [f"{k // 2},{word},{k % 2},{k}" for k, word in enumerate(words.split(","))]
    ds = read("\n".join([f"run,{name},time,x", *rows]))
    assert ds["split"].values.tolist() == splits


def test_truths_are_a_switch(read):
    assert table(read("time,open\n0,True\n1,False\n2,true\n"))["open"] == [1, 0, 1]


def test_missing_cells(read):
    ds = read("time,x,v\n0,1,NaN\n1,,2\n2,NA,3\n3,4,n/a\n4,5,6\n5,6,null\n")
    np.testing.assert_array_equal(np.isnan(ds["u"].values[0, :, 0]), [0, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(np.isnan(ds["u"].values[0, :, 1]), [1, 0, 0, 1, 0, 1])


def test_empty_cells_at_the_end_of_many_lines_may_be_left_out(read):
    rows = [f"{k},{k}" if k % 2 else f"{k},{k},1" for k in range(10)]
    ds = read("\n".join(["time,x,v", *rows]))
    np.testing.assert_array_equal(np.isnan(ds["u"].values[0, :, 1]), [0, 1] * 5)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e30, 1e300])
def test_numbers_of_any_size_are_kept_to_the_last_bit(tmp_path, scale):
    u = scale * np.random.default_rng(0).standard_normal((2, 7, 3))
    ds = make_dataset(u, scale * np.arange(7.0))
    for name in ("a.csv", "a.nc", "a.npz"):
        back = open_data(save_data(ds, tmp_path / name))
        np.testing.assert_array_equal(back["u"].values, u)
        np.testing.assert_array_equal(back["time"].values, ds["time"].values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,x\n0,1,0\n0,1,5\n", "line 2 has 3 cells.* semicolons"),
        ("time,x,v\n0,0,1,0,2\n", "line 2 has 5 cells, but the header has 3 names"),
        ("time,x,v\n0,1,2\n1,2\n", "line 3 has 2 cells.* cut short"),
        ("time x v\n0 1 2\n1 2\n", "line 3 has 2 cells"),
        ("time;x\n0,5;1.5\n1;2\n", "line 2, column 'x': '1.5' has a decimal point, but.* comma"),
        ("time;x\n0;1.234,5\n1;2\n", "'1.234,5' has thousands separators"),
        ('time,x\n0,"1,5"\n1,2\n', "'1,5' has a decimal comma in a file separated by commas"),
        ('time,x\n0,"1,234.5"\n1,2\n', "'1,234.5' has thousands separators"),
        ("0,1,2\n1,2,3\n", "line 1 holds numbers where the names"),
        ("# a note\n0,1,2\n1,2,3\n", "line 2 holds numbers where the names"),
        ("time,x\n0,1e400\n1,2\n", "line 2, column 'x': the value is infinite"),
        ("time,x\n0,1\n1,-inf\n", "line 3, column 'x': the value is infinite"),
        ("time,x\ninf,1\n1,2\n", "line 2, column 'time': the time is infinite"),
        ("time,x\n0,0x10\n1,2\n", "line 2, column 'x': '0x10' is not a number"),
        ("time,x\n0,1_000\n1,2\n", "line 2, column 'x': '1_000' is not a number"),
        ("time,x\n0,1\n1,True\n", "line 3, column 'x': 'True' stands among numbers"),
        ("time,x\n0,1\n1,2*I\n", "not a number"),
        ("time,x\n0,1\n1,3-2i\n", "line 3, column 'x': '3-2i' .* real and imaginary parts"),
        ("time,x\n0,-9.9#\n1,2\n", "line 2, column 'x'"),
        (",time,x\n5,0,1\n7,1,2\n", "column 1 has no name"),
        (
            "time,t,x\n0,0,1\n1,1,2\n",
            r"each column of time, t could be the time; say which by time='time'",
        ),
        (
            "date,time,x\n2020-01-01,0,1\n2020-01-01,1,2\n",
            "each column of date, time could be the time",
        ),
        ("run,id,time,x\n1,1,0,1\n1,1,1,2\n", "each column of run, id could be the trajectory"),
        ("run,time,x\n1,0,1\n,1,2\n", "line 3, column 'run': the trajectory has no name"),
        (
            "run,split,time,x\n1,train,0,1\n1,test,1,2\n",
            "line 3, column 'split': trajectory 1 is in the split 'test' here and in 'train' before",
        ),
        ("split,time,x\nfirst,0,1\nfirst,1,2\n", "trajectory 0 is in the split 'first'"),
        (
            "split,time,x@1,x@2\ntest,0,1,1\ntest,1,2,2\n",
            "no meaning beside columns state@trajectory",
        ),
        ("x@0,x@0.0\n1,2\n", "occurs twice, with the same time"),
        ('time,x\n0,"1\n1,2\n', "line 2: a quoted cell does not end"),
        ("# only a comment\n", "comments only"),
        ("time,x\n,\n,\n", "no rows of data"),
        ("time,x\n1577836800.1,1\n1577836800.05,2\n", "back from 1577836800.1 to 1577836800.05"),
        ("time,x\n0,1\n1,\x00\n", "zero bytes"),
        ("time,x\n01/02/2020,1\n02/02/2020,2\n", "line 2, column 'time': '01/02/2020' is no time"),
        ("time,x\n2020-01-01,1\n5,2\n", "line 3, column 'time': '5' is another kind of time"),
        ("time,x\n2020-02-30,1\n2020-02-31,2\n", "line 2, column 'time': there is no such date"),
    ],
)
def test_refused_with_line_column_and_remedy(read, text, message):
    with pytest.raises(DataError, match=message) as caught:
        read(text, "bad.csv")
    assert "bad.csv: " in str(caught.value)
    assert len(str(caught.value)) <= 300


def test_another_encoding_is_refused_with_its_line(read):
    with pytest.raises(DataError, match="line 1 is not text in UTF-8"):
        read("time,Maß\n0,1\n1,2\n", encoding="latin-1")


def test_long_contents_make_short_messages(read):
    columns = ",".join(f"a_rather_long_name_of_a_column_{k}" for k in range(10_000))
    cells = ",".join("1" for _ in range(10_000))
    for text in (f"{columns}\n{cells}\n", "time,x\n0,1\n1," + "y" * 100_000 + "\n"):
        with pytest.raises(DataError) as caught:
            read(text)
        assert len(str(caught.value)) <= 300


def test_ten_thousand_columns_take_linear_time(read):
    def seconds(count):
        rows = [",".join(str(row * count + k) for k in range(count + 1)) for row in range(3)]
        text = "\n".join([",".join(["time", *(f"s{k}" for k in range(count))]), *rows])
        began = time.process_time()
        ds = read(text)
        assert ds.sizes["state"] == count
        return time.process_time() - began

    seconds(100)
    assert seconds(10_000) < 30 * max(seconds(1_000), 0.02)
