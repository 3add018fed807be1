"""The preparation of columns counts in `max_seconds`, and threads prepare the same."""

from threading import Event
from time import sleep

import numpy as np
import pandas as pd
import pytest
from learning_inside import (
    check_front_learning,
    limits_after_preparation,
    of_problems,
    of_search,
    seconds_of_columns,
)
from processor_time import work_for

from gomea_bn import BayesNetLearner, ExpertNetwork, ParetoBayesNetLearner, fit_shape, read_table
from gomea_bn.data.sources import source_table
from gomea_bn.network.parts import measuring_step
from gomea_bn.problems.cuts import shape_fit as of_tables
from gomea_bn.runtime import Limits, in_threads


def test_a_search_has_the_seconds_that_are_left():
    limits = Limits(max_seconds=10.0, max_evaluations=5)
    # 1.2 s stay for the tables
    assert limits_after_preparation(limits, 4.0).max_seconds == pytest.approx(4.8)
    # or for all that follows, if that takes longer
    assert limits_after_preparation(limits, 4.0, 1.0).max_seconds == pytest.approx(4.8)
    assert limits_after_preparation(limits, 1.0, 6.0).max_seconds == pytest.approx(3.0)
    # a quarter of the limit, however long the preparation took
    assert limits_after_preparation(limits, 100.0).max_seconds == pytest.approx(2.5)
    # of the seconds that columns do not need after the search
    assert limits_after_preparation(limits, 100.0, 6.5, 4.0).max_seconds == pytest.approx(1.5)
    assert limits_after_preparation(Limits(max_evaluations=5), 4.0) == Limits(max_evaluations=5)
    assert limits_after_preparation(Limits(max_seconds=np.inf), 4.0).max_seconds == np.inf


def test_columns_need_seconds_after_a_search():
    limits = Limits(max_seconds=10.0)
    assert 0 < seconds_of_columns(limits, 10) < 0.5
    assert seconds_of_columns(limits, 200) == pytest.approx(20 * seconds_of_columns(limits, 10))
    # half of the limit, however many there are
    assert seconds_of_columns(limits, 10_000) == 5.0
    assert seconds_of_columns(Limits(max_seconds=np.inf), 10) == seconds_of_columns(limits, 10)
    assert seconds_of_columns(Limits(max_evaluations=5), 10) == 0.0


def test_threads_fit_the_same_shapes(monkeypatch):
    rng = np.random.default_rng(4)
    table = read_table({"a": rng.normal(size=200), "b": rng.gamma(2, size=200), "c": ["x", "y"] * 100})
    monkeypatch.setattr(of_tables, "ROWS_WORTH_THREADS", 1)
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


def test_an_error_in_the_curves_ends_the_first_cuts(monkeypatch):
    ended = Event()

    def endless(is_over):
        while not is_over():
            sleep(0.001)
        ended.set()

    monkeypatch.setattr(of_problems, "curve_data", lambda *_: int("three"))
    with pytest.raises(ValueError, match="three"):
        of_problems._cuts_and_curves(endless, [])
    assert ended.is_set()


def test_threads_keep_the_order_of_items():
    assert in_threads(lambda x: -x, range(9), n_threads=3) == [-x for x in range(9)]


def test_the_clock_counts_the_reading_of_a_frame(monkeypatch):
    read = []

    def slow(*arguments, **options):
        read.append(arguments)
        work_for(0.3)
        return source_table(*arguments, **options)

    monkeypatch.setattr("gomea_bn.learning.options.source_table", slow)
    seconds_before: list[float] = []

    def noting(limits: Limits, seconds: float, *further: float) -> Limits:
        seconds_before.append(seconds)
        return limits_after_preparation(limits, seconds, *further)

    monkeypatch.setattr(of_search, "limits_after_preparation", noting)
    x = np.linspace(0.0, 1.0, 40) ** 2
    frame = pd.DataFrame({"x": x, "y": np.sqrt(x)})
    BayesNetLearner(max_evaluations=100, max_seconds=60.0, random_state=1).fit(frame)
    assert len(read) == 1
    assert seconds_before[0] >= 0.3


def test_a_front_is_checked_before_shapes_are_fitted():
    table = read_table(pd.DataFrame(np.random.default_rng(0).normal(size=(10, 4)), columns=list("abcd")))
    expert = ExpertNetwork.from_edges([("a", "b")])
    check_front_learning(ParetoBayesNetLearner(expert=expert), table)
    assert table not in of_tables._shapes
