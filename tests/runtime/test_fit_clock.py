"""The clock of a fit: what follows a search ends in time, and says what it left out."""

import warnings
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_inside import of_families, of_problems, of_search, seconds_after_search, why_unrepeatable

from gomea_bn import BayesNetLearner, GomeaBnWarning
from gomea_bn.network.conditionals.family_table import FamilyTable
from gomea_bn.runtime import FitClock, Limits, fit_clock
from gomea_bn.runtime.fit_clock import CURVES, DRAWS, EDGES, EFFECTS, FIRST_CUTS, MIXTURES, ODDS, ORDER


class FakeTime:
    """A time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(fit_clock, "search_clock", fake)
    return fake


def test_a_clock_knows_what_is_left(time: FakeTime) -> None:
    clock = FitClock(10.0)
    time.now += 4.0
    assert clock.left == pytest.approx(6.0)
    assert clock.before(5.0).left == pytest.approx(1.0)
    assert clock.part(0.25).left == pytest.approx(1.5)
    assert clock.seconds == pytest.approx(4.0)
    # of a former run
    clock.spend(2.0)
    assert (clock.seconds, clock.left) == pytest.approx((6.0, 4.0))
    time.now += 20.0
    assert clock.left == pytest.approx(-16.0)
    assert clock.part(0.5).left == 0.0


def test_the_share_of_one_of_several_fits_notes_for_itself(time: FakeTime) -> None:
    clock = FitClock(12.0)
    time.now += 2.0
    share = clock.share(0.5)
    assert (share.max_seconds, share.left) == (5.0, 5.0)
    time.now += 6.0
    assert share.late(ODDS)()
    assert (share.cut_short, clock.cut_short) == ([ODDS], [])
    # what one has taken too much, the others lack
    assert clock.share(0.5).max_seconds == 2.0
    assert FitClock().share(0.5).left == inf


def test_what_is_late_is_noted_in_the_order_in_which_it_goes(time: FakeTime) -> None:
    clock = FitClock(10.0)
    early, late = clock.late(ODDS), clock.before(7.0).late(MIXTURES)
    assert not early()
    assert not late()
    assert clock.cut_short == []
    time.now += 4.0
    assert late()
    assert not early()
    time.now += 7.0
    assert clock.late(EDGES)()
    assert early()
    assert clock.cut_short == [MIXTURES, ODDS, EDGES]
    assert len(set(ORDER)) == len(ORDER)


def test_fewer_pieces_of_work_are_affordable(time: FakeTime) -> None:
    clock = FitClock(10.0)
    assert clock.affordable(100, 0.1, 5, DRAWS) == 100
    assert clock.cut_short == []
    assert clock.affordable(100, 0.2, 5, DRAWS) == 50
    assert clock.cut_short == [DRAWS]
    time.now += 50.0
    assert clock.affordable(100, 0.2, 5, DRAWS) == 5
    # there is no more of it than the least
    assert FitClock(1.0).affordable(3, 100.0, 5, DRAWS) == 3


def test_without_a_limit_nothing_is_late(time: FakeTime) -> None:
    clock = FitClock()
    time.now += 1e9
    for of_work in (clock, clock.part(0.1), clock.before(1e9)):
        assert of_work.left == inf
        assert not of_work.late(ODDS)()
        assert of_work.affordable(100, 1e9, 1, DRAWS) == 100
    assert clock.cut_short == []


def test_the_search_leaves_a_part_of_the_limit() -> None:
    few = seconds_after_search(Limits(max_seconds=100.0), 10_000, 0.0)
    assert 0 < few < 5
    assert seconds_after_search(Limits(max_seconds=100.0), 10_000, 3.0) == pytest.approx(few + 3.0)
    # but no more than some of it
    assert seconds_after_search(Limits(max_seconds=10.0), 10**9, 0.0) == pytest.approx(5.0)
    assert seconds_after_search(Limits(max_evaluations=1), 10**9, 0.0) == 0.0


def rows(n_rows: int = 400) -> pd.DataFrame:
    """Return columns that follow each other on curves, and one of levels."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=n_rows)
    y = np.sin(2 * x) + rng.normal(scale=0.3, size=n_rows)
    z = x + y + rng.normal(scale=0.3, size=n_rows)
    return pd.DataFrame({"x": x, "y": y, "z": z, "k": np.where(z + rng.normal(size=n_rows) > 0, "a", "b")})


OPTIONS: dict[str, Any] = {"max_evaluations": 1500, "random_state": 1}


def learned_late(monkeypatch: pytest.MonkeyPatch, seconds: float, **options: Any) -> BayesNetLearner:
    """Return a learner with a limit of 1,000 s, whose search takes some seconds by its clock."""
    fake, searched = FakeTime(), of_search.searched

    def slow(*arguments: Any, **further: Any) -> Any:
        result = searched(*arguments, **further)
        fake.now += seconds
        return result

    monkeypatch.setattr(fit_clock, "search_clock", fake)
    monkeypatch.setattr(of_search, "searched", slow)
    return BayesNetLearner(**{**OPTIONS, "max_seconds": 1000.0, **options}).fit(rows())


def test_a_late_fit_ends_at_once_and_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(GomeaBnWarning, match="cut short: mixtures of lines, odds"):
        learner = learned_late(monkeypatch, 2000.0)
    network = learner.network_
    left_out = network.metadata["cut_short"]
    assert left_out[:2] == [MIXTURES, ODDS]
    assert learner.statistics_["conclusion_cut_short"] == 1
    assert "cut short" in why_unrepeatable(learner)
    assert "mixtures of lines" in network.summary()
    # what a network needs is there
    assert network.conditionals is not None
    assert np.isfinite(network.log_density(rows())).all()
    assert {name for _, name in network.edges} <= set(network.names)
    assert network.checks is not None
    # apart from effects, which exceed the limit by a twentieth of it
    assert left_out[-1] == EFFECTS
    assert {
        type(family) for stack in network.conditionals.stacks.values() for _, family in stack.members
    } == {FamilyTable}


def test_effects_may_exceed_the_limit_by_a_twentieth(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(GomeaBnWarning, match="cut short: mixtures of lines, odds"):
        network = learned_late(monkeypatch, 1030.0).network_
    assert EFFECTS not in network.metadata["cut_short"]
    assert network.conditionals is not None
    assert network.metadata["curves"]
    for name in network.metadata["curves"]:
        assert any(not isinstance(f, FamilyTable) for _, f in network.conditionals.stacks[name].members)


def test_the_column_that_gains_most_gets_effects_first(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = of_families.fitted_effects

    def slow(*arguments: Any) -> Any:
        fit_clock.search_clock.now += 300.0  # type: ignore[attr-defined]
        return fitted(*arguments)

    monkeypatch.setattr(of_families, "fitted_effects", slow)
    with pytest.warns(GomeaBnWarning, match="effects of columns"):
        network = learned_late(monkeypatch, 900.0, prefer="density").network_
    gains = {name: entry["nats"] for name, entry in network.metadata["curves"].items()}
    assert len(gains) > 1
    assert network.conditionals is not None
    smooth = [
        name
        for name in gains
        if any(not isinstance(f, FamilyTable) for _, f in network.conditionals.stacks[name].members)
    ]
    assert smooth == [max(gains, key=gains.__getitem__)]


def test_a_late_preparation_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, coded = FakeTime(), of_problems.scored_variables

    def slow(*arguments: Any, **further: Any) -> Any:
        result = coded(*arguments, **further)
        fake.now += 600.0
        return result

    monkeypatch.setattr(fit_clock, "search_clock", fake)
    monkeypatch.setattr(of_problems, "scored_variables", slow)
    with pytest.warns(GomeaBnWarning, match="cut short: cuts that show dependence, curves in the search"):
        learner = BayesNetLearner(**OPTIONS, max_seconds=1000.0).fit(rows())
    # shapes and bins came before
    assert learner.network_.metadata["cut_short"] == [FIRST_CUTS, CURVES]
    assert learner.statistics_["preparation_cut_short"] == 1
    assert "conclusion_cut_short" not in learner.statistics_
    assert "curves in the search" in learner.network_.summary()


def test_a_fit_in_time_is_that_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    free = BayesNetLearner(**OPTIONS, max_seconds=None).fit(rows()).network_
    with warnings.catch_warnings():
        warnings.simplefilter("error", GomeaBnWarning)
        learner = learned_late(monkeypatch, 900.0)
    assert "cut_short" not in learner.network_.metadata
    assert "conclusion_cut_short" not in learner.statistics_
    assert learner.network_.to_json() == free.to_json()


def test_a_late_target_still_gets_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(GomeaBnWarning, match="cut short"):
        learner = learned_late(monkeypatch, 2000.0, target="k")
    assert learner.network_.parents("k")
