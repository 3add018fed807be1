"""Shapes of a table's columns: computed once, and with the point masses of the table that rows were drawn from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from shaped_examples import shaped_table

from gomea_bn.data.table import read_table
from gomea_bn.problems.cuts.shape_fit import fit_shape, share_point_masses, table_shapes


def test_a_table_keeps_its_shapes():
    table = shaped_table(100)
    assert table_shapes(table) is table_shapes(table)
    assert list(table_shapes(table)) == list(table.names)


def test_given_point_masses_replace_the_rule():
    values = np.concatenate((np.zeros(40), np.full(8, 2.0), np.linspace(1, 9, 52)))
    assert fit_shape(values).shape.points == {0.0: 0.4}
    assert fit_shape(values, np.array([2.0])).shape.points == {2.0: 0.08}
    assert fit_shape(values, np.array([0.0, 2.0])).shape.points == {0.0: 0.4, 2.0: 0.08}
    without = fit_shape(values, np.empty(0)).shape
    assert without.points == {}
    assert without.distribution([9.0])[0] == pytest.approx(1.0)


def test_a_part_of_a_table_has_the_point_masses_of_the_whole_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            # 0 is a point mass of the whole table only, 5 of the part only
            "x": np.concatenate((np.zeros(15), rng.normal(size=85))),
            "y": np.concatenate((rng.normal(size=94), np.full(6, 5.0))),
        }
    )
    table = read_table(frame, kinds=dict.fromkeys("xy", "continuous"))
    rows = np.arange(10, 100)[::2]
    rows = np.concatenate((rows, np.arange(94, 100)))
    alone, part = table.take(rows), table.take(rows)
    assert [list(s.shape.points) for s in table_shapes(table).values()] == [[0.0], []]
    assert [list(s.shape.points) for s in table_shapes(alone).values()] == [[], [5.0]]
    share_point_masses(part, table)
    assert [list(s.shape.points) for s in table_shapes(part).values()] == [[0.0], []]
    assert table_shapes(part)["x"].shape.points == {0.0: 3 / len(rows)}
    assert (table_shapes(part)["x"].shape.low, table_shapes(part)["x"].shape.high) == (
        part.columns[0].values.min(),
        part.columns[0].values.max(),
    )


def test_shapes_after_the_deadline_are_quick_ones() -> None:
    table = read_table(pd.DataFrame({"x": np.random.default_rng(0).normal(size=1_000)}))
    values = table.columns[0].values
    (late,) = table_shapes(table, -np.inf).values()
    assert late.shape == fit_shape(values, is_quick=True).shape != fit_shape(values).shape
