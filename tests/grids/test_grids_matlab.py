"""MATLAB's assignments and arithmetic: the values that MATLAB gives, and what is refused."""

import numpy as np
import pytest

from pnde.errors import DataError
from pnde.grids.matlab import Cells, read_matlab


def value(code, name="x"):
    return read_matlab(code, "f.m").variables[name]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # Literals: white space and signs between brackets, commas, lines, transposes, strings.
        ("x = [1 -2]", [[1, -2]]),
        ("x = [1 - 2]", [[-1]]),
        ("x = [1 -2 + 3, 4]", [[1, 1, 4]]),
        ("x = [1, 2\n 3, 4 % c\n\n 5 6;]", [[1, 2], [3, 4], [5, 6]]),
        ("x = [1 2 ... c\n 3]", [[1, 2, 3]]),
        ("a = [1 2]; x = [a' a']", [[1, 1], [2, 2]]),
        ("a = [1 2]; x = [a', a.']", [[1, 1], [2, 2]]),
        ("x = [1 2; 3 4]'", [[1, 3], [2, 4]]),
        ("x = [1d2 1e-1 .5 5. 1E+1]", [[100, 0.1, 0.5, 5, 10]]),
        ("x = [Inf -inf NaN]", [[np.inf, -np.inf, np.nan]]),
        ("x = []", np.zeros((0, 0))),
        ("x = [[1 2]; [3 4]]", [[1, 2], [3, 4]]),
        ("x = {'it''s', 2}; x = x{2}", [[2]]),
        # Operators: their strength, powers before signs, from the left.
        ("x = 2 + 3 * 4 ^ 2", [[50]]),
        ("x = -2 ^ 2", [[-4]]),
        ("x = 2 ^ -1", [[0.5]]),
        ("x = 2 ^ 3 ^ 2", [[64]]),
        ("x = 8 / 2 / 2", [[2]]),
        ("x = 1./[1 2 4]", [[1, 0.5, 0.25]]),
        ("x = 2 \\ 8", [[4]]),
        ("x = [1 2; 3 4] * [1; 1]", [[3], [7]]),
        ("x = [1 2; 3 4] .* [1; 10]", [[1, 2], [30, 40]]),
        ("x = 1:3", [[1, 2, 3]]),
        ("x = 6:-2:1", [[6, 4, 2]]),
        ("x = 0:0.1:0.3", [[0, 0.1, 0.2, 0.3]]),
        ("x = 2:1", np.zeros((1, 0))),
        ("x = 1:3 + 1", [[1, 2, 3, 4]]),
        ("x = ~[0 2] | [1 0]", [[1, 0]]),
        ("x = 3 ~= 4 && 1 == 1", [[1]]),
        ("x = 0 && undefined", [[0]]),
        # Indices: end, colons, masks, growth, removal.
        ("a = [1 2; 3 4; 5 6]; x = a(end, :)", [[5, 6]]),
        ("a = [1 2; 3 4; 5 6]; x = a(end)", [[6]]),
        ("a = [1 2; 3 4; 5 6]; x = a(2)", [[3]]),
        ("a = [1 2; 3 4; 5 6]; x = a(:)'", [[1, 3, 5, 2, 4, 6]]),
        ("a = [1 2; 3 4; 5 6]; x = a(a(:, 1) > 2, [2 1])", [[4, 3], [6, 5]]),
        ("x = [1 2 3]; x(2) = 9", [[1, 9, 3]]),
        ("x = [1 2 3]; x(5) = 9", [[1, 2, 3, 0, 9]]),
        ("x = [1 2; 3 4]; x(:, 2) = [7; 8]", [[1, 7], [3, 8]]),
        ("x = [1 2; 3 4]; x(:, 3) = 5", [[1, 2, 5], [3, 4, 5]]),
        ("x = [1 2; 3 4]; x(1, :) = []", [[3, 4]]),
        ("x = [1 2; 3 4]; x(x > 2) = 0", [[1, 2], [0, 0]]),
        ("a = [1 2]; x = a; x(1) = 5; x = a", [[1, 2]]),
        ("s.a.b = 3; s.a.c = 4; x = s.a.b", [[3]]),
        ("s.if = 3; x = s.if", [[3]]),
        # Functions and conditions.
        ("x = tan(acos(0.8))", [[0.75]]),
        ("x = sqrt(3) * cosd(60)", [[np.sqrt(3) / 2]]),
        ("x = sum([1 2; 3 4])", [[4, 6]]),
        ("x = sum([1 2 3])", [[6]]),
        ("x = find([0 1 1])", [[2, 3]]),
        ("x = find(isinf([0; Inf]))", [[2]]),
        ("x = ones(2, 1) * max(1, 3)", [[3], [3]]),
        ("x = size([1 2 3], 2) + numel([1 2]) + isempty([])", [[6]]),
        ("if strcmp('a', 'a'), x = 1; else x = 2; end", [[1]]),
        ("x = 1; if [], x = 2; end", [[1]]),
        ("%{\nx = 1;\n%{\n%}\n%}\nx = 2; % x = 3\n# x = 4", [[2]]),
        ("x = round(2.5) + fix(-1.5) + pi * 0", [[2]]),
    ],
)
def test_values(code, expected):
    np.testing.assert_allclose(value(code), np.array(expected, float), rtol=1e-15)


def test_strings_cells_and_structures():
    code = "c = {'a', \"b\"; 1, [1 2]}; s = struct('p', 'q'); t = ['x' 'yz']; c{3, 1} = 'n';"
    found = read_matlab(code, "f.m").variables
    assert isinstance(found["c"], Cells) and found["c"].values.shape == (3, 2)
    assert found["c"].values[0].tolist() == ["a", "b"] and found["c"].values[2, 0] == "n"
    assert found["s"] == {"p": "q"} and found["t"] == "xyz"


def test_lines_of_rows():
    code = "m.x = [\n1 2;\n3 -4; 5 6\n];\nm.y = [ 1+1\n 3 ];\nm.x(2, :) = [];\nz = m.x;"
    lines = read_matlab(code, "f.m").lines
    assert lines["m.x"] == [2, 3] and lines["m.y"] == [5, 6] and "z" not in lines


def test_outputs():
    assert read_matlab("function [a, b] = f(x)\na = 1;", "f.m").outputs == ["a", "b"]
    assert read_matlab("function f\na = 1;", "f.m").outputs == []
    assert read_matlab("a = 1;", "f.m").outputs == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("system('rm -rf /')", "line 1: .*system is not defined"),
        ("x = 1;\nx = eval('1')", "line 2: .*eval is not defined"),
        ("!ls", "ls is not defined"),
        ("x = loadcase('case9')", "loadcase is not defined"),
        ("for k = 1:3, x = k; end", "'for' is code that pnde does not run"),
        ("while 1, end", "'while' is code"),
        ("[a, b] = size([1 2])", "code that pnde does not run"),
        ("addpath tmp", "code that pnde does not run"),
        ("addpath /tmp", "addpath is not defined"),
        ("f = @sin; x = f(1)", "a function handle stands where a number is meant"),
        ("x = [1 2; 3]", "row 2 has 1 columns, the first row has 2"),
        ("x = [1 2\n3 4\n", "line 1: the bracket .*never closed; the file may be cut short"),
        ("x = 1)", r"'\)' closes no bracket"),
        ("x = 'abc", "the string that begins here has no end"),
        ("x = 1 2", "end of the statement is missing"),
        ("x = (1 + ", "never closed"),
        ("x = 1 +", "a value is missing before the end of the line"),
        ("3 = x", "left of '=' cannot be assigned"),
        ("x = 1_000", "'1_000' is not a number"),
        ("x = 0x10", "is not a number"),
        ("x = 3i", "is not a number"),
        ("x = ١٢", "is no part of MATLAB|is not a number"),
        ("x = sqrt(-1)", "its result is not real"),
        ("x = acos(2)", "its result is not real"),
        ("x = (-8) ^ (1/3)", "not real"),
        ("x = [1 2] * [1 2]", "cannot be multiplied"),
        ("x = [1 2; 3 4] \\ [1; 2]", "linear algebra"),
        ("x = [1 2] + [1 2 3]", "do not fit together"),
        ("x = zeros(1e9)", "more than any grid has"),
        ("x = 1:1e15", "more than any grid has"),
        ("x = ones(1e4, 1) * ones(1, 1e5)", "more than any grid has"),
        ("x(1e12) = 1", "more than any grid has"),
        ("x = repmat([1 2], 1e5, 1e5)", "more than any grid has"),
        ("x = [1 2]; x = x(3)", "index 3 is beyond the 2 elements"),
        ("x = [1 2]; x = x(0)", "no whole number from 1 on"),
        ("x = " + 100 * "(" + "1" + 100 * ")", "nested too deep"),
        ("x = " + 100 * "[" + "1" + 100 * "]", "nested too deep"),
        (60 * "if 1\n" + "x = 1\n" + 60 * "end\n", "nested too deep"),
        ("x = " + 3000 * "-" + "1;", "too many signs"),
        ("x = 1" + 5000 * "'", "nested too deep"),
        ("x = 1" + 5000 * " + 1", "nested too deep"),
        ("x = 1" + 5000 * "^1", "nested too deep"),
        ("%{\n x = 1", "block comment that begins here has no end"),
        ("if 1, x = 1;", "the if that begins here has no end"),
        ("x = 1 § 2", "is no part of MATLAB's language"),
        ("s = 1; s.a = 2", "a matrix of numbers has no field 'a'"),
        ("x = {1}; y = x + 1", "a cell array stands where a number is meant"),
        ("x = [1, , 2]", "an element is missing"),
    ],
)
def test_what_is_refused(code, message):
    with pytest.raises(DataError, match=message) as caught:
        read_matlab(code, "f.m")
    assert len(str(caught.value)) <= 300


def test_a_long_file_takes_a_time_that_grows_with_it():
    """A bracket that is not plain is found out in one pass."""
    import time

    def seconds(rows):
        text = "x = [" + rows * "1 2 3 4 5 6 7 8 9 10 11 12;\n" + "a]; a = 1;"
        begin = time.process_time()  # waiting for a core that others have is no time of its own
        with pytest.raises(DataError, match="a is not defined"):
            read_matlab(text, "f.m")
        return time.process_time() - begin

    seconds(10)
    assert seconds(4000) < 40 * max(seconds(400), 0.01)
