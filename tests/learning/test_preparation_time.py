"""The preparation of columns counts in `max_seconds`, and large tables are prepared as small ones."""

import numpy as np
import pytest

from gomea_bn import read_table
from gomea_bn.learning import table_shapes as of_tables
from gomea_bn.learning.options import limits_after_preparation
from gomea_bn.network.value_kinds import measuring_step
from gomea_bn.problems.cuts.shape_fit import fit_shape
from gomea_bn.runtime.limits import Limits


def test_a_search_has_the_seconds_that_are_left():
    limits = Limits(max_seconds=10.0, max_evaluations=5)
    # 1.2 s stay for the tables
    assert limits_after_preparation(limits, 4.0).max_seconds == pytest.approx(4.8)
    assert limits_after_preparation(limits, 100.0).max_seconds == pytest.approx(0.1)
    assert limits_after_preparation(Limits(max_evaluations=5), 4.0) == Limits(max_evaluations=5)
    assert limits_after_preparation(Limits(max_seconds=np.inf), 4.0).max_seconds == np.inf


def test_threads_fit_the_same_shapes(monkeypatch):
    rng = np.random.default_rng(4)
    table = read_table({"a": rng.normal(size=200), "b": rng.gamma(2, size=200), "c": ["x", "y"] * 100})
    monkeypatch.setattr(of_tables, "_ROWS_WORTH_THREADS", 1)
    shapes = of_tables.table_shapes(table)
    assert list(shapes) == ["a", "b"]
    for column in table.columns[:2]:
        assert shapes[column.name].shape == fit_shape(column.observed).shape


@pytest.mark.parametrize("position", [0, 5000])
def test_a_value_off_the_grid_is_seen_wherever_it_is(position):
    values = np.linspace(0.0, 1499.75, 6000)
    assert measuring_step(values) == 0.25
    values[position] = np.pi
    assert measuring_step(values) is None


def test_huge_values_have_no_step():
    assert measuring_step(np.array([1.5, 1.7e308, -1.7e308])) is None
