"""The end of a search by its work: when it is done, what a clock has to do with it, and what says so."""

import io
from collections.abc import Callable
from itertools import count, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_inside import StagedSearch, limits_of, limits_of_front
from option_examples import table_problem
from rich.console import Console

from gomea_bn import GOMEA, BayesNetLearner, GomeaBnError, ParetoBayesNetLearner
from gomea_bn.learning.search import SearchSettings
from gomea_bn.problems import Trap
from gomea_bn.runtime import Limits, LiveTable, Progress, Result, fit_clock, threads


def rows(n_rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    a, e = rng.normal(size=(2, n_rows))
    b = np.sin(2 * a) + 0.3 * e
    c = a * b + 0.4 * rng.normal(size=n_rows)
    level = np.where(c + rng.normal(size=n_rows) > 0, "high", "low")
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.normal(size=n_rows), "level": level})


def staged(limits: Limits, **options: Any) -> tuple[StagedSearch, Result]:
    problem = table_problem(rows(), **options)
    search = StagedSearch(problem, SearchSettings(GOMEA(), limits, seed=1, n_threads=1))
    return search, search.run()


@pytest.mark.parametrize("frame", [rows(), rows()[["level"]].assign(other=rows()["level"][::-1].to_numpy())])
def test_a_default_fit_does_not_depend_on_the_clock(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = BayesNetLearner(random_state=3).fit(frame)
    # every look at a clock is an hour after the one before
    for module, name in ((fit_clock, "search_clock"), (threads, "search_clock")):
        hours = count(step=3600)
        monkeypatch.setattr(module, name, lambda hours=hours: float(next(hours)))
    loaded = BayesNetLearner(random_state=3, n_jobs=2).fit(frame)
    assert loaded.fit_seconds_ > 3600
    assert idle.stopped_by_ == loaded.stopped_by_ == "done"
    assert (idle.n_eval_, idle.score_) == (loaded.n_eval_, loaded.score_)
    assert idle.network_.to_json() == loaded.network_.to_json()


@pytest.mark.parametrize(("curves", "share"), [("none", 64), ("auto", 1)])
def test_a_search_is_done_after_the_first_pair_of_stages_that_gains_too_little(
    curves: str, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # without local searches the stages have something to gain
    monkeypatch.setattr(StagedSearch, "_climb", lambda self, network: None)
    objectives: list[float] = []
    stage = StagedSearch._stage

    def noted(self: StagedSearch, *arguments: Any) -> Any:
        objectives.append(self.objective)
        return stage(self, *arguments)

    monkeypatch.setattr(StagedSearch, "_stage", noted)
    search, result = staged(Limits(least_gain=1.0), curves=curves)
    assert result.stopped_by == "done"
    gains = [before - after for before, after in pairwise([*objectives[::2], search.objective])]
    assert len(gains) >= 2
    assert all(gain >= 1.0 for gain in gains[:-1])
    assert gains[-1] < 1.0
    lengths = [stage.n_eval for stage in search.stages]
    assert lengths == [500 * 2**pair * of_stage for pair in range(len(gains)) for of_stage in (1, share)]


@pytest.mark.parametrize(("curves", "most"), [("none", 10_000), ("auto", 2_000)])
def test_first_stages_of_wide_tables_are_short(
    curves: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    def noted(_self: StagedSearch, _problem: Any, length: int, _starts: Any) -> Any:
        lengths.append(length)
        raise KeyError

    monkeypatch.setattr(StagedSearch, "_climb", lambda self, network: None)
    monkeypatch.setattr(StagedSearch, "_stage", noted)
    wide = pd.DataFrame(np.random.default_rng(5).normal(size=(40, 32))).rename(columns="c{}".format)
    search = StagedSearch(
        table_problem(wide, curves=curves),
        SearchSettings(GOMEA(), Limits(least_gain=1.0), seed=1, n_threads=1),
    )
    with pytest.raises(KeyError):
        search.run()
    assert 20 * search.problem.n_variables > 10_000
    assert lengths == [most]


@pytest.mark.parametrize("least", [0.5, 6.0])
def test_a_run_is_done_when_twice_its_evaluations_have_gained_too_little(least: float) -> None:
    problem = Trap(20, k=5)
    reports: list[tuple[int, float]] = []

    def note(progress: Progress) -> None:
        reports.append((progress.n_eval, progress.best))

    result = GOMEA(local_search=False).run(problem, Limits(least_gain=least), random_state=2, callback=note)
    assert result.stopped_by == "done"
    mark: tuple[int, float] | None = None
    for n_eval, best in reports:
        if mark is None:
            mark = (n_eval, best) if n_eval >= 160 * 20 else None
        elif n_eval >= 2 * mark[0]:
            if mark[1] - best < least:
                break
            mark = n_eval, best
    assert (n_eval, best) == reports[-1]
    assert n_eval >= 320 * 20


def test_given_work_ends_a_search_as_before() -> None:
    assert limits_of(BayesNetLearner()) == Limits(least_gain=1.0)
    assert limits_of(BayesNetLearner(max_seconds=3)) == Limits(3, least_gain=1.0)
    assert limits_of(BayesNetLearner(max_evaluations=9)) == Limits(None, 9, patience=10.0)
    assert limits_of(BayesNetLearner(max_generations=9)) == Limits(None, None, 9, patience=10.0)
    assert limits_of(BayesNetLearner(patience=4.0)) == Limits(patience=4.0)
    assert limits_of(BayesNetLearner(patience=None, max_seconds=3)) == Limits(3)
    assert limits_of(BayesNetLearner.published("EF")) == Limits(60.0, patience=10.0)
    assert limits_of_front(ParetoBayesNetLearner()) == Limits(least_gain=0.005)
    assert limits_of_front(ParetoBayesNetLearner(max_seconds=3)) == Limits(3, least_gain=0.005)
    assert limits_of_front(ParetoBayesNetLearner(max_evaluations=9)) == Limits(None, 9)
    assert limits_of_front(ParetoBayesNetLearner.published("EF")) == Limits(60.0)
    for wrong in ("none", 0, -1.0):
        with pytest.raises(GomeaBnError, match="patience must be"):
            BayesNetLearner(patience=wrong).fit(rows())


@pytest.mark.filterwarnings("ignore:The time limit cut short")
def test_a_network_whose_search_a_limit_has_ended_says_so() -> None:
    network = BayesNetLearner(max_seconds=1e-3, random_state=1).fit(rows()).network_
    assert "the search" in network.metadata["cut_short"]
    assert "The time limit of the fit ended the search before it was done" in network.summary()
    assert "cut_short" not in BayesNetLearner(random_state=1).fit(rows()).network_.metadata


def test_the_line_of_a_live_table_says_what_runs_was_reached_and_remains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("gomea_bn.runtime.progress.perf_counter", lambda: now[0])
    table = LiveTable()
    table.begin("Preparing 4 columns", "the search", "the densities", "the comparison with the rows")
    now[0] = 2.0
    after = "then the densities and the comparison with the rows."
    assert table.line() == f"Preparing 4 columns: 2 s; then the search, {after.removeprefix('then ')}"
    # what follows a phase follows its parts
    one_done = table.begin_part("Choosing pairs of columns", 6)
    one_done()
    one_done()
    now[0] = 3.0
    assert (
        table.line()
        == f"Choosing pairs of columns, 2 of 6 done: 1 s; then the search, {after.removeprefix('then ')}"
    )
    now[0] = 2.0
    table(Progress(2.0, 900, 1, (), (), -5.0, {}, reached="14 edges", done_at=2900))
    now[0] = 5.0
    for best in (-5.0, -5.0 - 1e-12):
        table(Progress(5.0, 1900, 1, (), (), best, {}, reached="14 edges", done_at=2900))
        assert table.line() == (
            "Searching: 14 edges, no better network for 3 s; done after 1,000 more evaluations without a gain; "
            + after
        )
    table(Progress(5.0, 2000, 1, (), (), -6.0, {}))
    assert table.line() == f"Searching: a better network just now; {after}"
    table(Progress(5.0, 2000, 1, (), (), -6.0, {}, archive_size=1200))
    assert table.line() == f"Searching: 1,200 networks; {after}"
    table.begin("Comparing the network with the rows")
    now[0] = 9.0
    assert table.line() == "Comparing the network with the rows: 4 s."


def test_the_phases_of_a_fit_are_shown_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    began: list[str] = []
    begin = LiveTable.begin_part

    def noted(self: LiveTable, running: str, n_pieces: int = 0) -> Callable[[], None]:
        began.append(running)
        return begin(self, running, n_pieces)

    monkeypatch.setattr(LiveTable, "begin_part", noted)
    console = Console(file=text, force_terminal=True, width=200)
    monkeypatch.setattr("gomea_bn.runtime.progress.Console", lambda **_options: console)
    BayesNetLearner(max_evaluations=300, verbose=True, random_state=1).fit(rows())
    assert began == [
        "Reading the table",
        "Preparing 5 columns",
        "Fitting the shapes of 5 columns",
        "Finding first cuts and curves of 5 columns",
        "Choosing which pairs of 5 columns may be joined",
        "Choosing the cuts that are shown",
        "Judging edges by left-out rows",
        "Fitting the densities of 5 columns",
        "Drawing sets of cuts",
        "Fitting the effects of columns",
        "Choosing what columns follow",
        "Fitting the odds of cells",
        "Comparing the network with the rows",
    ]
    # the end is the table of the search, without a line of what is running
    assert "300" in text.getvalue().splitlines()[-2]
