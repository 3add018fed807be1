"""Plots: the numbers they show against slow twins, and what the axes then hold; no pixels."""

from __future__ import annotations

import itertools
import math
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from network_examples import HOSTILE_NAMES, small_network

from gomea_bn.data.table import read_table
from gomea_bn.errors import GomeaBnError
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Front, Objective
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.plots import (
    density_bins,
    front_points,
    history_steps,
    plot_density,
    plot_front,
    plot_history,
    plot_network,
)
from gomea_bn.plots.axes import plain_text
from gomea_bn.runtime.limits import FrontHistoryEntry, HistoryEntry
from gomea_bn.simulation.random_networks import random_network

HOSTILE = ["$\\frac{", "a_b^c", "_x", "100% $5 and $6", "v" * 300, "two\nlines", "tab\there\\", "<&>", "$a$"]


@pytest.fixture(scope="module")
def truth():
    return random_network(6, random_state=4)


@pytest.fixture(scope="module")
def frame(truth):
    return truth.sample(200, random_state=1)


def fitted(frame, edges, n_bins):
    continuous = frame.select_dtypes("number").columns
    cuts = {name: np.quantile(frame[name], np.linspace(0, 1, n_bins + 1))[1:-1] for name in continuous}
    return DiscretizedBayesNet.from_table(read_table(frame), edges, cuts)


@pytest.fixture(scope="module")
def networks(truth, frame):
    return [
        fitted(frame, truth.edges[:count], bins) for count, bins in itertools.product((0, 2, 4), (1, 2, 5))
    ]


@pytest.fixture(scope="module")
def front(networks, frame):
    expert = networks[4]
    values = [
        [-net.score(frame), net.n_parameters, kl_divergence(expert, net, 2000, 0).mean] for net in networks
    ]
    objectives = [MISFIT, COMPLEXITY, EXPERT_DISTANCE]
    return Front(objectives, values, networks, table=read_table(frame), expert=expert)


# densities


def test_densities_are_marginals_over_bin_widths(truth, frame):
    expert = fitted(frame, [], 3)
    for name in truth.cut_points:
        bins = density_bins(truth, name, table=frame, expert=expert)
        assert set(bins["source"]) == {"network", "data", "expert"}
        for source, part in bins.groupby("source"):
            assert (part["density"] * (part["high"] - part["low"])).sum() == pytest.approx(1), source
        own = bins[bins["source"] == "network"]
        np.testing.assert_array_equal(own["high"].iloc[:-1], truth.cut_points[name])
        np.testing.assert_allclose(
            own["density"] * (own["high"] - own["low"]), truth.query(name).to_numpy(), atol=1e-12
        )
        assert set(own["how"]) == {"exact"}
        data = bins[bins["source"] == "data"]
        for low, high, density in data[["low", "high", "density"]].itertuples(index=False):
            inside = ((frame[name] > low) & (frame[name] <= high)).sum() + (frame[name] == low).sum() * (
                low == data["low"].iloc[0]
            )
            assert density == pytest.approx(inside / len(frame) / (high - low))


def test_probabilities_of_levels_come_with_the_data_s_shares(truth, frame):
    (name,) = truth.levels
    bins = density_bins(truth, name, table=read_table(frame), expert=truth)
    own, data, expert = (bins[bins["source"] == source] for source in ("network", "data", "expert"))
    assert list(own["level"]) == list(truth.levels[name])
    np.testing.assert_allclose(own["probability"], truth.query(name).to_numpy(), atol=1e-12)
    np.testing.assert_array_equal(expert["probability"], own["probability"])
    for level, share in zip(data["level"], data["probability"], strict=True):
        assert share == pytest.approx((frame[name] == level).mean())
    pd.testing.assert_frame_equal(bins, density_bins(truth, name, table=frame, expert=truth))


def test_an_expert_may_give_bins_without_tables_or_nothing(truth):
    name = next(iter(truth.cut_points))
    expert = ExpertNetwork.from_edges([], names=truth.names, cut_points={name: [0.2, 0.6]})
    bins = density_bins(truth, name, expert=expert)
    part = bins[bins["source"] == "expert"]
    assert part["low"].tolist() == [-math.inf, 0.2, 0.6]
    assert part["high"].tolist() == [0.2, 0.6, math.inf]
    assert part["density"].isna().all()
    assert set(part["how"]) == {"bins only"}
    ax = plot_density(truth, name, expert=expert)
    assert [text.get_text() for text in ax.get_legend().get_texts()][1] == "expert (3 bins, no tables)"
    silent = ExpertNetwork.from_edges([], names=truth.names)
    assert set(density_bins(truth, name, expert=silent)["source"]) == {"network"}
    whole = ExpertNetwork.from_network(truth)
    assert set(density_bins(truth, name, expert=whole)["how"]) == {"exact"}


def test_density_plots_draw_these_numbers(truth, frame):
    name = next(iter(truth.cut_points))
    expert = fitted(frame, [], 3)
    ax = plot_density(truth, name, table=frame, expert=expert)
    bins = density_bins(truth, name, table=frame, expert=expert)
    stairs = [patch.get_data() for patch in ax.patches]
    for found, source in zip(stairs, ["data", "network", "expert"], strict=True):
        part = bins[bins["source"] == source]
        np.testing.assert_array_equal(found.values, part["density"])
        np.testing.assert_array_equal(found.edges, [*part["low"], part["high"].iloc[-1]])
    marks = [[segment[0][0] for segment in lines.get_segments()] for lines in ax.collections]
    np.testing.assert_array_equal(marks[0], truth.cut_points[name])
    np.testing.assert_array_equal(marks[1], expert.cut_points[name])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["data", f"network ({truth.cardinality(name)} bins)", "expert (3 bins)"]
    assert ax.get_xlabel() == name
    assert ax.get_ylabel() == "Density [per unit]"
    ax.figure.draw_without_rendering()
    below = ax.transData.inverted().transform(ax.get_legend().get_window_extent())[0, 1]
    assert below >= bins["density"].max()


def test_bars_stand_for_levels(truth, frame):
    (name,) = truth.levels
    ax = plot_density(truth, name, table=frame)
    bins = density_bins(truth, name, table=frame)
    heights = [[bar.get_height() for bar in container] for container in ax.containers]
    for found, source in zip(heights, ["data", "network"], strict=True):
        np.testing.assert_array_equal(found, bins.loc[bins["source"] == source, "probability"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list(truth.levels[name])
    assert ax.get_ylabel() == "Probability"
    lefts = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for box in ax.containers for bar in box)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in itertools.pairwise(lefts))


def test_densities_name_what_is_wrong(truth, frame):
    name, (level,) = next(iter(truth.cut_points)), truth.levels
    with pytest.raises(GomeaBnError, match="no variable 'X99'"):
        density_bins(truth, "X99")
    with pytest.raises(GomeaBnError, match=f"column '{name}'"):
        density_bins(truth, name, table=frame.drop(columns=name))
    with pytest.raises(GomeaBnError, match=f"column '{name}'"):
        density_bins(truth, name, table=read_table(frame.drop(columns=name)))
    with pytest.raises(GomeaBnError, match="at least one row"):
        density_bins(truth, name, table=frame.iloc[:0])
    with pytest.raises(GomeaBnError, match="unknown level 'new'"):
        density_bins(truth, level, table=frame.assign(**{level: "new"}))
    odd = ExpertNetwork.from_edges([], names=truth.names, cut_points={level: [0.5]})
    with pytest.raises(GomeaBnError, match=f"'{level}' is discrete in the network, but not in the expert's"):
        density_bins(truth, level, expert=odd)


# fronts


def test_front_points_are_the_front_then_the_expert_and_the_truth(front, truth, frame):
    points = front_points(front, expert=True, truth=truth)
    assert list(points.columns) == ["source", "id", "misfit", "complexity", "expert_distance"]
    assert list(points["source"]) == ["front"] * len(front) + ["expert", "truth"]
    own = points[points["source"] == "front"]
    np.testing.assert_array_equal(own[list(front.names)], front.values)
    assert own["id"].tolist() == list(range(len(front)))
    expert, other = points.iloc[-2], points.iloc[-1]
    assert points["id"].isna().tolist() == [False] * len(front) + [True, True]
    assert expert["misfit"] == pytest.approx(-front.expert.log_density(frame).mean())
    assert expert["complexity"] == front.expert.n_parameters
    assert expert["expert_distance"] == pytest.approx(0, abs=1e-9)
    assert other["misfit"] == pytest.approx(-truth.log_density(frame).mean())
    assert other["complexity"] == truth.n_parameters
    distance = kl_divergence(front.expert, truth, 200_000, random_state=9)
    assert other["expert_distance"] == pytest.approx(distance.mean, abs=3 * distance.standard_error)
    again = front_points(front, expert=True, truth=truth)
    pd.testing.assert_frame_equal(points, again)


def test_distances_to_an_expert_are_the_learner_s_objective(frame):
    from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner

    first, second = list(frame.columns)[:2]
    statement = ExpertNetwork.from_edges([(first, second)])
    learner = ParetoBayesNetLearner(
        expert=statement, max_evaluations=400, random_state=3, expert_sample_size=512
    ).fit(frame)
    for candidate in learner.front_:
        points = front_points(learner.front_, truth=candidate.network, objectives=["expert_distance"])
        wanted = candidate.objectives["expert_distance"]
        assert points.iloc[-1]["expert_distance"] == pytest.approx(wanted, abs=1e-9)


def test_the_front_s_own_network_falls_on_its_point(front, networks):
    points = front_points(front, expert=networks[0], objectives=["complexity", "misfit"])
    row = points.iloc[-1]
    hits = points[points["source"] == "front"]
    assert ((hits["misfit"] - row["misfit"]).abs() < 1e-12).any()
    assert row["complexity"] == networks[0].n_parameters


def test_an_expert_s_statement_is_fitted_to_the_front_s_table(front, truth):
    statement = ExpertNetwork.from_edges(truth.edges[:2], names=truth.names)
    points = front_points(front, expert=statement)
    assert points.iloc[-1]["complexity"] == statement.fitted(front.table).n_parameters


def test_a_front_of_two_objectives_is_a_scatter(front, truth):
    ax = plot_front(front, expert=True, truth=truth, objectives=["misfit", "complexity"])
    points = front_points(front, expert=True, truth=truth, objectives=["misfit", "complexity"])
    for dots, source in zip(ax.collections, ["front", "expert", "truth"], strict=True):
        np.testing.assert_array_equal(
            dots.get_offsets(), points.loc[points["source"] == source, ["misfit", "complexity"]]
        )
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"front ({len(front)} networks)", "expert's network", "truth"]
    assert ax.get_xlabel() == "Misfit [nats per row]   ← fits the data better"
    assert ax.get_ylabel() == "Complexity [free parameters]   ← simpler"
    paths = [dots.get_paths()[0].vertices.tolist() for dots in ax.collections]
    assert all(one != other for one, other in itertools.combinations(paths, 2))


def test_a_front_of_three_objectives_is_a_solid_scatter(front):
    ax = plot_front(front, expert=True)
    found = np.column_stack([np.asarray(part) for part in ax.collections[0]._offsets3d])
    np.testing.assert_array_equal(found, front.values)
    assert ax.get_xlabel() == "Misfit [nats per row]\nlower: fits the data better"
    assert ax.get_zlabel() == "Distance to the expert [nats]\nlower: closer to the expert's network"
    own = plt.figure().add_subplot(projection="3d")
    assert plot_front(front, ax=own) is own


def test_fronts_name_what_is_wrong(front, truth, networks):
    with pytest.raises(GomeaBnError, match=r"drawn over 2 or 3 objectives, got 1; the front has misfit"):
        plot_front(front, objectives=["misfit"])
    with pytest.raises(GomeaBnError, match=r"truth must be the DiscretizedBayesNet .* got int; leave it out"):
        plot_front(front, truth=5)
    with pytest.raises(GomeaBnError, match=r"truth must be the DiscretizedBayesNet .* got bool"):
        front_points(front, truth=False)
    with pytest.raises(GomeaBnError, match=r"expert must be a DiscretizedBayesNet.* True, got str"):
        plot_front(front, expert="mine.json")
    extra = [Objective(f"o{i}", f"O{i}", "units", "smaller") for i in range(4)]
    wide = Front(extra, np.eye(4), networks[:4], table=front.table)
    with pytest.raises(GomeaBnError, match=r"got 4; .* Choose with objectives="):
        plot_front(wide)
    with pytest.raises(GomeaBnError, match="value of truth in the objective 'o0' cannot be computed"):
        front_points(wide, truth=truth)
    with pytest.raises(GomeaBnError, match=r"unknown objective 'misfitt'.* Did you mean 'misfit'\?"):
        plot_front(front, objectives=["misfitt", "complexity"])
    with pytest.raises(GomeaBnError, match="objectives has a duplicate"):
        plot_front(front, objectives=["misfit", "misfit"])
    with pytest.raises(GomeaBnError, match="single text"):
        plot_front(front, objectives="misfit")
    with pytest.raises(GomeaBnError, match="3 objectives need axes of 3 dimensions"):
        plot_front(front, ax=plt.figure().add_subplot())
    with pytest.raises(GomeaBnError, match="2 objectives need axes of 2 dimensions"):
        plot_front(front, objectives=front.names[:2], ax=plt.figure().add_subplot(projection="3d"))
    bare = Front(front.objectives, front.values, networks)
    with pytest.raises(GomeaBnError, match="this front has none; pass a network"):
        front_points(bare, expert=True)
    with pytest.raises(GomeaBnError, match="this front has no table; leave truth out"):
        front_points(bare, truth=truth)
    without = Front(front.objectives, front.values, networks, table=front.table)
    with pytest.raises(GomeaBnError, match="needs a front with an expert"):
        front_points(without, truth=truth)


# histories


class Learner:
    """What `plot_history` reads from a learner after `fit`."""

    def __init__(self, entries, n_eval, seconds):
        self.history_, self.n_eval_, self.fit_seconds_ = entries, n_eval, seconds
        self.score_ = -entries[-1].objective


def entries(*steps):
    return [HistoryEntry(seconds, n_eval, objective, 8) for seconds, n_eval, objective in steps]


FIRST = entries((0.1, 10, 50.0), (0.2, 30, 40.0))
SECOND = entries((0.3, 20, 45.0))


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
    ax.figure.draw_without_rendering()


def test_many_unnamed_runs_look_alike_and_one_needs_no_legend():
    many = plot_history([FIRST] * 9)
    assert len({line.get_color() for line in many.lines}) == 1
    assert many.get_legend() is None
    assert plot_history(FIRST).get_legend() is None
    assert plot_history(FIRST).get_ylabel() == "Best objective, lower is better"


def test_a_run_of_a_learner_can_be_plotted(frame):
    from gomea_bn.learning.learner import BayesNetLearner

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
    ax.figure.draw_without_rendering()


def test_a_run_of_a_learner_of_fronts_can_be_plotted(frame):
    from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner

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


# manners


def hostile_network():
    edges = list(itertools.pairwise(HOSTILE))
    cards = dict.fromkeys(HOSTILE, 2) | {HOSTILE[0]: len(HOSTILE)}
    parents = dict.fromkeys(HOSTILE, ()) | {child: (parent,) for parent, child in edges}
    continuous = HOSTILE[1:]
    return DiscretizedBayesNet(
        HOSTILE,
        edges,
        cut_points={name: [0.5] for name in continuous},
        support=dict.fromkeys(continuous, (0.0, 1.0)),
        levels={HOSTILE[0]: HOSTILE},
        tables={
            name: np.full([cards[one] for one in (*parents[name], name)], 1 / cards[name]) for name in HOSTILE
        },
    )


def test_hostile_names_are_drawn_as_they_are():
    network = hostile_network()
    with warnings.catch_warnings(), matplotlib.rc_context({"text.parse_math": True}):
        warnings.simplefilter("error")
        drawings = [
            plot_network(network, reference=network.edges[1:]),
            plot_density(network, HOSTILE[0]),
            plot_density(network, HOSTILE[1]),
            plot_history(dict.fromkeys(HOSTILE, FIRST)),
        ]
        for ax in drawings:
            ax.figure.canvas.draw()
    titles = [text.get_text() for text in drawings[0].texts][::2]
    for name, title in zip(HOSTILE, titles, strict=True):
        if name in ("$\\frac{", "a_b^c", "_x", "100% $5 and $6", "two\nlines", "<&>", "$a$"):
            assert title == name
    assert titles[HOSTILE.index("tab\there\\")] == "tab\\there\\"
    long = titles[HOSTILE.index("v" * 300)].replace("\n", "")
    assert len(long) == 48
    assert set(long) == {"v", "…"}
    assert drawings[2].get_xlabel() == "a_b^c"
    named = [*drawings[0].texts, drawings[2].xaxis.label, *drawings[1].get_xticklabels()]
    named += drawings[3].get_legend().get_texts()
    assert len(named) > 30
    assert not any(text.get_parse_math() or text.get_usetex() for text in named)


def test_the_shared_hostile_names_can_be_drawn():
    network = small_network(5, names=HOSTILE_NAMES)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        ax = plot_network(network)
        ax.figure.canvas.draw()
        titles = [text.get_text().replace("\n", "") for text in ax.texts][::2]
        assert titles == [plain_text(name, 48).replace("\n", "") for name in network.names]
        for name in network.names[:6]:
            ax = plot_density(network, name)
            ax.figure.canvas.draw()
            assert ax.get_xlabel() == plain_text(name, 60)


def test_given_axes_are_used_and_nothing_global_changes(front, truth, frame):
    figure, axs = plt.subplots(2, 2, figsize=(10, 8))
    settings_before, open_before = dict(matplotlib.rcParams), plt.get_fignums()
    current = plt.gca()
    name = next(iter(truth.cut_points))
    for draw, ax in zip(
        [
            lambda ax: plot_network(truth, reference=front.expert, ax=ax),
            lambda ax: plot_density(truth, name, table=frame, ax=ax),
            lambda ax: plot_front(front, objectives=front.names[:2], ax=ax),
            lambda ax: plot_history(FIRST, ax=ax),
        ],
        axs.flat,
        strict=True,
    ):
        assert draw(ax) is ax
    assert plt.get_fignums() == open_before
    assert plt.gca() is current
    assert dict(matplotlib.rcParams) == settings_before
    assert figure.axes == list(axs.flat)
