"""Plots of runs: best scores and sizes of archives over evaluations and time."""

import numpy as np
import pytest
from plot_examples import FIRST, SECOND
from wrong_input import untyped

from gomea_bn import GomeaBnError
from gomea_bn.plots import history_steps, plot_history
from gomea_bn.runtime import FrontHistoryEntry


class Learner:
    """What `plot_history` reads from a learner after `fit`."""

    def __init__(self, entries, n_eval, seconds):
        self.history_, self.n_eval_, self.fit_seconds_ = entries, n_eval, seconds
        self.score_ = -entries[-1].objective


def test_histories_of_learners_are_scores_up_to_the_end():
    steps = history_steps([Learner(FIRST, 90, 1.5), Learner(SECOND, 20, 0.3)])
    expected = [
        ("run 1", 10, 0.1, -50.0, "score"),
        ("run 1", 30, 0.2, -40.0, "score"),
        ("run 1", 90, 1.5, -40.0, "score"),
        ("run 2", 20, 0.3, -45.0, "score"),
    ]
    assert list(steps.itertuples(index=False, name=None)) == expected


def test_a_run_that_only_took_longer_has_an_end_too():
    steps = history_steps(Learner(FIRST, 30, 1.5))
    assert steps["n_eval"].tolist() == [10, 30, 30]
    assert steps["seconds"].tolist() == [0.1, 0.2, 1.5]


def test_lists_and_mixtures_of_runs_are_objectives():
    steps = history_steps({"own": Learner(FIRST, 30, 0.2), "_other": SECOND})
    assert steps["value"].tolist() == [50.0, 40.0, 45.0]
    assert set(steps["quantity"]) == {"objective"}
    assert steps["run"].tolist() == ["own", "own", "_other"]
    assert history_steps(FIRST)["run"].tolist() == ["run 1", "run 1"]


@pytest.mark.parametrize("x", ["evaluations", "seconds"])
def test_history_plots_draw_steps(x):
    runs = {"$a": Learner(FIRST, 90, 1.5), "_b": Learner(SECOND, 40, 0.7)}
    ax = plot_history(runs, x=x)
    steps = history_steps(runs)
    assert len(ax.lines) == 2
    for line, (_, run) in zip(ax.lines, steps.groupby("run", sort=False), strict=True):
        assert line.get_drawstyle() == "steps-post"
        np.testing.assert_array_equal(line.get_xdata(), run["n_eval" if x == "evaluations" else "seconds"])
        np.testing.assert_array_equal(line.get_ydata(), run["value"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$a", "_b"]
    assert ax.get_xlabel() == ("Evaluations" if x == "evaluations" else "Time [seconds]")
    assert ax.get_ylabel() == "Best score [nats], higher is better"
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 2
    untyped(ax.figure).draw_without_rendering()


def test_many_unnamed_runs_look_alike_and_one_needs_no_legend():
    many = plot_history([FIRST] * 9)
    assert len({line.get_color() for line in many.lines}) == 1
    assert many.get_legend() is None
    assert plot_history(FIRST).get_legend() is None
    assert plot_history(FIRST).get_ylabel() == "Best objective, lower is better"


def test_a_run_of_a_learner_can_be_plotted(frame):
    from gomea_bn.learning import BayesNetLearner

    learner = BayesNetLearner(max_evaluations=300, random_state=1).fit(frame)
    steps = history_steps(learner)
    assert steps["value"].iloc[-1] == learner.score_
    assert steps["n_eval"].iloc[-1] == learner.n_eval_
    assert steps["value"].is_monotonic_increasing
    with pytest.raises(
        GomeaBnError, match=r"'run 1' must be a fitted learner.*got BayesNetLearner; call fit"
    ):
        plot_history(BayesNetLearner())


ARCHIVES = [
    FrontHistoryEntry(seconds, n_eval, size, (1.0, 2.0), 8)
    for seconds, n_eval, size in ((0.1, 10, 3), (0.2, 30, 7), (0.4, 60, 5))
]


@pytest.mark.parametrize("x", ["evaluations", "seconds"])
def test_histories_for_several_objectives_show_the_archive_s_size(x):
    steps = history_steps(ARCHIVES)
    assert steps["value"].tolist() == [3, 7, 5]
    assert set(steps["quantity"]) == {"archive size"}
    ax = plot_history([ARCHIVES, ARCHIVES[:2]], x=x)
    assert ax.get_ylabel() == "Archive size [solutions that no other dominates]"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3, 7, 5])
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [10, 30] if x == "evaluations" else [0.1, 0.2])
    untyped(ax.figure).draw_without_rendering()


def test_a_run_of_a_learner_of_fronts_can_be_plotted(frame):
    from gomea_bn.learning import ParetoBayesNetLearner

    learner = ParetoBayesNetLearner(max_evaluations=400, random_state=1).fit(frame)
    steps = history_steps(learner)
    assert steps["n_eval"].iloc[-1] == learner.n_eval_
    assert steps["value"].tolist()[: len(learner.history_)] == [
        entry.archive_size for entry in learner.history_
    ]
    assert plot_history(learner).get_ylabel().startswith("Archive size")


def test_runs_for_one_and_for_several_objectives_are_drawn_apart():
    with pytest.raises(GomeaBnError, match="Run 'one' has one objective and run 'more' several"):
        plot_history({"one": FIRST, "more": ARCHIVES})
    with pytest.raises(GomeaBnError, match=r"'run 1' must be .* got list\.$"):
        plot_history([*FIRST, *ARCHIVES])


def test_histories_name_what_is_wrong():
    with pytest.raises(GomeaBnError, match="x must be one of 'evaluations', 'seconds', got 'generations'"):
        plot_history(FIRST, x="generations")
    with pytest.raises(GomeaBnError, match="history of 'run 1' is empty"):
        plot_history([])
    with pytest.raises(GomeaBnError, match="at least one run"):
        plot_history({})
