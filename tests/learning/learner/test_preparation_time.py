"""The preparation of columns counts in `max_seconds`, and large tables are prepared as small ones."""

from dataclasses import replace
from threading import Event
from time import sleep

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, Checkpoint, ExpertNetwork, ParetoBayesNetLearner, read_table
from gomea_bn.data.sources import source_table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning import hasty_preparation
from gomea_bn.learning import learner as of_learner
from gomea_bn.learning import learning_problem as of_problems
from gomea_bn.learning import table_shapes as of_tables
from gomea_bn.learning.hasty_preparation import options_within
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.options import limits_after_preparation, why_unrepeatable
from gomea_bn.learning.pareto_learner import check_front_learning
from gomea_bn.network.value_kinds import measuring_step
from gomea_bn.problems.cuts.quantile_cells import quantile_cells
from gomea_bn.problems.cuts.shape_fit import fit_shape, fit_shape_of_cells
from gomea_bn.runtime.limits import Limits
from gomea_bn.runtime.threads import in_threads


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


def test_shapes_and_cells_are_the_same_whichever_is_asked_for_first(monkeypatch):
    rng = np.random.default_rng(5)
    frame = {"a": rng.normal(size=400), "b": rng.gamma(2, size=400), "c": ["x", "y"] * 200}
    for module in (of_tables, of_problems):
        monkeypatch.setattr(module, "TALL_TABLE", 100)
    one, other = read_table(frame), read_table(frame)
    cells = of_tables.table_cells(one)
    shapes = of_tables.table_shapes(other)
    assert of_tables.table_shapes(one)["a"].shape == shapes["a"].shape
    assert list(of_tables.table_cells(other)) == list(cells) == ["a", "b"]
    np.testing.assert_array_equal(of_tables.table_cells(other)["b"].below, cells["b"].below)


def test_threads_keep_the_order_of_items():
    assert in_threads(lambda x: -x, range(9), n_threads=3) == [-x for x in range(9)]


def test_the_clock_counts_the_reading_of_a_frame(monkeypatch):
    read = []

    def slow(*arguments, **options):
        read.append(arguments)
        sleep(0.3)
        return source_table(*arguments, **options)

    monkeypatch.setattr(of_learner, "source_table", slow)
    seconds_before: list[float] = []

    def noting(limits: Limits, seconds: float) -> Limits:
        seconds_before.append(seconds)
        return limits_after_preparation(limits, seconds)

    monkeypatch.setattr("gomea_bn.learning.search.search.limits_after_preparation", noting)
    x = np.linspace(0.0, 1.0, 40) ** 2
    frame = pd.DataFrame({"x": x, "y": np.sqrt(x)})
    BayesNetLearner(max_evaluations=100, max_seconds=60.0, random_state=1).fit(frame)
    assert len(read) == 1
    assert seconds_before[0] >= 0.3


@pytest.fixture
def tall(monkeypatch):
    """Return a table of ten rows that counts as tall."""
    monkeypatch.setattr(hasty_preparation, "TALL_TABLE", 5)
    rng = np.random.default_rng(0)
    return read_table(pd.DataFrame(rng.normal(size=(10, 4)), columns=list("abcd")))


# four shapes take .1 s on one core, and all the rest almost nothing
@pytest.mark.parametrize(
    ("seconds", "curves", "is_hasty", "words"),
    [
        (np.inf, "auto", False, None),
        (0.2, "auto", False, None),
        (0.0, "none", True, "leaves out smooth curves of parents and details"),
        (-3.0, "none", True, "Raise max_seconds"),
    ],
)
def test_a_short_limit_leaves_out_details_of_tall_tables(tall, seconds, curves, is_hasty, words):
    given = LearningOptions(curves="auto")
    if words is None:
        options = options_within(given, tall, seconds)
        assert options == given
    else:
        with pytest.warns(GomeaBnWarning, match=words):
            options = options_within(given, tall, seconds)
    assert (options.curves, options.is_hasty) == (curves, is_hasty)


def test_other_tables_keep_their_options(tall, monkeypatch):
    monkeypatch.setattr(hasty_preparation, "TALL_TABLE", 10)
    given = LearningOptions(curves="auto")
    assert options_within(given, tall, 0.0) is given


def test_learners_ask_what_to_leave_out(monkeypatch):
    asked = []

    def hasty(options, table, seconds):
        asked.append(seconds)
        return LearningOptions(**{**vars(options), "is_hasty": True, "curves": "none"})

    monkeypatch.setattr(hasty_preparation, "options_within", hasty)
    learners = [
        kind(max_evaluations=50, max_seconds=60.0, random_state=1).fit(small_frame())
        for kind in (BayesNetLearner, ParetoBayesNetLearner)
    ]
    assert len(asked) == 2
    # half of the limit, minus the reading
    assert all(20 < seconds < 30 for seconds in asked)
    for learner in learners:
        assert learner.statistics_["preparation_cut_short"] == 1
        assert "shortened by the limit on seconds" in why_unrepeatable(learner)
    front_learner = learners[1]
    assert isinstance(front_learner, ParetoBayesNetLearner)
    assert front_learner.front_.record["repeat"] is None


def small_frame():
    x = np.linspace(0.0, 1.0, 40) ** 2
    return pd.DataFrame({"x": x, "y": np.sqrt(x)})


@pytest.mark.parametrize("began_hasty", [True, False])
@pytest.mark.parametrize("kind", [BayesNetLearner, ParetoBayesNetLearner])
def test_a_resumed_run_leaves_out_what_it_began_without(kind, began_hasty, tmp_path, monkeypatch):
    def deciding(is_hasty):
        return lambda options, table, seconds: replace(options, is_hasty=is_hasty)

    learner = kind(max_evaluations=50, max_seconds=60.0, random_state=1)
    monkeypatch.setattr(hasty_preparation, "options_within", deciding(began_hasty))
    learner.fit(small_frame(), checkpoint=tmp_path)
    monkeypatch.setattr(hasty_preparation, "options_within", deciding(not began_hasty))
    learner.fit(small_frame(), checkpoint=Checkpoint(tmp_path, resume=True))
    assert learner.statistics_.get("preparation_cut_short", 0) == began_hasty


def test_a_front_is_checked_before_shapes_are_fitted(tall):
    expert = ExpertNetwork.from_edges([("a", "b")])
    check_front_learning(ParetoBayesNetLearner(expert=expert), tall)
    assert tall not in of_tables._shapes


def test_first_cuts_that_are_late_are_recorded(monkeypatch):
    monkeypatch.setattr(of_problems, "TALL_TABLE", 30)
    monkeypatch.setattr("gomea_bn.learning.search.search.preparation_seconds", lambda limits: 0.0)
    late = BayesNetLearner(max_evaluations=50, max_seconds=60.0, random_state=1).fit(small_frame())
    assert late.statistics_["preparation_cut_short"] == 1
    front = ParetoBayesNetLearner(max_evaluations=50, max_seconds=60.0, random_state=1).fit(small_frame())
    assert front.statistics_["preparation_cut_short"] == 1


@pytest.mark.parametrize("name", ["normal", "lognormal", "two humps", "steps", "U", "rounded", "point mass"])
def test_shapes_of_cells_are_as_dense_on_other_rows_as_mixtures(name):
    rng = np.random.default_rng(1)
    z, u = rng.normal(size=40_000), rng.random(40_000)
    values = {
        "normal": z,
        "lognormal": np.exp(z),
        "two humps": np.where(z > 0, z + 9, z),
        "steps": np.where(u < 0.5, u / 5, u),
        "U": np.sin(2 * np.pi * u),
        "rounded": z.round(1),
        "point mass": np.where(u < 0.3, 0.0, np.abs(z)),
    }[name]
    rows, others = values[:20_000], values[20_000:]
    others = others[(others >= rows.min()) & (others <= rows.max())]
    cells = quantile_cells(np.sort(rows))
    mixture = fit_shape(rows).shape
    fine, coarse = (fit_shape_of_cells(rows, cells, is_coarse=c).shape for c in (False, True))
    assert coarse != fine
    expected = mixture.log_density(others).mean()
    assert fine.log_density(others).mean() > expected - 0.01
    # a coarse shape does not know where a density jumps
    assert coarse.log_density(others).mean() > expected - (0.06 if name in ("steps", "two humps") else 0.01)


def test_a_table_keeps_fine_and_coarse_shapes(monkeypatch):
    monkeypatch.setattr(of_tables, "TALL_TABLE", 100)
    table = read_table({"a": np.random.default_rng(3).normal(size=6000)})
    fine = of_tables.table_shapes(table)
    coarse = of_tables.table_shapes(table, is_coarse=True)
    assert fine["a"].shape != coarse["a"].shape
    assert of_tables.table_shapes(table) is fine
    assert of_tables.table_shapes(table, is_coarse=True) is coarse
